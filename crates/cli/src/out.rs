//! Writing to stdout and stderr. A reader that has gone away is no error and never a panic.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::style::{Look, Style};
use crate::text;
use planwright_app::{Error, Result};

/// Whether anything was printed.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Whether stdout holds something already.
pub fn has_printed() -> bool {
    PRINTED.load(Ordering::Relaxed)
}

/// Writes a text to stdout, as it is.
pub fn print(text: &str) -> Result<()> {
    PRINTED.store(true, Ordering::Relaxed);
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::caused("stdout cannot be written", error))
        }
        _ => Ok(()),
    }
}

/// Writes lines to stdout, as they are.
pub fn print_lines(lines: &[String]) -> Result<()> {
    print(&(lines.join("\n") + "\n"))
}

/// Writes lines to stdout. On a terminal control characters are shown by their numbers, so `lines` must
/// not hold any that are meant.
pub fn print_text(lines: &str) -> Result<()> {
    let mut text = match std::io::stdout().is_terminal() {
        true => text::clean(lines),
        false => lines.to_owned(),
    };
    text.push('\n');
    print(&text)
}

/// Writes a JSON value to stdout, readable.
pub fn print_json(value: &impl serde::Serialize) -> Result<()> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| Error::caused("the result cannot be written as JSON", error))?;
    text.push('\n');
    print(&text)
}

/// Writes a line to stderr. A stderr that cannot be written is ignored.
pub fn complain(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Writes a remark of the program to stderr, on one line.
pub fn remark(remark: &str) {
    complain(&format!("planwright: {}", text::line(remark)));
}

/// Writes an error to stderr: what is wrong, why, and what to do about it.
pub fn complain_of(error: &Error, style: Style) {
    let paint = |look, line: &str| complain(&style.paint(look, &text::clean(line)));
    paint(Look::Bad, &format!("planwright: error: {}", error.message()));
    error.causes().iter().for_each(|cause| paint(Look::Dim, &format!("  caused by: {cause}")));
    error.advice().into_iter().for_each(|hint| paint(Look::Dim, &format!("  hint: {hint}")));
}
