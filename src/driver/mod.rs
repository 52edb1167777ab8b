//! The driver: performs what the machine asks for, and writes down what was asked and answered.
//!
//! One loop serves run, resume, record and replay: they differ only in where answers come from and
//! where records go. It runs on the caller's thread; steps that run side by side get threads of
//! their own, bounded by the policy's width, and so does a tool call with a time-out, which is left
//! behind when its time is up. Inside an async runtime, call it in a blocking task.
//!
//! **Invariant:** nothing in this folder decides what happens next. Whether to try again, go back
//! or stop is the machine's.

mod agent;
mod approval;
mod builder;
mod cache;
mod clock;
mod deadline;
mod drive;
mod environment;
mod human_input;
mod job;
mod progress;
mod record;
mod recorder;
mod redact;
mod replay;
mod resume;
mod run;
mod signals;
mod stopped;
mod stream;
mod threads;
mod workers;

pub use agent::Agent;
pub use approval::Resolution;
pub use builder::AgentBuilder;
pub use cache::Cached;
pub use clock::{Clock, Sleeper};
pub use deadline::CancelToken;
pub use job::Job;
pub use progress::{Progress, ProgressKind, Reporter};
pub use record::RecordMode;
pub use resume::{Changed, Resume};
pub use run::{Run, Waiting};
pub use stopped::{Interrupted, Stopped};
pub use stream::{Stream, Streamed};
pub use threads::{Prune, Thread, ThreadHandle, Threads};

// What the crates around the engine and the tests stand on; not for programs that run agents.
#[doc(hidden)]
pub use approval::{open_question, token};
#[doc(hidden)]
pub use clock::{SystemClock, now, time_for};
#[doc(hidden)]
pub use redact::{Redactor, redact};
#[doc(hidden)]
pub use threads::{MAX_HISTORY_BYTES, MAX_MESSAGE_BYTES, MAX_TURNS, history};
