//! The state of a run: its phase and the task's memory. One that was read from a file is checked.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::authority::Authority;
use super::input::{Input, Turn};
use super::phase::{ExecuteStage, Phase, PlanStage};
use super::step_run::StepRun;
use super::steps::{Progress, Writes};
use crate::contract::{
    Decision, Intent, LabelledPart, PlanStep, PreviousContext, Shortfall, Source, Verdict,
};
use crate::machine::vocabulary::{Counters, Failure, GrantedBy, PhaseName, RunError, TraceLine, Usage};
use crate::spec::{CompiledSpec, Containment, Policy, RoleName};

/// A run at one moment. It serialises whole: written, read and stepped is the same as stepped. One that
/// is read is checked, so that no file can make the machine panic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct State {
    pub(crate) phase: Phase,
    pub(crate) task: Box<Task>,
}

/// A state as it stands in a file.
#[derive(Deserialize)]
struct Unchecked {
    phase: Phase,
    task: Box<Task>,
}

impl TryFrom<Unchecked> for State {
    type Error = &'static str;

    fn try_from(Unchecked { phase, task }: Unchecked) -> Result<Self, Self::Error> {
        let state = State { phase, task };
        if state.is_possible() { Ok(state) } else { Err("no run can be in this state") }
    }
}

impl State {
    /// The phase that the run is in.
    pub fn phase(&self) -> PhaseName {
        self.phase.name()
    }

    /// What the run started from.
    pub fn input(&self) -> &Input {
        &self.task.input
    }

    /// One line for each phase visit and for what happened between them.
    pub fn trace(&self) -> &[TraceLine] {
        &self.task.trace
    }

    /// The answer as far as it is written; final in DONE.
    pub fn answer(&self) -> Option<&str> {
        self.task.artifacts.final_answer.as_deref()
    }

    /// What the validator said against the answer, if it rejected it for the last time and it stands all the same.
    pub fn objection(&self) -> Option<&str> {
        let feedback = self.task.feedback.as_ref().filter(|_| self.phase == Phase::Done)?;
        feedback.judged.as_ref().filter(|_| !feedback.step_failed).map(|_| &*feedback.reason)
    }

    /// The error that ended the run.
    pub fn error(&self) -> Option<&RunError> {
        self.task.artifacts.error.as_ref()
    }

    /// The last reply that was cut at its token limit and not taken, as far as it came.
    #[doc(hidden)]
    pub fn cut_reply(&self) -> Option<&str> {
        self.task.artifacts.cut_reply.as_deref()
    }

    /// The sources that the answer rests on, once the run has ended.
    pub fn sources(&self) -> &[Source] {
        &self.task.artifacts.sources
    }

    /// What the run has spent so far.
    pub fn counters(&self) -> &Counters {
        &self.task.counters
    }

