//! Exit codes, and writing to stdout and stderr, in colour where it is wanted. A reader that has gone away is no
//! error and never a panic.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ColorChoice;
use clap::builder::styling::{AnsiColor, Style as Ansi};
use serde::Serialize;
use terminal_size::{Height, Width, terminal_size_of};

use crate::text;
use planwright::driver::Redactor;
use planwright::journal::whole::{check_writable, write_whole};
use planwright_app::{Class, Error, Result, known_keys};

/// How a command ended: `None` where all is well, else the class of what was shown already.
pub type Exit = Option<Class>;

/// The code, which `help/exit_codes.txt` explains. Scripts rely on them: a code is never given another meaning.
pub fn exit_code(exit: Exit) -> u8 {
    match exit {
        None => 0,
        Some(Class::Failed) => 1,
        Some(Class::Interrupted) => 3,
        Some(Class::InDoubt) => 4,
        Some(Class::Waiting) => 5,
        Some(Class::Conflict) => 6,
        Some(Class::Undecided) => 7,
        Some(Class::Cancelled) => 130,
        Some(_) => 2,
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Look {
    Heading,
    Good,
    Bad,
    Warn,
    Dim,
}

/// Whether texts stand out at all.
#[derive(Clone, Copy, Debug)]
pub struct Style(bool);

impl Style {
    /// By `--color`, `NO_COLOR`, and whether a terminal is there.
    pub fn of(color: ColorChoice, stream: &impl IsTerminal) -> Self {
        let refused = || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Style(match color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => !refused() && is_screen(stream),
        })
    }

    pub fn paint(self, look: Look, text: &str) -> String {
        if !self.0 || text.is_empty() {
            return text.to_owned();
        }
        let ansi = match look {
            Look::Heading => Ansi::new().bold(),
            Look::Good => AnsiColor::Green.on_default(),
            Look::Bad => AnsiColor::Red.on_default(),
            Look::Warn => AnsiColor::Yellow.on_default(),
            Look::Dim => Ansi::new().dimmed(),
        };
        format!("{ansi}{text}{ansi:#}")
    }
}

/// Whether a person looks at the stream through a terminal that can move its cursor.
pub fn is_screen(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

pub fn stdout_columns() -> Option<usize> {
    columns(terminal_size_of(std::io::stdout()))
}

pub fn stderr_columns() -> Option<usize> {
    columns(terminal_size_of(std::io::stderr()))
}

/// How many lines a person's screen has.
pub fn stderr_rows() -> Option<usize> {
    let variable = || std::env::var("LINES").ok()?.parse().ok();
    let rows = terminal_size_of(std::io::stderr()).map(|(_, height)| usize::from(height.0));
    rows.or_else(variable).filter(|&rows| rows > 0)
}

fn columns(terminal: Option<(Width, Height)>) -> Option<usize> {
    let variable = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal.map(|(width, _)| usize::from(width.0)).or_else(variable).filter(|&columns| columns > 0)
}

/// Whether stdout holds something already.
pub static PRINTED: AtomicBool = AtomicBool::new(false);

/// Whether the reader of stdout has gone away.
static CLOSED: AtomicBool = AtomicBool::new(false);

pub fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// What stands in the variables of the keys, which nothing shows: a key may be typed in the place of a name.
static KEYS: LazyLock<Redactor> = LazyLock::new(|| Redactor::new(known_keys()));

/// A text without the configured keys.
pub fn without_keys(text: &str) -> Cow<'_, str> {
    if KEYS.finds(text) { Cow::Owned(KEYS.text(text.to_owned())) } else { Cow::Borrowed(text) }
}

/// Writes a text to stdout, without keys.
pub fn print(text: &str) -> Result<()> {
    PRINTED.store(true, Ordering::Relaxed);
    let text = without_keys(text);
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::caused("stdout cannot be written", error))
        }
        result => {
            CLOSED.fetch_or(result.is_err(), Ordering::Relaxed);
            Ok(())
        }
    }
}

pub fn print_lines(lines: &[String]) -> Result<()> {
    print(&(lines.join("\n") + "\n"))
}

/// Writes lines to stdout. On a terminal control characters are shown by their numbers, so `lines` must
/// not hold any that are meant.
pub fn print_text(lines: &str) -> Result<()> {
    let text = if std::io::stdout().is_terminal() { text::clean(lines) } else { lines.to_owned() };
    print(&(text + "\n"))
}

pub fn print_json(value: &impl Serialize) -> Result<()> {
    print_json_as(serde_json::to_string_pretty(value))
}

pub fn print_json_line(value: &impl Serialize) -> Result<()> {
    print_json_as(serde_json::to_string(value))
}

fn print_json_as(json: serde_json::Result<String>) -> Result<()> {
    print(&(json.map_err(|error| Error::caused("the result cannot be written as JSON", error))? + "\n"))
}

/// Writes a line to stderr. A stderr that cannot be written is ignored.
pub fn complain(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", without_keys(line));
}

/// Writes a file whole, in the place of one that is there only with `force`.
pub fn write_file(path: &Path, force: bool, content: &str) -> Result<()> {
    if path.exists() && !force {
        let problem = format!("{}: there is a file already", path.display());
        return Err(Error::unusable(problem).hint("name another file, or replace this one with --force"));
    }
    check_writable(path).and_then(|()| write_whole(path, content.as_bytes())).map_err(Error::unusable)?;
    remark(&format!("written to {}", path.display()));
    Ok(())
}

/// Writes a remark of the program to stderr, on one line.
pub fn remark(remark: &str) {
    complain(&format!("planwright: {}", text::line(remark)));
}

/// Writes an error to stderr: what is wrong, why, and what to do about it.
pub fn complain_of(error: &Error, style: Style) {
    let paint = |look, line: &str| complain(&style.paint(look, &text::clean(line)));
    paint(Look::Bad, &format!("planwright: error: {}", error.message));
    error.cause.iter().for_each(|cause| paint(Look::Dim, &format!("  caused by: {cause}")));
    error.hint.iter().for_each(|hint| paint(Look::Dim, &format!("  hint: {hint}")));
}
