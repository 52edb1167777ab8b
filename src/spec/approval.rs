//! Where a person is asked, and what follows when they say no or nothing.

use serde::{Deserialize, Serialize};

/// Where a person is asked. Written as `never`, as the name of one place, or as a list of names.
///
/// ```
/// use planwright::spec::Approval;
///
/// let both: Approval = serde_json::from_str(r#"["risky", "plan"]"#)?;
/// assert_eq!(both, Approval { plan: true, risky: true, steps: false });
/// assert_eq!(serde_json::to_string(&both)?, r#"["plan","risky"]"#);
/// assert_eq!(serde_json::to_string(&Approval::STEPS)?, r#""steps""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
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
}

/// An [`Approval`] as it is written.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "`never`, or one name or a list of names of `plan`, `risky` and `steps`")]
enum ApprovalFile {
    One(String),
    Many(Vec<String>),
}

impl From<Approval> for ApprovalFile {
    fn from(approval: Approval) -> Self {
        let all = [("plan", approval.plan), ("risky", approval.risky), ("steps", approval.steps)];
        let mut names: Vec<String> =
            all.into_iter().filter(|(_, asked)| *asked).map(|(name, _)| name.to_owned()).collect();
        match names.len() {
            0 => ApprovalFile::One("never".to_owned()),
            1 => ApprovalFile::One(names.remove(0)),
            _ => ApprovalFile::Many(names),
        }
    }
}

impl TryFrom<ApprovalFile> for Approval {
    type Error = String;

    fn try_from(file: ApprovalFile) -> Result<Self, String> {
        let names = match file {
            ApprovalFile::One(name) if name == "never" => return Ok(Approval::NEVER),
            ApprovalFile::One(name) => vec![name],
            ApprovalFile::Many(names) => names,
        };
        if names.is_empty() {
            return Err("expected at least one name, found an empty list".to_owned());
        }
        let mut approval = Approval::NEVER;
        for name in names {
            let place = match name.as_str() {
                "plan" => &mut approval.plan,
                "risky" => &mut approval.risky,
                "steps" => &mut approval.steps,
                _ => {
                    return Err(format!(
                        "expected `plan`, `risky` or `steps`, or `never` alone, found {name:?}"
                    ));
                }
            };
            if std::mem::replace(place, true) {
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
    /// The run ends.
    #[default]
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
