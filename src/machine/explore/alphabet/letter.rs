//! The letters of the alphabet.

use crate::machine::{Event, ModelReply};

/// One kind of event, by name.
#[derive(Clone, Debug)]
pub struct Letter {
    pub name: String,
    pub event: Event,
    /// Whether it answers something outstanding, or may come at any time.
    pub fits: bool,
    /// Whether it fits only where the budgets leave room for it.
    pub needs_room: bool,
}

/// A letter that fits, or does not, whatever the budgets.
pub(super) fn letter(name: impl Into<String>, event: Event, fits: bool) -> Letter {
    Letter { name: name.into(), event, fits, needs_room: false }
}

/// Kinds of replies, by name.
pub(super) type Replies = Vec<(String, ModelReply)>;

/// A reply that is text.
pub(super) fn text(name: &str, reply: impl Into<String>) -> (String, ModelReply) {
    (name.into(), ModelReply::text(reply))
}
