//! The person at the terminal: is asked on stderr, answers on stdin.

use std::sync::Arc;

use clap::ColorChoice;

use crate::answer::{choices, parse_answer};
use crate::style::{Look, Style};
use crate::{line, out, text};
use planwright::machine::{EffectKind, HumanAnswer};
use planwright::ports::{Human, Question};
use planwright_app::{Class, Error, Pending, Result, RunLocation};

/// How often a line that says nothing is asked again before the run is left waiting.
const MOST_UNREAD: u32 = 5;

struct Person {
    style: Style,
}

/// The person at the terminal, if there is one.
pub fn at_terminal(color: ColorChoice) -> Option<Arc<dyn Human>> {
    let style = Style::of(color, &std::io::stderr());
    line::is_typed().then(|| Arc::new(Person { style }) as Arc<dyn Human>)
}

/// Shows what a person is asked, and why their last answer was refused.
pub fn show_question(question: &str, refused: Option<&str>, style: Style) {
    refused.into_iter().for_each(|problem| show_refusal(problem, style));
    out::complain(&style.paint(Look::Heading, &text::clean(question)));
}

fn show_refusal(problem: &str, style: Style) {
    out::complain(&style.paint(Look::Warn, &format!("  refused  {}", text::line(problem))));
}

/// Asks for a line that answers; nothing where the person says nothing.
pub fn read_answer(asked: EffectKind) -> Result<Option<HumanAnswer>> {
    let line = line::read_line(&format!("answer ({})> ", choices(asked)))?.unwrap_or_default();
    if line.is_empty() {
        return Ok(None);
    }
    parse_answer(&line, asked).map(Some).map_err(Error::unusable)
}

/// The token for an answer that names none: a person at the terminal is shown what is pending and says yes to it.
/// Without a person the answer is refused: it may be an old one, given again.
pub fn confirm_token(pending: &Pending, location: RunLocation<'_>, style: Style) -> Result<String> {
    if !line::is_typed() || pending.has_expired() {
        return Err(location.missing_token(pending));
    }
    show_question(&pending.text(), None, style);
    if line::confirm("is this what is meant")? {
        return Ok(pending.token.clone());
    }
    let class = if pending.is_doubt() { Class::InDoubt } else { Class::Waiting };
    Err(Error::new(class, "nothing was said, and the run waits on"))
}

impl Human for Person {
    fn ask(&self, question: &Question<'_>) -> Option<HumanAnswer> {
        show_question(question.text, question.refused, self.style);
        let asked = question.effect.kind;
        let prompt = format!("answer ({})> ", choices(asked));
        for _ in 0..MOST_UNREAD {
            // If stdin cannot be read the run waits, and its journal can be resumed.
            let line = line::read_line(&prompt).ok().flatten()?;
            match parse_answer(&line, asked) {
                _ if line.is_empty() => {}
                Ok(answer) => return Some(answer),
                Err(problem) => show_refusal(&problem, self.style),
            }
        }
        None
    }
}
