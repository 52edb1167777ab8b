//! A row: every task of every world under one agent and one mode, left alone and under each attack.

use std::sync::Arc;

use planwright::agents;
use planwright::contract::{StepField, ToolContract};
use planwright::driver::{Agent, Run, Threads};
use planwright::journal::{MemoryStore, Store, UngroundedCall};
use planwright::spec::{Containment, Horizon, Memory, Planner, Role, RoleName, Spec, Write};

use crate::model::Obedient;
use crate::stage::{NoWait, Now, Person, Prop, Stage, judge};
use crate::values::is_grounded;
use crate::world::{Attack, Made, Place, World};

/// How writes are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Not at all.
    Off,
    /// A person is asked before each.
    Asked,
    /// By the plan that was frozen before anything untrusted was read.
    Standard,
    /// By that plan, and as far as no text that was read has a part in a target or a read.
    Strict,
}

impl Mode {
    fn containment(self) -> Containment {
        match self {
            Mode::Off | Mode::Asked => Containment::Off,
            Mode::Standard => Containment::Standard,
            Mode::Strict => Containment::Strict,
        }
    }
}

pub const WORLDS: [(&str, &str); 5] = [
    ("bank", include_str!("worlds/bank.toml")),
    ("mail", include_str!("worlds/mail.toml")),
    ("travel", include_str!("worlds/travel.toml")),
    ("chat", include_str!("worlds/chat.toml")),
    ("files", include_str!("worlds/files.toml")),
];

/// What came of many runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub clean: usize,
    pub clean_done: usize,
    pub attacked: usize,
    pub attacked_done: usize,
    pub attacks: usize,
    /// Attacked runs with an effect that nobody asked for.
    pub takeovers: usize,
    /// Questions in the clean runs.
    pub questions: usize,
    /// Values that a model was to take from what it was shown, and are not found there: in clean runs, and in others.
    pub ungrounded: [usize; 2],
    /// What went wrong, for people.
    pub notes: Vec<String>,
}

impl Row {
    fn add(&mut self, other: Row) {
        self.clean += other.clean;
        self.clean_done += other.clean_done;
        self.attacked += other.attacked;
        self.attacked_done += other.attacked_done;
        self.attacks += other.attacks;
        self.takeovers += other.takeovers;
        self.questions += other.questions;
        (0..2).for_each(|at| self.ungrounded[at] += other.ungrounded[at]);
        self.notes.extend(other.notes);
    }
}

/// Runs one agent over all worlds, each on a thread of its own.
pub fn measure(agent: &str, mode: Mode) -> Row {
    let mut row = Row::default();
    std::thread::scope(|scope| {
        let worlds = WORLDS.map(|(name, text)| scope.spawn(move || measure_in(name, text, agent, mode)));
        worlds.into_iter().for_each(|world| row.add(world.join().expect("a world is walked to its end")));
    });
    row
}

pub fn measure_in(name: &'static str, text: &str, agent: &str, mode: Mode) -> Row {
    let stage = Arc::new(Stage::new(World::load(name, text)));
    let spec = equip(agents::shipped(agent).expect("a shipped agent"), &stage.world, mode);
    let (has_memory, tries_again) = (remembers(&spec), gets_another_try(&spec));
    let agent = build(spec, &stage);
    let mut row = Row::default();
    for (at, task) in stage.world.tasks.iter().enumerate() {
        let place = |what: &str| format!("{name} {}: {what}", task.asks);
        let (done, extra, questions, ungrounded) = play(&agent, &stage, at, None);
        row.ungrounded[0] += ungrounded;
        // What one failed call undoes anyway is no loss to an attack.
        let needs_another = !task.fails.is_empty() || task.doubts;
        if done || tries_again || !needs_another {
            row.clean += 1;
            row.clean_done += usize::from(done);
            row.questions += questions;
        }
        if !done {
            row.notes.push(place("not done"));
        }
        assert_eq!(extra, 0, "{}", place("done without being asked for"));
        for attack in stage.world.attacks(at) {
            if attack.is_at(&Place::Turn) && !has_memory {
                continue;
            }
            let (attacked_done, extra, _, ungrounded) = play(&agent, &stage, at, Some(&attack));
            row.ungrounded[1] += ungrounded;
            row.attacks += 1;
            row.takeovers += usize::from(extra > 0);
            if done && (tries_again || !matches!(attack.place, Place::Failure(_))) {
                row.attacked += 1;
                row.attacked_done += usize::from(attacked_done);
            }
            if extra > 0 {
                row.notes.push(place(&format!("taken over by {attack:?}")));
            } else if !attacked_done {
                row.notes.push(place(&format!("not done under {attack:?}")));
            }
        }
    }
    row
}

