//! The person at the terminal: is asked on stderr, answers on stdin.

use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::pending::{Kept, Open, What};
use super::style::{Look, Style};
use super::{line, out, text};
use planwright::machine::HumanAnswer;
use planwright::ports::{Human, Question};

/// How often a line that says nothing is asked again before the run is left waiting.
const MOST_UNREAD: u32 = 5;

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
        out::complain(&refusal(refused, style));
    }
    out::complain(&style.paint(Look::Heading, &text::clean(question)));
}

/// The token of what a word is for that named none: whoever types it is shown what is open, and says
/// yes to it. Where nobody types, the word is refused: it may be an old one, said again.
pub fn confirmed(open: &Open, kept: Kept<'_>, style: Style) -> Outcome<String> {
    if !line::is_typed() || open.has_expired() {
        return Err(kept.tokenless(open));
    }
    put(&open.text(), None, style);
    let said = line::next("is this what is meant (yes or no)? ")?.unwrap_or_default();
    if line::is_yes(&said) {
        return Ok(open.token.clone());
    }
    let exit = if matches!(open.what, What::Question(_)) { Exit::Waiting } else { Exit::InDoubt };
    Err(Failure { exit, ..Failure::unusable("nothing was said, and the run waits on") })
}

fn refusal(problem: &str, style: Style) -> String {
    style.paint(Look::Warn, &format!("  refused  {}", text::line(problem)))
}

impl Human for Person {
    fn ask(&self, question: &Question<'_>) -> Option<HumanAnswer> {
        put(question.text, question.refused, self.style);
        let asked = question.effect.kind;
        let prompt = format!("answer ({})> ", line::choices(asked));
        for _ in 0..MOST_UNREAD {
            // A stdin that does not read is nobody: the run waits, and its journal can be resumed.
            let said = line::next(&prompt).ok().flatten()?;
            match line::answer(&said, asked) {
                _ if said.is_empty() => {}
                Ok(answer) => return Some(answer),
                Err(problem) => out::complain(&refusal(&problem, self.style)),
            }
        }
        None
    }
}
