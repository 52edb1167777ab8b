//! Policy: the choices in which one agent differs from another.

use serde::{Deserialize, Serialize};

use super::Execution;
use super::approval::{Approval, OnExpiry, OnRejection};
use crate::contract::{FinalStep, IntentForm, PlanSays, StepField, VerdictForm};

/// Every choice of an agent. Left-out fields take the default that each names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// What is asked in PLAN before the first draft, in this order; nothing unless set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intake: Vec<Intake>,
    /// How the intent role answers, and what follows from it.
    #[serde(skip_serializing_if = "is_default")]
    pub intent: IntentPolicy,
    /// How the planner answers.
    #[serde(skip_serializing_if = "is_default")]
    pub planner: Planner,
    /// How far one plan reaches.
    #[serde(skip_serializing_if = "is_default")]
    pub horizon: Horizon,
    /// What a plan must look like.
    pub plan: PlanPolicy,
    /// Calls that are proposed to the planner for its first plan, by rule; none unless set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<Suggestion>,
    /// What follows from a failed step.
    pub on_step_failure: OnStepFailure,
    /// How often a step is tried before it has failed; once unless set.
    #[serde(skip_serializing_if = "is_default")]
    pub step_tries: StepTries,
    /// What a new plan keeps of the old one.
    pub on_replan: OnReplan,
    /// What follows from a reply that does not read, in the roles that do not say it themselves.
    pub on_bad_reply: OnBadReply,
    /// What follows from a step that repeats one that succeeded.
    #[serde(skip_serializing_if = "is_default")]
    pub duplicates: Duplicates,
    /// Whether steps run one by one or side by side.
    pub execution: Execution,
    /// Whether a model looks at the results between the steps and may amend what remains.
    #[serde(skip_serializing_if = "is_default")]
    pub orchestrate: Orchestrate,
    /// Whether a model judges, and under which contract.
    pub validate: Validate,
    /// What is judged.
    #[serde(skip_serializing_if = "is_default")]
    pub validate_at: ValidateAt,
    /// What follows when the replans or the iterations are used up.
    pub on_exhausted: OnExhausted,
    /// Where the answer comes from.
    #[serde(skip_serializing_if = "is_default")]
    pub write: Write,
    /// Calls that must have been made before there may be an answer; none unless set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required_calls: Vec<RequiredCall>,
    /// Where a person is asked.
    #[serde(skip_serializing_if = "is_default")]
    pub approval: Approval,
    /// What follows when a person says no.
    #[serde(skip_serializing_if = "is_default")]
    pub on_rejection: OnRejection,
    /// What follows when nobody answered in time.
    #[serde(skip_serializing_if = "is_default")]
    pub on_expiry: OnExpiry,
    /// Whether earlier turns of the thread are part of the input.
    #[serde(skip_serializing_if = "is_default")]
    pub memory: Memory,
    /// Whether a request that was answered before is answered from the cache. A replay never is.
    #[serde(skip_serializing_if = "is_default")]
    pub enable_cache: bool,
    /// What a plan made after reading untrusted output may do.
    pub containment: Containment,
}

/// Left out of what is written where nobody chose otherwise.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Something that PLAN asks before the first draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intake {
    /// Whether the question is in scope. Where it is not, the run ends with a refusal.
    Scope,
    /// Whether the answer needs the earlier turns. Nobody is asked where there are none.
    PreviousContext,
    /// What the user wants.
    Intent,
}

/// How the intent role answers, and what follows from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IntentPolicy {
    /// The form of the reply; `query` unless set.
    pub form: IntentForm,
    /// The kinds it may give; any unless set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// The kinds that are answered at once, without a plan; none unless set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answer_at_once: Vec<String>,
}

/// How the planner answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Planner {
    /// With a plan in JSON.
    #[default]
    Json,
    /// With native tool calls, several at once if it likes; or with words, where it needs none.
    ToolCalls,
    /// With a thought and an action as text, or with a final answer.
    ReactText,
}

/// How far one plan reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Horizon {
    /// To the end.
    #[default]
    Whole,
    /// To the next step or steps: PLAN is entered again after them, at most `limits.max_iterations`
    /// times in all. What was done stays.
    Next,
}

/// What a plan must look like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanPolicy {
    /// Fewest steps of a plan; 1 unless set. 0 lets the planner say that nothing needs doing.
    pub min_steps: u32,
    /// Most steps of a plan; 6 unless set.
    pub max_steps: u32,
    /// Most steps that wait for one another in a row; any number unless set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
    /// Whether the last step must be `final_answer`; it must unless set.
    pub final_step: FinalStep,
    /// What a plan must say beside its steps; `goal` unless set.
    #[serde(skip_serializing_if = "is_default")]
    pub says: PlanSays,
    /// The optional step fields that the planner is offered; none unless set.
    pub fields: Vec<StepField>,
    /// Those of them that every step of a tool or an agent must have; none unless set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<StepField>,
}

impl Default for PlanPolicy {
    fn default() -> Self {
        PlanPolicy {
            min_steps: 1,
            max_steps: 6,
            max_depth: None,
            final_step: FinalStep::Required,
            says: PlanSays::default(),
            fields: Vec::new(),
            required: Vec::new(),
        }
    }
}

