//! The phases by name, and why a run may write.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PhaseName {
    /// A plan is made.
    Plan,
    /// The steps of an accepted plan run.
    Execute,
    /// The results are judged.
    Validate,
    /// The answer is written.
    Write,
    /// There is an answer. Nothing more happens.
    Done,
    /// The run ended without one. Nothing more happens.
    Error,
}

impl PhaseName {
    /// Whether nothing follows this phase.
    pub fn is_terminal(self) -> bool {
        matches!(self, PhaseName::Done | PhaseName::Error)
    }
}

impl fmt::Display for PhaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Why a run may enter WRITE. There is no other way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteReason {
    /// The validator accepted.
    Accepted,
    /// The policy has no validator.
    ValidationOff,
    /// The replans or the iterations are used up and the policy says to answer with what there is.
    Exhausted,
    /// No tool is needed, or no further one.
    NoToolNeeded,
    /// The written answer is judged, and not what was collected.
    JudgedAfterwards,
}
