//! Stream: a run on a thread of its own, seen from outside as an iterator.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::agent::Agent;
use super::progress::{Progress, Reporter};
use super::run::{Run, Stopped};
use super::stop::CancelToken;
use crate::machine::Input;

/// How much may have happened that nobody has taken yet. A run that is further ahead waits.
const ROOM: usize = 256;

/// One item of a [`Stream`].
#[derive(Debug)]
pub enum Streamed {
    /// Something happened.
    Progress(Progress),
    /// What came of the run. Nothing follows.
    Ended(Result<Run, Stopped>),
}

/// What happens in a run, while it happens. Dropping it stops the run at its next answer.
///
/// The items before the last are those that a [`Reporter`] hands on and, as the last of them,
/// [`Progress::ended`].
#[derive(Debug)]
pub struct Stream {
    receiver: Receiver<Streamed>,
    cancel: CancelToken,
    thread: Option<JoinHandle<()>>,
}

impl Stream {
    pub(super) fn begin(agent: Agent, input: Input) -> Self {
        let (sender, receiver) = sync_channel(ROOM);
        let cancel = CancelToken::new();
        let (token, backup) = (cancel.clone(), sender.clone());
        let spawned = std::thread::Builder::new()
            .name("planwright stream".to_owned())
            .spawn(move || follow(&agent, input, &sender, &token));
        let thread = match spawned {
            Ok(thread) => Some(thread),
            Err(error) => {
                let problem = format!("no thread for the run: {error}");
                // The channel is empty, so this finds room.
                let _ = backup.try_send(Streamed::Ended(Err(Stopped::Incomplete(problem))));
                None
            }
        };
        Stream { receiver, cancel, thread }
    }

    /// What stops the run without dropping the stream: the rest can still be seen.
    pub fn cancel_token(&self) -> CancelToken {
        self.cancel.clone()
    }
}

fn follow(agent: &Agent, input: Input, sender: &SyncSender<Streamed>, token: &CancelToken) {
    let reporter = Reporter::new(|progress| {
        if sender.send(Streamed::Progress(progress)).is_err() {
            token.cancel();
        }
    });
    let result = agent.job(input).observer(&reporter).cancel(token.clone()).run();
    // Where nobody listens any more, nobody misses it.
    let _ = sender.send(Streamed::Progress(Progress::ended(&result)));
    let _ = sender.send(Streamed::Ended(result));
}

impl Iterator for Stream {
    type Item = Streamed;

    /// The next thing that happens; waits for it.
    ///
    /// # Panics
    /// Where a port of the agent's panicked in the run: the panic is passed on.
    fn next(&mut self) -> Option<Streamed> {
        let item = self.receiver.recv();
        if item.is_err()
            && let Some(thread) = self.thread.take()
            && let Err(panic) = thread.join()
        {
            std::panic::resume_unwind(panic);
        }
        item.ok()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
