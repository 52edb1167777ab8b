//! Orchestrate: between the steps, a model looks at the results and decides what becomes of the steps
//! that have not begun. What was done stays as it is, and nothing is run here.

use crate::contract::{Action, Before, Collaboration, Decision, PlanStep};
use crate::machine::awaits::Stage;
use crate::machine::need::leaves_room;
use crate::machine::run::Run;
use crate::machine::state::{Asking, Decided, ExecuteStage, Progress, StepRun, Task};
use crate::machine::vocabulary::TraceLine;
use crate::spec::CompiledSpec;

impl Run<'_> {
    /// Whether there is something to decide: nothing runs, and the plan has a step to carry out.
    pub(super) fn decision_is_due(&self) -> bool {
        let running = self.task.progress.as_ref().map_or(1, |progress| progress.schedule.running);
        running == 0 && self.task.drafted().any(|(_, planned, _)| !planned.is_final())
    }

    /// Asks for a decision.
    pub(super) fn ask_decision(&mut self, stage: &mut ExecuteStage) {
        *stage = ExecuteStage::Orchestrating(Asking::first());
        self.ask(Stage::Execute(stage));
    }

    /// Takes a decision and carries it out. Returns whether there was one.
    pub(super) fn hear_decision(&mut self, stage: &mut ExecuteStage) -> bool {
        let effect = self.awaited(Stage::Execute(stage));
        let ExecuteStage::Orchestrating(asking) = stage else { return false };
        let read = self.read_reply(effect, asking, |rules, _, reply| rules.parse_decision(&reply.text));
        let Some((decision, fallback)) = read else { return false };
        self.task.current().decisions += 1;
        self.decide(decision, fallback);
        true
    }

    fn decide(&mut self, mut decision: Decision, mut fallback: Option<String>) {
        let mut remaining = None;
        match amend(&decision, &mut self.task, self.rules) {
            Ok(None) => {}
            Ok(Some(names)) => {
                remaining = Some(names);
                // What a model says after untrusted output was read is no cleaner than that.
                let tainted = self.task.tainted;
                self.task.current().tainted |= tainted;
            }
            Err(problem) => {
                fallback = Some(problem.clone());
                decision = Decision { reasoning: problem, ..Decision::default() };
            }
        }
        let skips = decision.action == Action::SkipRemaining;
        if skips {
            remaining = Some(Vec::new());
        }
        let after = self.task.progress.as_ref().map_or(0, |progress| progress.schedule.finished);
        let decided = Decided {
            draft: self.task.draft,
            after,
            decision: decision.clone(),
            fallback: fallback.is_some(),
        };
        self.task.decisions.push(decided);
        self.line(TraceLine::Decision { after, decision: Box::new(decision), fallback, remaining });
        if skips && let Some(progress) = self.task.progress.as_mut() {
            progress.skip_pending();
        }
    }
}

/// Carries a decision out. Returns the agents of the remaining steps, in order, if they changed; on an
/// error nothing has changed.
fn amend(decision: &Decision, task: &mut Task, rules: &CompiledSpec) -> Result<Option<Vec<String>>, String> {
    let question = task.query().to_owned();
    let Some(progress) = task.progress.as_mut() else { return Ok(None) };
    let mut rest = Rest::of(progress);
    match (decision.action, &decision.next_agent, &decision.collaboration_needed) {
        (Action::AddAgent, Some(agent), _) => {
            let told = decision.task.clone().unwrap_or(question);
            rest.insert(0, PlanStep { task: Some(told), ..step_of(agent) });
        }
        (Action::Collaborate, _, Some(both)) => collaborate(&mut rest, both, decision, &question, progress),
        _ => return Ok(None),
    }
    let most = rules.spec().limits.max_added_steps;
    let left = most.saturating_sub(task.counters.added_steps);
    if rest.added > left {
        return Err(format!("{} more steps were wanted, {left} of {most} may be added", rest.added));
    }
    // What the plan refers to was there when it was planned, and may have failed since; a name that was
    // given anew means the new step.
    let named = |at: usize| {
        let name = progress.plan.steps[at].name(at);
        rest.steps.iter().any(|step| step.id.as_ref() == Some(&name))
    };
    let done = |at: usize| progress.is_done(at) || !named(at);
    let before = Before { steps: &progress.plan.steps[..rest.base], done: &done };
    let links = rules.plan().check_steps(before, &rest.steps).map_err(|error| error.to_string())?;
    leaves_room(&task.counters, rules, &rest.steps)?;
    let names = rest.steps.iter().map(|step| step.tool.clone()).collect();
    let added = rest.added;
    progress.replace_pending(rest.steps, links, rules);
    task.counters.added_steps += added;
    Ok(Some(names))
}

fn step_of(agent: &str) -> PlanStep {
    PlanStep { tool: agent.to_owned(), ..PlanStep::default() }
}

/// The primary runs next on what the supporting agent found; that one runs first only if it has found
/// nothing yet.
fn collaborate(
    rest: &mut Rest,
    both: &Collaboration,
    decision: &Decision,
    question: &str,
    progress: &Progress,
) {
    let supports = both.collaboration_type.clone().unwrap_or_else(|| question.to_owned());
    let told = decision.task.clone().unwrap_or_else(|| supports.clone());
    let found = (0..rest.base).rev().find(|&at| {
        progress.plan.steps[at].tool == both.supporting_agent
            && matches!(progress.steps[at], StepRun::Completed { .. })
    });
    let (support, next) = match found {
        Some(at) => (progress.plan.steps[at].name(at), 0),
        None => (rest.bring_forward(0, &both.supporting_agent, &supports), 1),
    };
    rest.bring_forward(next, &both.primary_agent, &told);
    let primary = &mut rest.steps[next];
    primary.input_from = Some(support);
    // Where the orchestrator says what is to be done, it knows more than the plan did.
    if decision.task.is_some() {
        primary.task = Some(told);
    }
}

/// The steps that have not begun, being rearranged. Each has its name written into it first, so that
/// references to it stay right wherever it goes.
struct Rest {
    base: usize,
    steps: Vec<PlanStep>,
    added: u32,
}

impl Rest {
    fn of(progress: &Progress) -> Self {
        let base = progress.begun();
        let named = |(at, step): (usize, &PlanStep)| PlanStep { id: Some(step.name(at)), ..step.clone() };
        let steps = progress.plan.steps.iter().enumerate().skip(base).map(named).collect();
        Rest { base, steps, added: 0 }
    }

    fn insert(&mut self, at: usize, mut step: PlanStep) -> String {
        self.added += 1;
        let name = self.free_name();
        step.id = Some(name.clone());
        self.steps.insert(at, step);
        name
    }

    /// A name that no step has: the planner's are numbered by position or its own.
    fn free_name(&self) -> String {
        let taken = |name: &String| self.steps.iter().any(|step| step.id.as_ref() == Some(name));
        let names = (1u32..).map(|nth| format!("added_{}_{nth}", self.base + 1));
        names.into_iter().find(|name| !taken(name)).unwrap_or_default()
    }

    /// Puts the next step of an agent at a position, a new one where the plan has none. Returns its
    /// name.
    fn bring_forward(&mut self, to: usize, agent: &str, told: &str) -> String {
        match self.steps.iter().skip(to).position(|step| step.tool == agent) {
            Some(nth) => {
                let step = self.steps.remove(to + nth);
                let name = step.id.clone().unwrap_or_default();
                self.steps.insert(to, step);
                name
            }
            None => self.insert(to, PlanStep { task: Some(told.to_owned()), ..step_of(agent) }),
        }
    }
}
