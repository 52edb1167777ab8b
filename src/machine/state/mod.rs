//! What a run knows: the phase with its stage, the task's memory, the steps of its plan and which of
//! them may start, and what people ask of all that.

mod counters;
mod input;
mod phase;
mod run_state;
mod schedule;
mod steps;
mod task;
mod view;

pub use counters::Counters;
pub use input::{Finding, Input, Speaker, Turn};
pub use phase::{Asking, ExecuteStage, Phase, PlanStage, Repair, Writing};
pub use run_state::State;
pub use steps::{NestedRun, Progress, Schedule, StepFailure, StepOutput, StepRun};
pub use task::{Artifacts, Decided, Draft, Feedback, Task, Understanding};
pub use view::{
    PastStep, PlanView, StepView, collected_info, decision_log, explored, known_by, past_steps, result,
    waits_for_a_person,
};
