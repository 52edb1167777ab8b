//! How a check refuses.

use crate::spec::SpecError;

/// Most replans, repairs, iterations, added steps or tries a run may be allowed.
pub(super) const MAX_TRIES: u32 = 1_000;
pub(super) const NOTHING_REPLANS: &str =
    "nothing in this policy replans (`validate` is \"off\" and `on_step_failure` is not \"replan\")";
pub(super) const ZERO: &str = "expected at least 1, found 0";

pub(super) type Checked = Result<(), SpecError>;

pub(super) fn refuse(field: impl Into<String>, problem: impl Into<String>) -> Checked {
    Err(SpecError::at(field, problem))
}

/// Refuses a field by the first row that is true.
pub(super) fn refuse_if(field: &str, rows: &[(bool, &str)]) -> Checked {
    match rows.iter().find(|(wrong, _)| *wrong) {
        Some((_, problem)) => refuse(field, *problem),
        None => Ok(()),
    }
}
