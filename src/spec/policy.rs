//! Policy: the choices in which one agent differs from another.

use serde::{Deserialize, Serialize};

use super::OnFailure;
use super::steps::{
    Approval, Duplicates, Execution, OnExpiry, OnRejection, OnStepFailure, Orchestrate, RequiredCall,
    StepTries,
};
use crate::contract::{IntentForm, PlanPolicy, StepField, ToolContract, ToolEffect, Validate, is_default};

/// Why a run cannot go back to PLAN; see [`Policy::can_replan`].
pub(super) const NOTHING_REPLANS: &str =
    "nothing in this policy replans (`validate` is \"off\" and `on_step_failure` is not \"replan\")";

/// Every choice of an agent. A field that is left out takes the default that it names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// What PLAN asks before the first draft, in this order. Default: nothing.
    #[serde(skip_serializing_if = "is_default")]
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
    /// Calls that are proposed to the planner for its first plan. Default: none.
    #[serde(skip_serializing_if = "is_default")]
    pub suggestions: Vec<Suggestion>,
    /// What follows from a failed step.
    pub on_step_failure: OnStepFailure,
    /// How often a step is tried before it counts as failed. Default: once.
    #[serde(skip_serializing_if = "is_default")]
    pub step_tries: StepTries,
    /// What a new plan keeps of the old one.
    pub on_replan: OnReplan,
    /// What follows from an unreadable reply of a role that has no `on_failure`: `fail` or `repair`.
    pub on_bad_reply: OnFailure,
    /// What follows from a reply that was cut at its token limit.
    #[serde(skip_serializing_if = "is_default")]
    pub on_cut: OnCut,
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
    /// Calls that must have been made before there may be an answer. Default: none.
    #[serde(skip_serializing_if = "is_default")]
    pub required_calls: Vec<RequiredCall>,
    /// Regular expressions of what no answer may hold: an answer in which one matches is a bad reply. Default:
    /// none.
    #[serde(skip_serializing_if = "is_default")]
    pub placeholders: Vec<String>,
    /// Where a person is asked.
    #[serde(skip_serializing_if = "is_default")]
    pub approval: Approval,
    /// What follows when a person says no.
    #[serde(skip_serializing_if = "is_default")]
    pub on_rejection: OnRejection,
    /// What follows when no answer came in time.
    #[serde(skip_serializing_if = "is_default")]
    pub on_expiry: OnExpiry,
    /// Whether earlier turns of the thread are part of the input.
    #[serde(skip_serializing_if = "is_default")]
    pub memory: Memory,
    /// Whether a request that was answered before is answered from the cache. A replay never is.
    #[serde(skip_serializing_if = "is_default")]
    pub enable_cache: bool,
    /// What a plan may add that was made after something untrusted was read. What stands in the plan before that
    /// runs, each write once.
    pub containment: Containment,
    /// Whether a role says before anything is read which writes the question calls for: these are the run's authority,
    /// and that of the agents that do its steps, in whichever round they come. Nobody is asked where no tool needs it.
    #[serde(skip_serializing_if = "is_default")]
    pub grant: bool,
    /// What follows from a call that containment does not allow.
    #[serde(skip_serializing_if = "is_default")]
    pub on_unauthorised: OnUnauthorised,
}

/// A question that PLAN asks before the first draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intake {
    /// Is the question in scope? If not, the run ends with a refusal.
    Scope,
    /// Does the answer need the earlier turns? Asked only if there are any.
    PreviousContext,
    /// What does the user want?
    Intent,
}

/// How the intent role answers, and what follows from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IntentPolicy {
    /// The form of the reply. Default: `query`.
    pub form: IntentForm,
    /// The kinds that the role may give. Default: any.
    #[serde(skip_serializing_if = "is_default")]
    pub kinds: Vec<String>,
    /// The kinds that are answered at once, without a plan. Default: none.
    #[serde(skip_serializing_if = "is_default")]
    pub answer_at_once: Vec<String>,
}

/// What follows from a reply that was cut at its token limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCut {
    /// It is no reply: the run ends, unless the role has a fallback.
    #[default]
    Fail,
    /// A shorter one is asked for, as often as a bad reply may be.
    Repair,
    /// What came is taken where it is words; else it is no reply.
    Accept,
}