/// A call that is proposed to the planner where the question matches. It replaces nothing: the
/// planner decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suggestion {
    /// A regular expression over the question.
    pub pattern: String,
    /// The tool to propose.
    pub tool: String,
    /// Its input, with `$1` for what the first group of the pattern matched, and so on; `$0` for all
    /// of it.
    pub input: String,
}

/// How often a step is tried before it has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StepTries {
    /// Most tries, the first included. Every try counts as a tool call; a write that may not happen
    /// twice is tried once in any case.
    pub tries: u32,
    /// How long to wait before the second try, in milliseconds; twice as long before each further
    /// one.
    pub wait_ms: u64,
}

impl Default for StepTries {
    fn default() -> Self {
        StepTries { tries: 1, wait_ms: 1_000 }
    }
}

impl StepTries {
    /// How long to wait before a try, in milliseconds. The first is not waited for.
    pub fn wait_before(self, attempt: u32) -> u64 {
        let doublings = attempt.saturating_sub(2).min(20);
        self.wait_ms.saturating_mul(1 << doublings)
    }
}

/// A call that must have been made before there may be an answer. One that failed was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequiredCall {
    /// The tool.
    pub tool: String,
    /// How often at least.
    #[serde(default)]
    pub least: u32,
    /// And once for every line of the answer that begins so (`Follow-up`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_line: Option<String>,
}

/// What follows from a failed step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnStepFailure {
    /// The failure is a result like any other, and the run goes on.
    #[default]
    Record,
    /// The run goes back to PLAN with the failure, while replans remain.
    Replan,
    /// The run ends.
    Abort,
}

/// What a new plan keeps of the old one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnReplan {
    /// Nothing: the new plan runs whole and only its results reach validator and writer. The old
    /// plan and its results stay in the audit trail.
    #[default]
    Restart,
    /// What was done: finished steps stay as they are, ids go on after them, and a new plan may refer
    /// to those that succeeded. What had not begun is dropped.
    Keep,
}

/// What follows from a step with the same tool and the same input as one that succeeded, among the
/// steps whose results count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Duplicates {
    /// It runs.
    #[default]
    Allow,
    /// It is skipped, and the trace says so.
    Skip,
}

/// Whether a model looks at the results between the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Orchestrate {
    /// No.
    #[default]
    Never,
    /// Before the first step and after every one, the last included. It may add
    /// `limits.max_added_steps` steps to a run.
    EachStep,
}

/// What is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValidateAt {
    /// What was collected, before the answer is written.
    #[default]
    Results,
    /// The written answer.
    Answer,
}

/// Where the answer comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Write {
    /// The writer.
    #[default]
    Model,
    /// The last step's output as it is.
    LastResult,
    /// A line for each step: `Step {id}: {description} - {status}`.
    Summary,
    /// The planner's own words, once it calls no more tools.
    Planner,
}

/// Whether earlier turns of the thread are part of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    /// No: every question stands alone.
    #[default]
    None,
    /// They are.
    Thread,
}

/// What follows from a reply that breaks its contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnBadReply {
    /// The run ends at once.
    Fail,
    /// The model is asked again and shown the exact error, at most `limits.max_repairs` times for
    /// each reply that was asked for.
    #[default]
    Repair,
}

/// Whether a model judges, and under which contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validate {
    /// No. The whole-plan check is the only validation.
    Off,
    /// The validator gives a verdict: `{ok, reason, fix_hint}`.
    #[default]
    Verdict,
    /// The validator says whether there is enough: `{sufficient, missing_info, reason}`.
    Sufficiency,
}

impl Validate {
    /// The contract of the validator's reply; `None` where nobody judges.
    pub fn form(self) -> Option<VerdictForm> {
        match self {
            Validate::Off => None,
            Validate::Verdict => Some(VerdictForm::Verdict),
            Validate::Sufficiency => Some(VerdictForm::Sufficiency),
        }
    }
}

/// What follows when the replans or the iterations are used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExhausted {
    /// The run ends.
    #[default]
    Fail,
    /// The answer is written with what there is.
    Write,
}

/// What a plan made after reading untrusted output may do. The choice, the run's taint and each
/// plan's own are kept in state and journal; this version does not yet refuse steps by them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Containment {
    /// It may add `pure` and `read` steps.
    #[default]
    Standard,
    /// It may add `pure` steps.
    Strict,
}

impl Policy {
    /// Whether the policy asks something before the first draft.
    pub(super) fn asks(&self, intake: Intake) -> bool {
        self.intake.contains(&intake)
    }

    /// Whether anything can send the run back to PLAN for a new whole plan.
    pub fn can_replan(&self) -> bool {
        self.horizon == Horizon::Whole
            && (self.validate != Validate::Off
                || self.on_step_failure == OnStepFailure::Replan
                || (!self.approval.is_never() && self.on_rejection == OnRejection::Replan))
    }

    /// Whether a run can get to its answer without a plan that has a step.
    pub fn can_skip_the_plan(&self) -> bool {
        self.intake.contains(&Intake::Intent)
            || self.plan.min_steps == 0
            || self.planner == Planner::ToolCalls
            || self.planner == Planner::ReactText
    }

    /// Whether finished steps stay when PLAN is entered again.
    pub fn keeps_steps(&self) -> bool {
        self.horizon == Horizon::Next || self.on_replan == OnReplan::Keep
    }
}