    /// The tokens spent so far by name: the roles (`planner`), in the order in which a run asks them, then
    /// the agents (`agent:search`). They add up to [`Counters::usage`].
    pub fn usage_by_name(&self) -> impl Iterator<Item = (String, Usage)> + '_ {
        let roles = self.task.usage_by_role.iter().map(|(role, usage)| (role.to_string(), *usage));
        let agents = self.task.usage_by_agent.iter().map(|(name, usage)| (format!("agent:{name}"), *usage));
        roles.chain(agents)
    }

    /// What the user wants, once it was found out.
    #[doc(hidden)]
    pub fn intent(&self) -> Option<&Intent> {
        self.task.understanding.intent.as_deref()
    }

    /// What the orchestrator decided, in order.
    pub fn decisions(&self) -> &[Decided] {
        &self.task.decisions
    }

    /// Whether the run has read untrusted output. Once true, it stays true.
    pub fn is_tainted(&self) -> bool {
        self.task.tainted
    }

    /// By what the call of a step of the plan at hand was allowed, by the step's position; nothing where it needed no
    /// authority.
    pub fn granted_by(&self, step: u32) -> Option<&GrantedBy> {
        self.task.authority.used(step)
    }

    /// The steps of the plan at hand whose calls a person has allowed and that have not started, after the steps whose
    /// agents they belong to.
    pub(crate) fn allowed_calls(&self) -> BTreeSet<Vec<u32>> {
        let own = self.task.progress.iter().flat_map(|progress| progress.schedule.approved.keys());
        let mut allowed: BTreeSet<Vec<u32>> = own.map(|step| vec![*step]).collect();
        for (step, inner) in &self.task.nested {
            let inner = inner.allowed_calls().into_iter();
            allowed.extend(inner.map(|path| [vec![*step], path].concat()));
        }
        allowed
    }

    /// The parts of the input of a step of the plan at hand that earlier steps gave, or a person, with who chose them; all
    /// of it if the call was planned after untrusted text was read. What stands in a plan from before is not among them.
    pub fn label_parts(&self, compiled: &CompiledSpec, step: u32) -> Vec<LabelledPart> {
        self.task.told_parts(compiled, step)
    }

    /// Whether nothing in it contradicts the rest.
    fn is_possible(&self) -> bool {
        let task = &*self.task;
        let runs = task.progress.as_ref().map_or(&[][..], |progress| progress.steps.as_slice());
        let running = runs.iter().any(StepRun::is_running);
        let asked = |at: u32| runs.get(at as usize) == Some(&StepRun::WaitingHuman);
        let fits = match &self.phase {
            Phase::Execute(ExecuteStage::Running) => running,
            Phase::Execute(
                ExecuteStage::AwaitingHuman { step }
                | ExecuteStage::AwaitingCallApproval { step }
                | ExecuteStage::AwaitingPick { step, .. },
            ) => asked(*step),
            Phase::Execute(ExecuteStage::Filling { step, .. }) => {
                !running && task.progress.as_ref().is_some_and(|progress| progress.open_hole(*step).is_some())
            }
            Phase::Execute(ExecuteStage::Orchestrating(_)) | Phase::Plan(PlanStage::AwaitingApproval) => {
                task.progress.is_some() && !running
            }
            Phase::Plan(_) | Phase::Validate(_) | Phase::Write(_) => !running,
            Phase::Done | Phase::Error => true,
        };
        let first_steps = || task.drafts.iter().map(|draft| draft.first_step as usize);
        let nested = |at: u32| matches!(runs.get(at as usize), Some(StepRun::Nested { .. }));
        let kept = |at: u32| !nested(at) || task.nested.contains_key(&at);
        let mut plans = task.artifacts.past.iter().chain(&task.progress);
        fits && !task.drafts.is_empty()
            && task.drafts.len() == task.draft as usize
            && first_steps().is_sorted()
            && first_steps().all(|first| first <= runs.len())
            && task.nested.keys().all(|at| nested(*at))
            && (self.phase.name().is_terminal() || (0..runs.len() as u32).all(kept))
            && plans.all(Progress::is_possible)
            && task.authority.is_possible()
    }
}

/// The task's memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub(crate) input: Input,
    pub(crate) understanding: Understanding,
    /// The draft being made or carried out, from 1.
    pub(crate) draft: u32,
    /// One entry for each draft so far.
    pub(crate) drafts: Vec<Draft>,
    /// Why the plan before was sent back.
    pub(crate) feedback: Option<Box<Feedback>>,
    pub(crate) progress: Option<Progress>,
    pub(crate) decisions: Vec<Decided>,
    pub(crate) artifacts: Artifacts,
    /// Bad replies and what ended the run, in order.
    pub(crate) failures: Vec<Failure>,
    pub(crate) counters: Counters,
    /// The tokens of each role that is not an agent's.
    pub(crate) usage_by_role: BTreeMap<RoleName, Usage>,
    /// The tokens of each agent that does steps, its nested runs included.
    pub(crate) usage_by_agent: BTreeMap<String, Usage>,
    pub(crate) tainted: bool,
    #[serde(default, skip_serializing_if = "Writes::is_empty")]
    pub(crate) written: Writes,
    /// The writes that may be made without a person.
    #[serde(default, skip_serializing_if = "Authority::is_empty")]
    pub(crate) authority: Authority,
    pub(crate) trace: Vec<TraceLine>,
    /// The runs of the agents that do steps, by the steps' positions in the plan.
    pub(crate) nested: BTreeMap<u32, State>,
}

