//! The rules.

mod event;
mod state;
mod trace;

pub use event::*;
pub use state::*;
pub use trace::{Steps, TraceLine};

/// What the result of a `final_answer` step says: it is recorded, never called.
pub const FINAL_STEP_OUTPUT: &str = "(final step - no tool execution)";
