//! The checks of a spec: what contradicts, and what is out of range, a file for each subject. Each
//! refusal names the field and says why; one that is about two fields names both. A limit that
//! nothing reads is refused if it was set: if it is neither its default nor zero, which says the same
//! as the policy.

mod limits;
mod names;
mod people;
mod plan;
mod refuse;
mod replans;
mod required;
mod roles;
mod steps;
mod write;

pub(super) use required::most_steps;
pub(super) use roles::check_role;

use self::refuse::{Checked, refuse};
use super::Spec;

pub(super) fn check_spec(spec: &Spec) -> Checked {
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