/// How the planner answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Planner {
    /// With a plan in JSON.
    #[default]
    Json,
    /// With one or more native tool calls, or with words if it needs none.
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
    /// To the next steps. PLAN is entered again after them, at most `limits.max_iterations` times in all.
    Next,
}

/// A call that is proposed to the planner if the question matches. The planner decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suggestion {
    /// A regular expression over the question.
    pub pattern: String,
    /// The tool to propose.
    pub tool: String,
    /// Its input. `$0` stands for the whole match, `$1` for its first group, and so on.
    pub input: String,
}

/// What a new plan keeps of the old one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnReplan {
    /// Nothing: only the new plan's results reach validator and writer. A write that succeeded stands.
    #[default]
    Restart,
    /// Finished steps. Ids go on after them, and a new plan may refer to those that succeeded.
    Keep,
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

/// What a plan may add that was made after something untrusted was read. Ordered: the later, the stricter; an agent
/// that does steps is contained at least as strictly as the agent around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Containment {
    /// Anything: a text that is read may choose what is done.
    Off,
    /// `pure` and `read` steps.
    #[default]
    Standard,
    /// `pure` steps.
    Strict,
}

impl Containment {
    /// Whether calls of a tool need authority: those that write, those whose arguments leave for a place that they
    /// name, and under `strict` all that read.
    pub(crate) fn guards(self, tool: &ToolContract) -> bool {
        match self {
            Containment::Off => false,
            Containment::Standard => {
                tool.effect == ToolEffect::Write
                    || (tool.effect == ToolEffect::Read && !tool.egress.is_empty())
            }
            Containment::Strict => tool.effect >= ToolEffect::Read,
        }
    }
}

/// What follows from a call that containment does not allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnauthorised {
    /// The step is refused, and the run goes on without it.
    #[default]
    Refuse,
    /// A person is asked to approve the call, whatever `approval` says.
    Ask,
}

impl Policy {
    /// Whether PLAN asks this before the first draft.
    pub(super) fn asks(&self, intake: Intake) -> bool {
        self.intake.contains(&intake)
    }

    /// Whether a person may be asked anything.
    pub(super) fn asks_people(&self) -> bool {
        !self.approval.is_never() || self.on_unauthorised == OnUnauthorised::Ask || self.labels_values()
    }

    /// Whether a call may hold what an earlier step returned, so that a person may be asked about it.
    pub(super) fn labels_values(&self) -> bool {
        let takes = |field: &StepField| matches!(field, StepField::Refs | StepField::InputFrom);
        self.containment != Containment::Off && self.plan.fields.iter().any(takes)
    }

    /// Whether anything can send the run back to PLAN for a new whole plan.
    pub fn can_replan(&self) -> bool {
        self.horizon == Horizon::Whole
            && (self.validate != Validate::Off
                || self.on_step_failure == OnStepFailure::Replan
                || (self.asks_people() && self.on_rejection == OnRejection::Replan))
    }

    /// Whether a run can get to its answer without a plan that has a step.
    pub(crate) fn can_skip_plan(&self) -> bool {
        self.asks(Intake::Intent) || self.plan.min_steps == 0 || self.planner != Planner::Json
    }

    /// Whether a bad call among good ones is a failed step: nobody judges the calls as a whole.
    pub(crate) fn answers_bad_calls(&self) -> bool {
        self.planner == Planner::ToolCalls
            && self.horizon == Horizon::Next
            && self.on_step_failure == OnStepFailure::Record
            && self.orchestrate == Orchestrate::Never
            && !self.approval.plan
    }

    /// Whether planners are not shown what untrusted tools returned. A planner that goes on round by round works on
    /// that, so it is shown it, and has no authority once it was.
    pub(crate) fn closes_planning(&self) -> bool {
        self.containment != Containment::Off && self.horizon == Horizon::Whole
    }

    /// Whether its planner is shown the earlier answers of a thread, whatever was read for them.
    pub(crate) fn plans_from_answers(&self) -> bool {
        self.memory == Memory::Thread
            && self.horizon == Horizon::Next
            && !self.intake.contains(&Intake::PreviousContext)
    }

    /// Whether finished steps stay when PLAN is entered again.
    pub fn keeps_steps(&self) -> bool {
        self.horizon == Horizon::Next || self.on_replan == OnReplan::Keep
    }
}
