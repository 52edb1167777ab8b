//! The driver: performs what the machine asks for, and writes down what was asked and answered.
//!
//! One loop serves run, resume, record and replay: they differ only in where answers come from and where
//! records go. It runs on the caller's thread. Steps that run side by side get threads of their own, bounded
//! by the policy's width, and so does a tool call with a time-out, which is left behind when its time is up.
//! Inside an async runtime, call it in a blocking task.
//!
//! **Invariant:** nothing in this folder decides what happens next. Whether to try again, go back or stop is
//! the machine's decision.

mod agent;
mod cached;
mod drive;
mod environment;
mod human_input;
mod job;
mod left_behind;
mod progress;
mod recorder;
mod redact;
mod replay;
mod resume;
mod run;
mod stepped;
mod teller;
mod threads;
mod words;
mod workers;

pub use agent::{Agent, AgentBuilder};
pub use cached::Cached;
pub use environment::CancelToken;
pub use human_input::Resolution;
pub use job::{Job, RecordMode};
pub use progress::{Progress, ProgressKind, Stream};
pub use resume::{Changed, Resume};
pub use run::{Interrupted, Run, Stopped, Waiting};
pub use threads::{ThreadHandle, Threads};

// What the crates around the engine and the tests stand on; not for programs that run agents.
#[doc(hidden)]
pub use environment::{Clock, sleep, time_for};
#[doc(hidden)]
pub use human_input::{HumanInput, open_question, token};
#[doc(hidden)]
pub use redact::{MIN_SECRET_BYTES, Redactor, redact};
#[doc(hidden)]
pub use stepped::{NewTurn, Stepped, Task};
#[doc(hidden)]
pub use teller::{retell, retell_to};
#[doc(hidden)]
pub use threads::{
    AskedAt, MAX_HISTORY_BYTES, MAX_MESSAGE_BYTES, MAX_TURNS, find_asked, history, history_until,
};
