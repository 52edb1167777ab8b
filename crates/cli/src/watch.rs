//! Watching a run: the screen always, and beside it either the answer as it is written (on a terminal) or
//! everything as JSON lines (`--events`), both on stdout.

use std::cell::{Cell, RefCell};
use std::io::IsTerminal;

use crate::screen::Screen;
use crate::{out, text};
use planwright::driver::{Progress, Run, Stopped};
use planwright::ports::{Observer, Signal};
use planwright::prompt::RequestBody;
use planwright_app::Result;

/// What stdout is for while a run goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stdout {
    /// The answer, as it is written where stdout is a terminal.
    Answer,
    Events,
    /// A result that is printed at the end.
    Result,
}

/// The watcher of a run.
pub struct Watch<'a> {
    screen: &'a Screen,
    is_live: bool,
    has_events: bool,
    /// What of the answer is on stdout already.
    printed: RefCell<String>,
    /// Whether the line on stdout is unfinished.
    open: Cell<bool>,
}

impl<'a> Watch<'a> {
    pub fn new(screen: &'a Screen, stdout: Stdout) -> Self {
        let is_live = stdout == Stdout::Answer && std::io::stdout().is_terminal();
        let has_events = stdout == Stdout::Events;
        Watch { screen, is_live, has_events, printed: RefCell::default(), open: Cell::new(false) }
    }

    /// Ends the JSON lines with what came of the run.
    pub fn ended(&self, result: &Result<Run, Stopped>) {
        self.end_line();
        if self.has_events {
            print_event(&Progress::ended(result));
        }
    }

    /// Prints the answer, unless it stands there already.
    pub fn print_answer(&self, answer: &str) -> Result<()> {
        self.end_line();
        if self.has_events || (!answer.is_empty() && self.printed.borrow().trim() == answer.trim()) {
            return Ok(());
        }
        out::print_text(answer)
    }

    fn token(&self, piece: &str) {
        self.screen.clear();
        self.printed.borrow_mut().push_str(piece);
        self.open.set(true);
        // The whole answer is printed at the end where this did not get through.
        if out::print(&text::clean(piece)).is_err() {
            self.printed.borrow_mut().clear();
        }
    }

    fn end_line(&self) {
        if self.open.replace(false) {
            let _ = out::print("\n");
        }
    }
}

fn print_event(progress: &Progress) {
    if let Ok(line) = serde_json::to_string(progress) {
        // A reader that has gone away is printed nothing more.
        let _ = out::print(&(line + "\n"));
    }
}

impl Observer for Watch<'_> {
    fn notice(&self, signal: Signal<'_>) {
        match signal {
            Signal::Token(piece) if self.is_live => return self.token(piece),
            Signal::Asked { request: RequestBody::Model { .. }, .. } => self.printed.borrow_mut().clear(),
            _ => {}
        }
        self.end_line();
        self.screen.notice(signal);
        Progress::of(&signal).iter().filter(|_| self.has_events).for_each(print_event);
    }

    fn wants_tokens(&self) -> bool {
        self.is_live || self.has_events
    }
}
