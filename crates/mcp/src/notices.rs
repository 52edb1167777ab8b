//! What is noted of a server beside its answers.

use std::sync::atomic::{AtomicBool, AtomicUsize};

/// What a server has let its client know.
#[derive(Default)]
pub(crate) struct Notices {
    /// How often it said that it lists other tools than before.
    pub tool_changes: AtomicUsize,
    /// How many of its messages were dropped because they were too large.
    pub dropped: AtomicUsize,
    /// It has forgotten the session.
    pub has_forgotten: AtomicBool,
}