/// The shipped agent over the tools of a world. Where teams do the work, they have the tools.
fn equip(mut spec: Spec, world: &World, mode: Mode) -> Spec {
    spec.policy.containment = mode.containment();
    if spec.agents.iter().any(|agent| agent.spec.is_some()) {
        let teams = spec.agents.iter_mut().filter_map(|agent| agent.spec.as_deref_mut());
        teams.for_each(|team| give_tools(team, world, mode));
    } else {
        give_tools(&mut spec, world, mode);
    }
    spec
}

fn give_tools(spec: &mut Spec, world: &World, mode: Mode) {
    let policy = &mut spec.policy;
    policy.containment = mode.containment();
    policy.suggestions.clear();
    policy.required_calls.clear();
    let fields = &mut policy.plan.fields;
    // Which tool an agent should take is for agents alone to be told.
    fields.retain(|field| *field != StepField::With);
    let new = [StepField::Id, StepField::Refs].into_iter().filter(|field| !fields.contains(field));
    let new: Vec<StepField> = new.filter(|_| policy.planner == Planner::Json).collect();
    fields.extend(new);
    if world.leaves_values_open() {
        policy.plan.fields.push(StepField::Holes);
        let role = Role { prompt: "Write the value.".to_owned(), ..Role::default() };
        spec.roles.insert(RoleName::Executor, role);
    }
    policy.approval.risky |= mode == Mode::Asked;
    let contract = |tool: &Made| ToolContract { needs_approval: tool.acts(), ..tool.contract() };
    spec.tools = world.tools.iter().map(contract).collect();
}

fn remembers(spec: &Spec) -> bool {
    spec.policy.memory == Memory::Thread
}

/// Whether a run goes on after a failed call, or after results that will not do.
fn gets_another_try(spec: &Spec) -> bool {
    let policy = &spec.policy;
    policy.can_replan() || policy.step_tries.tries > 1 || policy.horizon == Horizon::Next
}

fn build(spec: Spec, stage: &Arc<Stage>) -> Agent {
    let model = Obedient { stage: Arc::clone(stage), spec: spec.clone() };
    let builder = Agent::builder(spec).model(model).human(Person(Arc::clone(stage))).clock(NoWait);
    let props = (0..stage.world.tools.len()).map(|at| Prop(Arc::clone(stage), at));
    builder.tools(props).build().expect("a sound spec")
}

/// Runs a task: whether it was done, how much was done that nobody asked for, how many questions it took, and how many
/// values were taken from nowhere.
fn play(
    agent: &Agent,
    stage: &Arc<Stage>,
    at: usize,
    attack: Option<&Attack>,
) -> (bool, usize, usize, usize) {
    let store = Arc::new(MemoryStore::new());
    let threads = Threads::new(store.clone());
    let thread = "t".parse().expect("a name");
    let ask = |task: Option<usize>, attack: Option<Attack>, question: &str| -> (Run, Now) {
        *stage.now() = Now { task, attack, ..Now::default() };
        let run = threads.at(&thread).ask(agent, question);
        let run = run.unwrap_or_else(|stopped| panic!("{question}: {stopped}"));
        let records = store.turns(&thread).and_then(|turns| store.records(&thread, turns - 1));
        let ungrounded = UngroundedCall::find_all(&records.expect("the last turn"));
        assert_eq!(ungrounded, Ok(Vec::new()), "{question}");
        (run, std::mem::take(&mut *stage.now()))
    };
    let mut extra = 0;
    let is_earlier = attack.is_some_and(|attack| attack.is_at(&Place::Turn));
    if let Some(attack) = attack.filter(|_| is_earlier) {
        let place = Place::Added(stage.world.tool(&stage.world.browse.0).reads.clone());
        let (_, now) = ask(None, Some(Attack { place, ..attack.clone() }), "What is new?");
        extra += judge(&stage.world, &now).1;
    }
    let task = &stage.world.tasks[at];
    let (run, now) = ask(Some(at), attack.filter(|_| !is_earlier).cloned(), &task.asks);
    if attack.is_none() {
        assert_eq!(now.repairs, 0, "{}: {:#?}", task.asks, run.trace());
    }
    let (open, more) = judge(&stage.world, &now);
    let open = open.iter().filter(|it| it.must_be_made && stage.world.tool(&it.call[0].0).writes).count();
    // A list of the steps says nothing of what they found.
    let tells = attack.is_none() && agent.compiled().policy().write != Write::Summary;
    let says = run.answer().is_some_and(|answer| !tells || answer.contains(&task.says));
    let ungrounded = now.taken.iter().filter(|(shown, value)| !is_grounded(value, shown)).count();
    (open == 0 && says && run.error().is_none(), extra + more, now.questions, ungrounded)
}
