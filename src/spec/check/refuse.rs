//! How a check refuses.

use crate::spec::SpecError;

pub(super) type Checked = Result<(), SpecError>;

pub(super) fn refuse(field: impl Into<String>, problem: impl Into<String>) -> Checked {
    Err(SpecError::at(field, problem))
}

/// Most replans, repairs, iterations, added steps or tries a run may be allowed.
pub(super) const MAX_TRIES: u32 = 1_000;
