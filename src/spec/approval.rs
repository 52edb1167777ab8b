//! Where a person is asked, and what follows when they say nothing or no.

use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Where a person is asked: one place by name, several as a list of names, or `never`.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Before anything of a plan runs, and nowhere else.
    pub const PLAN: Approval = Approval { plan: true, ..Approval::NEVER };
    /// Before the calls that need it, and nowhere else.
    pub const RISKY: Approval = Approval { risky: true, ..Approval::NEVER };
    /// Where a plan has a `hitl` step, and nowhere else.
    pub const STEPS: Approval = Approval { steps: true, ..Approval::NEVER };
    /// Wherever a person can be asked.
    pub const ALL: Approval = Approval { plan: true, risky: true, steps: true };

    /// Whether nobody is ever asked.
    pub fn is_never(self) -> bool {
        self == Approval::NEVER
    }

    fn names(self) -> impl Iterator<Item = &'static str> {
        let all = [("plan", self.plan), ("risky", self.risky), ("steps", self.steps)];
        all.into_iter().filter_map(|(name, asked)| asked.then_some(name))
    }

    fn name<E: de::Error>(&mut self, name: &str) -> Result<(), E> {
        let place = match name {
            "plan" => &mut self.plan,
            "risky" => &mut self.risky,
            "steps" => &mut self.steps,
            other => {
                let problem =
                    format!("expected `plan`, `risky` or `steps`, or `never` alone, found {other:?}");
                return Err(E::custom(problem));
            }
        };
        match std::mem::replace(place, true) {
            false => Ok(()),
            true => Err(E::custom(format!("{name:?} is named twice"))),
        }
    }
}

impl Serialize for Approval {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        let mut names = self.names();
        match (names.next(), names.next()) {
            (None, _) => sink.serialize_str("never"),
            (Some(one), None) => sink.serialize_str(one),
            _ => sink.collect_seq(self.names()),
        }
    }
}

impl<'de> Deserialize<'de> for Approval {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(Names)
    }
}

struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = Approval;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`never`, or one name or a list of names of `plan`, `risky` and `steps`")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Approval, E> {
        let mut approval = Approval::NEVER;
        if name != "never" {
            approval.name(name)?;
        }
        Ok(approval)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Approval, A::Error> {
        let mut approval = Approval::NEVER;
        while let Some(name) = names.next_element::<String>()? {
            approval.name(&name)?;
        }
        match approval.is_never() {
            true => Err(de::Error::custom("expected at least one name, found an empty list")),
            false => Ok(approval),
        }
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

/// What follows when nobody answered in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExpiry {
    /// It counts as a no: `on_rejection` says what follows.
    #[default]
    Reject,
    /// The run ends as `EXPIRED`.
    Stop,
}
