//! What is about the answers of people is read where people are asked.

use super::refuse::{Checked, refuse};
use crate::spec::{OnExpiry, OnRejection, Spec};

pub(super) fn check_people(spec: &Spec) -> Checked {
    let policy = &spec.policy;
    if spec.limits.answer_seconds == Some(0) {
        return refuse("limits.answer_seconds", "expected at least 1, found 0");
    }
    let chosen = [
        ("policy.on_rejection", policy.on_rejection != OnRejection::default()),
        ("policy.on_expiry", policy.on_expiry != OnExpiry::default()),
        ("limits.answer_seconds", spec.limits.answer_seconds.is_some()),
    ];
    match chosen.into_iter().find(|(_, chosen)| *chosen) {
        Some((field, _)) if policy.approval.is_never() => {
            refuse(field, "never read: nobody is asked under `approval = \"never\"`")
        }
        _ => Ok(()),
    }
}
