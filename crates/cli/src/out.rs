//! Writing to stdout and stderr. A reader that has gone away is no error and never a panic.

use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use super::failure::{Failure, Outcome};
use super::text;

/// Whether anything was printed.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Whether stdout holds something already.
pub fn has_printed() -> bool {
    PRINTED.load(Ordering::Relaxed)
}

/// Writes a text to stdout, as it is.
pub fn print(text: &str) -> Outcome<()> {
    PRINTED.store(true, Ordering::Relaxed);
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::caused("stdout cannot be written", error))
        }
        _ => Ok(()),
    }
}

/// Writes lines to stdout. On a terminal control characters are shown by their numbers, so `lines` must
/// not hold any that are meant.
pub fn print_text(lines: &str) -> Outcome<()> {
    let mut text = match std::io::stdout().is_terminal() {
        true => text::clean(lines),
        false => lines.to_owned(),
    };
    text.push('\n');
    print(&text)
}

/// Writes a JSON value to stdout, readable.
pub fn print_json(value: &impl serde::Serialize) -> Outcome<()> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::caused("the result cannot be written as JSON", error))?;
    text.push('\n');
    print(&text)
}

/// Writes a line to stderr. Where that cannot be written there is nobody to tell.
pub fn complain(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
