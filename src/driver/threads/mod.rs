//! Threads that outlive their process: conversations in a store, begun, gone on with, answered, forked and
//! ended under one lease each.

mod conversation;
mod fork;
mod handle;
mod history;
mod leased_thread;
mod prune;
mod stored;

pub use conversation::Thread;
pub use handle::ThreadHandle;
pub use history::{MAX_HISTORY_BYTES, MAX_MESSAGE_BYTES, MAX_TURNS, history};
pub use prune::Prune;
pub use stored::Threads;
