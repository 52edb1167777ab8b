//! Stream: a run on a thread of its own, seen from outside as an iterator.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::agent::Agent;
use super::deadline::CancelToken;
use super::progress::{Progress, Reporter};
use super::run::Run;
use super::stopped::Stopped;
use crate::machine::Input;

/// How many items may wait to be taken. A run that is further ahead waits.
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

impl Agent {
    /// Runs a question on a thread of its own and hands out what happens while it does. The last
    /// item is what came of it; dropping the stream stops the run.
    ///
    /// ```
    /// use planwright::prelude::*;
    /// use planwright_docs::Calc;
    /// use planwright_offline::Offline;
    ///
    /// let spec = planwright::agents::shipped("validated").unwrap().with_tools(|tool| tool.name == "calc");
    /// let agent = Agent::builder(spec).model(Offline::new()).tool(Calc::new()).build()?;
    /// for item in agent.stream("12/4+9?") {
    ///     match item {
    ///         Streamed::Progress(progress) => println!("{}", serde_json::to_string(&progress)?),
    ///         Streamed::Ended(run) => assert_eq!(run?.error(), None),
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stream(&self, question: impl Into<String>) -> Stream {
        self.stream_of(self.input(question))
    }

    /// Runs an input on a thread of its own, as [`stream`](Agent::stream) does a question.
    pub fn stream_of(&self, input: Input) -> Stream {
        Stream::begin(self.clone(), input)
    }
}

impl Stream {
    fn begin(agent: Agent, input: Input) -> Self {
        let (sender, receiver) = sync_channel(ROOM);
        let cancel = CancelToken::new();
        let (token, backup) = (cancel.clone(), sender.clone());
        let spawned = std::thread::Builder::new()
            .name("planwright stream".to_owned())
            .spawn(move || run_and_send(&agent, input, &sender, &token));
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

fn run_and_send(agent: &Agent, input: Input, sender: &SyncSender<Streamed>, token: &CancelToken) {
    let reporter = Reporter::new(|progress| {
        if sender.send(Streamed::Progress(progress)).is_err() {
            token.cancel();
        }
    });
    let result = agent.job(input).observer(&reporter).cancel(token.clone()).run();
    // A receiver that is gone misses nothing.
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