impl Task {
    /// The memory of a run that begins.
    pub(crate) fn new(input: Input, tainted: bool) -> Self {
        // As many as a run with one replan has: a list's own first step is four, which is felt.
        let mut drafts = Vec::with_capacity(2);
        drafts.push(Draft { tainted, ..Draft::default() });
        Task {
            input,
            understanding: Understanding::default(),
            draft: 1,
            drafts,
            feedback: None,
            progress: None,
            decisions: Vec::new(),
            artifacts: Artifacts::default(),
            failures: Vec::new(),
            counters: Counters::default(),
            usage_by_role: BTreeMap::new(),
            usage_by_agent: BTreeMap::new(),
            tainted,
            written: Writes::new(),
            authority: Authority::default(),
            // As many lines as most runs leave.
            trace: Vec::with_capacity(8),
            nested: BTreeMap::new(),
        }
    }

    pub(crate) fn planned(&self, step: u32) -> Option<&PlanStep> {
        self.progress.as_ref()?.plan.steps.get(step as usize)
    }

    /// Notes how far the step at a position is.
    pub(crate) fn set_slot(&mut self, step: u32, run: StepRun) {
        if let Some(slot) = self.progress.as_mut().and_then(|progress| progress.steps.get_mut(step as usize))
        {
            *slot = run;
        }
    }

    /// Whether the run of an agent that does a step was shown more than its task: what others found.
    pub(crate) fn shows_findings(&self, step: u32, inner: &Task) -> bool {
        let planned = self.planned(step).and_then(PlanStep::material);
        !inner.input.findings.is_empty() || inner.input.material.as_deref() != planned
    }

    /// Whether the run of an agent that does a step begins once more if it is refused: it was shown what others found,
    /// and has called nothing and asked nobody.
    pub(crate) fn may_begin_anew(&self, step: u32, inner: &Task) -> bool {
        let acted = inner.counters.tool_calls > 0 || inner.counters.questions > 0;
        !acted && self.shows_findings(step, inner)
    }

    /// Whether a step of the current draft was refused.
    pub(crate) fn was_refused(&self) -> bool {
        self.drafted().any(|(.., run)| run.denial().is_some())
    }

    pub(crate) fn step_name(&self, step: u32) -> String {
        self.planned(step).map(|planned| planned.name(step as usize)).unwrap_or_default()
    }

    /// The steps of the current draft with how far they are, after their positions.
    pub(crate) fn drafted(&self) -> impl Iterator<Item = (usize, &PlanStep, &StepRun)> {
        let first = self.first_step();
        self.progress.iter().flat_map(move |progress| progress.slots().skip(first))
    }

    /// Where the results come from, each source once.
    pub(crate) fn sources(&self) -> Vec<&Source> {
        let runs = self.progress.iter().flat_map(|progress| &progress.steps);
        let mut known = BTreeSet::new();
        runs.flat_map(StepRun::sources).filter(|source| known.insert(*source)).collect()
    }

    /// The first failed step of the current draft: which, and how it failed. What was left out has not failed.
    pub(crate) fn first_failure(&self) -> Option<(String, String)> {
        let failed = self.drafted().filter(|(.., run)| !run.is_left_out());
        failed.into_iter().find_map(|(at, planned, run)| match run {
            StepRun::Failed { failure, .. } => {
                Some((format!("{} ({}) failed", planned.name(at), planned.tool), failure.shown.clone()))
            }
            _ => None,
        })
    }

