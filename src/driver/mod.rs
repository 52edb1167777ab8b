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
mod drive;
mod human_input;
mod job;
mod live;
mod person;
mod prepare;
mod progress;
mod prune;
mod record;
mod recorder;
mod redact;
mod replay;
mod resume;
mod run;
mod show;
mod stop;
mod stream;
mod thread;
mod threads;
mod tokens;
mod workers;

pub use agent::Agent;
pub use approval::{Settlement, token};
pub use builder::AgentBuilder;
pub use cache::Cached;
pub use clock::{Clock, Sleeper, SystemClock, now, time_for};
pub use job::Job;
pub use progress::{Progress, ProgressKind, Reporter};
pub use prune::Prune;
pub use record::RecordMode;
pub use redact::{Redactor, redact};
pub use resume::{Changed, Resume, open_question};
pub use run::{Interrupted, Run, Stopped, Waiting};
pub use stop::CancelToken;
pub use stream::{Stream, Streamed};
pub use thread::{MAX_HISTORY_BYTES, MAX_MESSAGE_BYTES, MAX_TURNS, Thread};
pub use threads::{ThreadHandle, Threads, history};
