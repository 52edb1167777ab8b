//! What a server says for its operators: its standard error and its log notifications. It goes to the process's log,
//! and the last of it into the error that tells of the server's end. None of it goes to the terminal by itself.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use planwright::contract::{excerpt, sanitize};
use planwright::driver::{Redactor, redact};
use planwright::ports::Secret;
use tracing::Dispatch;

/// Most characters of a line.
pub(crate) const MAX_LINE: usize = 1_000;
/// How many lines are kept for errors.
const KEPT: usize = 5;
/// How many lines are logged in a minute; of more only their number is.
const MOST_A_MINUTE: u32 = 200;

pub(crate) struct Log {
    server: String,
    secrets: Vec<Secret>,
    /// The log of the thread that opened the server. On the server's own thread nothing is logged.
    dispatch: Dispatch,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: VecDeque<String>,
    minute: Option<Instant>,
    lines: u32,
}

impl Log {
    pub fn new(server: &str, secrets: Vec<Secret>) -> Self {
        let dispatch = tracing::dispatcher::get_default(Dispatch::clone);
        Log { server: server.to_owned(), secrets, dispatch, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A text of the server as it may be shown: without keys, on one line, of bounded length.
    pub fn clean(&self, text: &str) -> String {
        let text = redact(text.trim(), &self.secrets);
        excerpt(&sanitize(&text), MAX_LINE).replace(['\n', '\t'], " ")
    }

    /// Whether a text holds a key.
    pub fn finds_key(&self, text: &str) -> bool {
        Redactor::new(self.secrets.iter().cloned()).finds(text)
    }

    /// Takes a line.
    pub fn add(&self, line: &str) {
        let line = self.clean(line);
        if line.is_empty() {
            return;
        }
        let mut state = self.state();
        if state.minute.is_none_or(|begun| begun.elapsed() > Duration::from_secs(60)) {
            let unlogged = state.lines.saturating_sub(MOST_A_MINUTE);
            (state.minute, state.lines) = (Some(Instant::now()), 0);
            if unlogged > 0 {
                self.write(&format!("{unlogged} lines more, which are not logged"));
            }
        }
        state.lines = state.lines.saturating_add(1);
        if state.lines <= MOST_A_MINUTE {
            self.write(&line);
        }
        state.last.push_back(line);
        if state.last.len() > KEPT {
            state.last.pop_front();
        }
    }

    fn write(&self, line: &str) {
        tracing::dispatcher::with_default(&self.dispatch, || {
            tracing::debug!(mcp_server = self.server, line, "mcp server");
        });
    }

    /// What the server said last, for the end of an error.
    pub fn last_words(&self) -> String {
        let last = self.state().last.iter().map(String::as_str).collect::<Vec<_>>().join("; ");
        if last.is_empty() { last } else { format!("; it said last: {last}") }
    }
}