    /// What a plan is sent back with because of its failed steps.
    pub(crate) fn step_feedback(&self, reason: String, hint: &str) -> Feedback {
        let failed = self.drafted().filter(|(.., run)| run.has_failed());
        let judged = Some((Shortfall::Failed, failed.map(|(at, ..)| at as u32).collect()));
        Feedback { reason, fix_hint: hint.to_owned(), judged, step_failed: true, ..Feedback::default() }
    }

    /// The question as tools should see it: rewritten to stand alone, where intake did so.
    pub(crate) fn query(&self) -> &str {
        let intent = self.understanding.intent.as_ref();
        intent.and_then(|intent| intent.rewritten_query.as_deref()).unwrap_or(&self.input.question)
    }

    /// Whether the planning roles (planner, re-planner, orchestrator) are told in a closed form what became of the
    /// steps: no word of what a tool returned, nor of a model that read it.
    pub(crate) fn is_closed(&self, policy: &Policy) -> bool {
        self.tainted && policy.closes_planning()
    }

    /// Whether what was done stands though a validator rejects it for the last time: what it read may have talked it
    /// into that.
    pub(crate) fn stands_rejected(&self, policy: &Policy) -> bool {
        self.tainted && policy.containment != Containment::Off
    }

    /// Whether the answer may rest on what is untrusted: a tool's output, or an earlier answer that rests on one.
    pub(crate) fn answers_from_untrusted(&self) -> bool {
        self.tainted || !self.input.history.iter().all(Turn::is_trusted)
    }

    /// The draft being made or carried out.
    pub(crate) fn current(&mut self) -> &mut Draft {
        if self.drafts.is_empty() {
            self.drafts.push(Draft::default());
        }
        self.drafts.last_mut().expect("one was put there if there was none")
    }

    /// How many steps stood before the current draft.
    pub(crate) fn first_step(&self) -> usize {
        self.drafts.last().map_or(0, |draft| draft.first_step as usize)
    }
}

/// What intake found out about the question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Understanding {
    pub(crate) previous_context: Option<PreviousContext>,
    pub(crate) intent: Option<Box<Intent>>,
}

/// One draft: what it took, and what stands between it and the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    /// How many steps stood before it.
    pub(crate) first_step: u32,
    pub(crate) decisions: u32,
    /// Whether it was made after untrusted output had been read.
    pub(crate) tainted: bool,
    /// What the planner said beside its calls.
    pub(crate) said: String,
    /// What goes back to the planner's server beside its calls, unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) reasoning: Vec<Value>,
    /// What the validator said of it, where the planner goes on and is told.
    pub(crate) verdict: Option<Box<Verdict>>,
}

/// A decision of the orchestrator, and when it was made.
#[doc(hidden)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    pub draft: u32,
    /// After how many finished steps.
    pub after: u32,
    pub decision: Decision,
    /// Whether it stands in for a decision that could not be had, or not be carried out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fallback: bool,
}

/// Why a plan was sent back to PLAN.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Feedback {
    /// The validator's reason, which step failed, or a person's word.
    pub(crate) reason: String,
    /// What the next plan should do differently.
    pub(crate) fix_hint: String,
    /// What is wrong, and the positions of the steps that it is about; `None` of what a person said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) judged: Option<(Shortfall, Vec<u32>)>,
    pub(crate) step_failed: bool,
    /// The steps of that plan that had not begun, where what had begun is kept.
    pub(crate) dropped: Vec<PlanStep>,
    pub(crate) answer: Option<String>,
}

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Artifacts {
    /// Earlier plans with their results, oldest first: the audit trail.
    pub(crate) past: Vec<Progress>,
    pub(crate) final_answer: Option<String>,
    pub(crate) sources: Vec<Source>,
    pub(crate) error: Option<RunError>,
    /// The last reply that was cut and not taken, as far as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cut_reply: Option<String>,
}

impl Artifacts {
    /// Keeps a plan that another takes the place of.
    pub(crate) fn keep_past(&mut self, plan: Option<Progress>) {
        // Plans are large, and most runs have one or two of them: a list's own first step is four.
        if self.past.is_empty() {
            self.past.reserve_exact(2);
        }
        self.past.extend(plan);
    }
}
