//! The line that a person types in the chat: edited in place, with the earlier ones at hand.

use rustyline::config::{Behavior, Builder};
use rustyline::error::ReadlineError;
use rustyline::{
    Cmd, ConditionalEventHandler, DefaultEditor, Event, EventContext, EventHandler, KeyEvent, Movement,
};

use crate::out::is_screen;
use crate::person::{is_typed, read_line};
use planwright_app::{Error, Result};

/// What came of a prompt.
pub enum Typed {
    Line(String),
    /// Ctrl-C, where nothing was typed.
    Interrupted,
    End,
}

/// Reads the lines of a chat. Lines that nobody types are read as they are.
pub struct LineEditor(Option<DefaultEditor>);

impl LineEditor {
    pub fn new() -> Self {
        // The terminal itself: stdout is for answers, and may be a file. The history lasts as long as the chat.
        let config = Builder::new().behavior(Behavior::PreferTerm).auto_add_history(true).build();
        let editor = || DefaultEditor::with_config(config).ok();
        let mut editor =
            Some(()).filter(|()| is_typed() && is_screen(&std::io::stderr())).and_then(|()| editor());
        if let Some(editor) = &mut editor {
            editor.bind_sequence(KeyEvent::ctrl('C'), EventHandler::Conditional(Box::new(ClearLine)));
        }
        LineEditor(editor)
    }

    /// Has a line at hand as if it had been typed.
    pub fn remember(&mut self, line: &str) {
        // One that is not taken is missed by nobody.
        self.0.iter_mut().for_each(|editor| drop(editor.add_history_entry(line)));
    }

    pub fn read(&mut self, prompt: &str) -> Result<Typed> {
        let Some(editor) = &mut self.0 else {
            return Ok(read_line(prompt)?.map_or(Typed::End, Typed::Line));
        };
        match editor.readline(prompt) {
            Ok(line) => Ok(Typed::Line(line.trim().to_owned())),
            Err(ReadlineError::Interrupted) => Ok(Typed::Interrupted),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(Error::caused("the terminal cannot be read", error)),
        }
    }
}

/// Takes away what is typed, if anything is.
struct ClearLine;

impl ConditionalEventHandler for ClearLine {
    fn handle(&self, _: &Event, _: u16, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        (!context.line().is_empty()).then_some(Cmd::Kill(Movement::WholeBuffer))
    }
}
