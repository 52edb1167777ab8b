//! The line that a person types: edited in place, in the chat with the earlier ones at hand.

use std::io::{BufRead, IsTerminal, Read, Write};

use rustyline::config::{Behavior, Builder};
use rustyline::error::ReadlineError;
use rustyline::{
    Cmd, ConditionalEventHandler, DefaultEditor, Event, EventContext, EventHandler, KeyEvent, Movement,
};

use crate::out::is_screen;
use planwright_app::{Error, Result};

/// What came of a prompt.
pub enum Typed {
    Line(String),
    /// Ctrl-C, where nothing was typed.
    Interrupted,
    End,
}

/// Longest line that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Whether a person types on stdin and sees what is asked on stderr.
pub fn is_typed() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Reads a line without its end; `None` at the end, or where Ctrl-C is typed instead of one.
pub fn read_line(prompt: &str) -> Result<Option<String>> {
    Ok(match LineEditor::new().read(prompt)? {
        Typed::Line(line) => Some(line),
        Typed::Interrupted | Typed::End => None,
    })
}

/// Reads the next line of stdin as it is. Only a person who types sees the prompt.
fn read_plain(prompt: &str) -> Result<Option<String>> {
    if is_typed() {
        let mut stderr = std::io::stderr().lock();
        // Where the prompt cannot be written, the line can still be read.
        let _ = write!(stderr, "{prompt}").and_then(|()| stderr.flush());
    }
    let (mut bytes, unread) = (Vec::new(), "stdin cannot be read");
    let count = std::io::stdin().lock().take(MAX_BYTES + 1).read_until(b'\n', &mut bytes);
    // The end of what is too long may be amid a letter.
    let count = count.map_err(|error| Error::caused(unread, error))?;
    if count as u64 > MAX_BYTES {
        return Err(Error::unusable(format!("a line on stdin is longer than {MAX_BYTES} bytes")));
    }
    let line = String::from_utf8(bytes).map_err(|error| Error::caused(unread, error))?;
    Ok((count > 0).then(|| line.trim().to_owned()))
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
            return Ok(read_plain(prompt)?.map_or(Typed::End, Typed::Line));
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
