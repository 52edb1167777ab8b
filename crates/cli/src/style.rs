//! Colour, where it is wanted: `--color`, `NO_COLOR`, and whether a terminal is there.

use std::io::IsTerminal;

use clap::ValueEnum;

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}

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
    pub fn of(color: Color, stream: &impl IsTerminal) -> Self {
        Style(match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => !set("NO_COLOR") && is_screen(stream),
        })
    }

    pub fn paint(self, look: Look, text: &str) -> String {
        if !self.0 || text.is_empty() {
            return text.to_owned();
        }
        let code = match look {
            Look::Heading => "1",
            Look::Good => "32",
            Look::Bad => "31",
            Look::Warn => "33",
            Look::Dim => "2",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Whether a person looks at the stream through a terminal that can move its cursor.
pub fn is_screen(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The columns of the terminal: its own, else what `COLUMNS` says, else unknown.
pub fn columns(terminal: Option<(terminal_size::Width, terminal_size::Height)>) -> Option<usize> {
    let own = terminal.map(|(width, _)| usize::from(width.0));
    let said = || std::env::var("COLUMNS").ok()?.parse().ok();
    own.or_else(said).filter(|&columns| columns > 0)
}

fn set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}
