//! How the steps of a plan run, and where a person is asked.

use serde::{Deserialize, Deserializer, Serialize};

/// How often a step is tried before it counts as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StepTries {
    /// Most tries, the first included. A write that is not idempotent is tried once in any case.
    pub tries: u32,
    /// Milliseconds to wait before the second try; twice as long before each further one.
    pub wait_ms: u64,
}

impl Default for StepTries {
    fn default() -> Self {
        StepTries { tries: 1, wait_ms: 1_000 }
    }
}

impl StepTries {
    /// Milliseconds to wait before a try. The first is not waited for.
    pub fn wait_before(self, attempt: u32) -> u64 {
        let doublings = attempt.saturating_sub(2).min(20);
        self.wait_ms.saturating_mul(1 << doublings)
    }
}

/// A call that must have been made before there may be an answer. A failed call counts as made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequiredCall {
    /// The tool.
    pub tool: String,
    /// How often at least.
    #[serde(default)]
    pub least: u32,
    /// Requires one more call for every line of the answer that begins with this text.
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

/// What follows from a step that repeats tool and input of one that succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Duplicates {
    /// It runs.
    #[default]
    Allow,
    /// It is skipped, and the trace says so.
    Skip,
}

/// How many steps run at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case", deny_unknown_fields)]
pub enum Execution {
    /// One, in plan order.
    #[default]
    #[serde(deserialize_with = "deserialize_nothing")]
    Sequential,
    /// Several: each starts when those that it waits for are finished. What may write runs alone.
    Parallel {
        /// Most steps at a time.
        width: u32,
    },
}

impl Execution {
    /// Most steps that run at a time.
    pub fn width(self) -> u32 {
        match self {
            Execution::Sequential => 1,
            Execution::Parallel { width } => width,
        }
    }
}

/// Refuses a `width` that nothing reads: beside a variant without fields serde lets any pass.
fn deserialize_nothing<'de, D: Deserializer<'de>>(source: D) -> Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    Nothing::deserialize(source).map(|Nothing {}| ())
}

/// Whether a model looks at the results between the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Orchestrate {
    /// No.
    #[default]
    Never,
    /// Before the first step and after each. It may add `limits.max_added_steps` steps to a run.
    EachStep,
}

/// Where a person is asked. Written as `never`, as the name of one place, or as a list of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ApprovalFile", into = "ApprovalFile")]
pub struct Approval {
    /// Before anything of a plan runs.
    pub plan: bool,
    /// Before a tool is called whose contract says `needs_approval`.
    pub risky: bool,
    /// Where the plan has a `hitl` step.
    pub steps: bool,
}

impl Approval {
    /// Nowhere.
    pub const NEVER: Approval = Approval { plan: false, risky: false, steps: false };
    /// Before anything of a plan runs.
    pub const PLAN: Approval = Approval { plan: true, ..Approval::NEVER };
    /// Before the calls that need it.
    pub const RISKY: Approval = Approval { risky: true, ..Approval::NEVER };
    /// Where a plan has a `hitl` step.
    pub const STEPS: Approval = Approval { steps: true, ..Approval::NEVER };
    /// Wherever a person can be asked.
    pub const ALL: Approval = Approval { plan: true, risky: true, steps: true };

    /// Whether a person is never asked.
    pub fn is_never(self) -> bool {
        self == Approval::NEVER
    }

    fn places(&mut self) -> [(&'static str, &mut bool); 3] {
        [("plan", &mut self.plan), ("risky", &mut self.risky), ("steps", &mut self.steps)]
    }
}

/// An [`Approval`] as it is written.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "`never`, or one name or a list of names of `plan`, `risky` and `steps`")]
enum ApprovalFile {
    One(String),
    Many(Vec<String>),
}

impl From<Approval> for ApprovalFile {
    fn from(mut approval: Approval) -> Self {
        let asked = approval.places().into_iter().filter(|(_, asked)| **asked);
        match asked.map(|(name, _)| name.to_owned()).collect::<Vec<String>>() {
            names if names.is_empty() => ApprovalFile::One("never".to_owned()),
            mut names if names.len() == 1 => ApprovalFile::One(names.remove(0)),
            names => ApprovalFile::Many(names),
        }
    }
}

impl TryFrom<ApprovalFile> for Approval {
    type Error = String;

    fn try_from(file: ApprovalFile) -> Result<Self, String> {
        let names = match file {
            ApprovalFile::One(name) if name == "never" => return Ok(Approval::NEVER),
            ApprovalFile::One(name) => vec![name],
            ApprovalFile::Many(names) if names.is_empty() => {
                return Err("expected at least one name, found an empty list".to_owned());
            }
            ApprovalFile::Many(names) => names,
        };
        let mut approval = Approval::NEVER;
        for name in names {
            let place = approval.places().into_iter().find(|(place, _)| *place == name);
            let unknown = || format!("expected `plan`, `risky` or `steps`, or `never` alone, found {name:?}");
            let (_, asked) = place.ok_or_else(unknown)?;
            if std::mem::replace(asked, true) {
                return Err(format!("{name:?} is named twice"));
            }
        }
        Ok(approval)
    }
}

/// What follows when a person says no.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnRejection {
    /// A call is left out, and the run goes on without it. A no to a plan or to a step of their own ends the run.
    #[default]
    Skip,
    /// The run ends.
    Stop,
    /// The run goes back to PLAN with the reason, while replans remain.
    Replan,
}

/// What follows when no answer came in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExpiry {
    /// It counts as a no: `on_rejection` says what follows.
    #[default]
    Reject,
    /// The run ends as `EXPIRED`.
    Stop,
}
