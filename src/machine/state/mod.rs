//! What a run knows: the phase with its stage, the task's memory, the steps of its plan and which of
//! them may start, and what people ask of all that.

mod authority;
mod granted;
mod granting;
mod input;
mod labels;
mod phase;
mod picks;
mod schedule;
mod step_run;
mod steps;
mod task;
mod uncalled;
mod view;
mod writes;

pub(crate) use authority::literal_template;
pub(crate) use granted::{Granted, granted_input};
pub use input::{Finding, Input, Speaker, Turn};
pub use phase::{Asking, ExecuteStage, Phase, PlanStage, Repair, Writing};
pub(crate) use step_run::{FAILURE_KINDS, MOST_COUNTED, REJECTED};
pub use step_run::{StepFailure, StepOutput, StepRun};
pub use steps::Progress;
pub use task::{Artifacts, Decided, Draft, Feedback, State, Task};
pub(crate) use uncalled::result_without_call;
pub use view::{PlanView, StepRecord};
pub(crate) use view::{explored, known_by};
pub(crate) use writes::write_key;
