//! Threads of planwright as virtual objects of Restate, a durable execution engine that places runs on workers, starts
//! them again after a crash and wakes them when time has passed.
//!
//! A [`Worker`] is what Restate calls. It has an agent and a [`Store`](planwright::journal::Store) beside Restate, which
//! all workers share: the journal of every run is in it, as if a driver had written it, so a thread is listed, shown,
//! replayed, exported and forked there by the same commands.
//!
//! A thread is a virtual object of the service `planwright`, under its name. What happens to it from outside is one
//! invocation each:
//!
//! | handler | input | what it does |
//! | --- | --- | --- |
//! | `ask` | [`Ask`] | begins a turn |
//! | `answer` | [`Answer`] | answers the open question |
//! | `resolve` | [`Resolve`] | says what became of a write in doubt |
//! | `resume` | nothing | goes on with a run that got no answer |
//! | `cancel` | [`Cancel`] | ends the run, also while another handler performs it |
//!
//! Each gives a [`Report`] but `cancel`, which does not wait. What does not fit is an error with the status 409.
//!
//! ```no_run
//! use planwright::driver::{Agent, Threads};
//! use planwright_restate::Worker;
//!
//! # fn work(agent: Agent, threads: Threads) -> Result<(), Box<dyn std::error::Error>> {
//! Worker::new(agent, threads).listen("127.0.0.1:9080".parse()?)?;
//! # Ok(())
//! # }
//! ```
//!
//! **Invariant:** between two effects nothing reads a clock, draws a number or depends on the machine that it runs on.
//! All that does is kept by Restate, so that another worker comes to the same records.

mod effects;
mod keep;
mod messages;
mod object;
mod turn;
mod worker;

pub use messages::{Answer, Ask, Cancel, Report, Resolve};
pub use worker::Worker;
