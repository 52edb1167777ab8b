//! Watching a run: the screen always, and beside it either the answer as it is written (on a terminal) or
//! everything as JSON lines (`--events`), both on stdout.

use std::cell::{Cell, RefCell};
use std::io::IsTerminal;

use crate::screen::Screen;
use crate::{out, text};
use planwright::driver::{Progress, Reporter, Run, Stopped};
use planwright::ports::{Observer, Signal};
use planwright::prompt::RequestBody;
use planwright_app::Result;

/// The watcher of a run.
pub struct Watch<'a> {
    pub screen: &'a Screen,
    live: bool,
    events: Option<Reporter<fn(Progress)>>,
    /// What of the answer is on stdout already.
    printed: RefCell<String>,
    /// Whether the line on stdout is unfinished.
    open: Cell<bool>,
}

impl<'a> Watch<'a> {
    /// For an answer as text: it is shown as it is written where stdout is a terminal.
    pub fn answer(screen: &'a Screen) -> Self {
        Watch { live: std::io::stdout().is_terminal(), ..Watch::quietly(screen) }
    }

    /// For JSON lines.
    pub fn events(screen: &'a Screen) -> Self {
        Watch { events: Some(Reporter::new(print_event)), ..Watch::quietly(screen) }
    }

    /// For a result that is printed at the end.
    pub fn quietly(screen: &'a Screen) -> Self {
        Watch { screen, live: false, events: None, printed: RefCell::default(), open: Cell::new(false) }
    }

    /// Whether stdout is for JSON lines.
    pub fn has_events(&self) -> bool {
        self.events.is_some()
    }

    /// Ends the JSON lines with what came of the run.
    pub fn ended(&self, result: &Result<Run, Stopped>) {
        self.end_line();
        if self.has_events() {
            print_event(Progress::ended(result));
        }
    }

    /// Prints the answer, unless it stands there already.
    pub fn print_answer(&self, answer: &str) -> Result<()> {
        self.end_line();
        if self.has_events() || (!answer.is_empty() && self.printed.borrow().trim() == answer.trim()) {
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

fn print_event(progress: Progress) {
    if let Ok(line) = serde_json::to_string(&progress) {
        // A reader that has gone away is printed nothing more.
        let _ = out::print(&(line + "\n"));
    }
}

impl Observer for Watch<'_> {
    fn notice(&self, signal: Signal<'_>) {
        if let (Signal::Token(piece), true) = (&signal, self.live) {
            return self.token(piece);
        }
        self.end_line();
        if let Signal::Asked { request: RequestBody::Model { .. }, .. } = signal {
            self.printed.borrow_mut().clear();
        }
        self.screen.notice(signal);
        if let Some(reporter) = &self.events {
            reporter.notice(signal);
        }
    }

    fn wants_tokens(&self) -> bool {
        self.live || self.has_events()
    }
}
