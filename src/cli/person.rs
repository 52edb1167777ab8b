//! The person at the terminal: is asked on stderr, answers on stdin.

use super::style::{Look, Style};
use super::{line, out, text};
use crate::driver::{Human, Question};
use crate::machine::HumanAnswer;

/// How often an empty line is asked again before the run is left waiting.
const MOST_EMPTY: u32 = 5;

/// Whoever sits at the terminal.
pub struct Person {
    style: Style,
}

impl Person {
    /// The person at the terminal, where there is one.
    pub fn at_terminal(style: Style) -> Option<Self> {
        line::is_typed().then_some(Person { style })
    }
}

/// Says what a person is asked.
pub fn put(question: &str, refused: Option<&str>, style: Style) {
    if let Some(refused) = refused {
        out::complain(&style.paint(Look::Warn, &format!("  refused  {}", text::line(refused))));
    }
    out::complain(&style.paint(Look::Heading, &text::clean(question)));
}

impl Human for Person {
    fn ask(&self, question: &Question<'_>) -> Option<HumanAnswer> {
        put(question.text, question.refused, self.style);
        for _ in 0..MOST_EMPTY {
            // A stdin that does not read is nobody: the run waits, and its journal can be resumed.
            let said = line::next("answer (reject: REASON says no)> ").ok().flatten()?;
            if !said.is_empty() {
                return Some(line::answer(&said));
            }
        }
        None
    }
}
