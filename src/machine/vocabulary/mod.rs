//! The words of a run: what may happen to it, what it asks of the world, what ties the two together,
//! and the lines it leaves behind. Nothing here names the rest of the machine.

mod effect;
mod effect_id;
mod event;
mod phase_name;
mod refusal;
mod trace;
mod usage;

pub use effect::Effect;
pub use effect_id::{EffectId, EffectKind, Place};
pub use event::{Event, FailureClass, HumanAnswer, ModelFailure, ModelReply, ToolOutcome};
pub use phase_name::{ErrorCode, Failure, PhaseName, RunError, WriteReason};
pub use refusal::Refusal;
pub use trace::{Concern, NestedTrace, Steps, TraceLine};
pub use usage::{Counters, Usage};
