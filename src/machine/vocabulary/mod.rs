//! The words of a run: what may happen to it, what it asks of the world, and the lines it leaves behind.
//! Nothing here names the rest of the machine.

mod effect;
mod event;
mod outcome;
mod trace;
mod usage;

pub use effect::{Answerer, Effect, EffectId, EffectKind, Path, Place};
pub use event::{AllowedCall, Event, FailureClass, HumanAnswer, ModelFailure, ModelReply, ToolOutcome};
pub use outcome::{Denial, ErrorCode, Failure, PhaseName, Refusal, RunError, WriteReason};
pub use trace::{Concern, GrantedBy, NestedTrace, Steps, TraceLine};
pub use usage::{Counters, Usage};
