//! Colour, where it is wanted: `--color`, `NO_COLOR`, and whether a terminal is there.

use std::io::IsTerminal;

use clap::ColorChoice;
use clap::builder::styling::{AnsiColor, Style as Ansi};

/// How a text stands out.
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

/// The columns of stdout: the terminal's, else those of `COLUMNS`, else unknown.
pub fn stdout_columns() -> Option<usize> {
    columns(terminal_size::terminal_size_of(std::io::stdout()))
}

/// The columns of stderr, likewise.
pub fn stderr_columns() -> Option<usize> {
    columns(terminal_size::terminal_size_of(std::io::stderr()))
}

fn columns(terminal: Option<(terminal_size::Width, terminal_size::Height)>) -> Option<usize> {
    let variable = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal.map(|(width, _)| usize::from(width.0)).or_else(variable).filter(|&columns| columns > 0)
}
