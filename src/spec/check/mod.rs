//! The checks of a spec: what contradicts, and what is out of range, a file for each subject. Each
//! refusal names the field and says why; one that is about two fields names both. A limit that
//! nothing reads is refused where somebody wrote it: where it is neither its default nor zero, which
//! says the same as the policy.

mod limits;
mod names;
mod people;
mod plan;
mod prices;
mod replans;
mod required;
mod roles;
mod steps;
mod write;

pub(super) use prices::check_prices;
pub(super) use required::most_steps;
pub(super) use roles::check_role;

use super::{Spec, SpecError};

type Checked = Result<(), SpecError>;

fn refuse(field: impl Into<String>, problem: impl Into<String>) -> Checked {
    Err(SpecError::at(field, problem))
}

/// Most replans, repairs, iterations, added steps or tries a run may be allowed.
const MAX_TRIES: u32 = 1_000;

pub(super) fn check(spec: &Spec) -> Checked {
    if spec.name.trim().is_empty() {
        return refuse("name", "expected a name, found nothing");
    }
    plan::check_plan(spec)?;
    plan::check_planner(spec)?;
    steps::check_steps(spec)?;
    required::check_required_calls(spec)?;
    people::check_people(spec)?;
    replans::check_replans(spec)?;
    write::check_write(spec)?;
    roles::check_intake(spec)?;
    roles::check_roles(spec)?;
    limits::check_limits(spec)?;
    names::check_names(spec)
}
