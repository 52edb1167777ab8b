//! Arithmetic in a question: finds the expressions that `calc` can work out.
//!
//! A number that is not meant to be calculated with is left alone: dates, versions, phone numbers,
//! names such as `GPT-4`, and `24/7` or `10-15` unless nothing else is asked.

mod infix;
mod lex;
mod phrases;
mod units;
mod vocabulary;

use lex::{Kind, Token};

/// Most expressions of one question.
const MAX_EXPRESSIONS: usize = 3;
/// Longest expression, in characters.
const MAX_CHARS: usize = 300;

/// Stands where an expression stood. Not in the question: control characters are taken out before.
pub(super) const MARK: char = '\u{1}';

/// A question, taken apart.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Found {
    /// What `calc` can work out, in the question's order.
    pub expressions: Vec<String>,
    /// The question without it: a [`MARK`] stands for each expression, and words that only asked
    /// for its value are left out.
    pub rest: String,
}

/// Finds the arithmetic in a question.
pub(super) fn find(question: &str) -> Found {
    let tokens = lex::tokens(question);
    // Which expression each token belongs to.
    let mut owner: Vec<Option<usize>> = vec![None; tokens.len()];
    let mut expressions: Vec<String> = Vec::new();
    let mut at = 0;
    while at < tokens.len() && expressions.len() < MAX_EXPRESSIONS {
        let taken = phrases::read(&tokens[at..]).map(|(text, len)| (text, len, true));
        let taken =
            taken.or_else(|| infix::read(&tokens, at).map(|found| (found.text, found.len, found.certain)));
        let fits = |(text, len, certain): &(String, usize, bool)| {
            text.chars().count() <= MAX_CHARS && (*certain || asks_for_value(&tokens, at, at + len))
        };
        let Some((text, len, _)) = taken.filter(fits) else {
            at += 1;
            continue;
        };
        owner[at..at + len].fill(Some(expressions.len()));
        expressions.push(text);
        at += len;
    }
    let rest = rest(question, &tokens, &owner);
    Found { expressions, rest }
}

fn ends_clause(kind: Kind) -> bool {
    matches!(kind, Kind::Break | Kind::And)
}

/// Words that may stand beside an expression where only its value is asked for.
fn only_asks(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Filler
            | Kind::Cue
            | Kind::Equals
            | Kind::Particle
            | Kind::Possessive
            | Kind::HowMany
            | Kind::Of
    )
}

/// The tokens of the clause around `start..end`.
fn clause(tokens: &[Token<'_>], start: usize, end: usize) -> (usize, usize) {
    let from = tokens[..start].iter().rposition(|token| ends_clause(token.kind)).map_or(0, |at| at + 1);
    let to =
        tokens[end..].iter().position(|token| ends_clause(token.kind)).map_or(tokens.len(), |at| end + at);
    (from, to)
}

/// Whether the clause asks for the value of `start..end`, or says so.
fn asks_for_value(tokens: &[Token<'_>], start: usize, end: usize) -> bool {
    let (from, to) = clause(tokens, start, end);
    let mut around = tokens[from..start].iter().chain(&tokens[end..to]);
    let cue = around.clone().any(|token| matches!(token.kind, Kind::Cue | Kind::Equals));
    cue || around.all(|token| only_asks(token.kind))
}

/// The question with its expressions marked and without the words that asked for their values.
fn rest(question: &str, tokens: &[Token<'_>], owner: &[Option<usize>]) -> String {
    let mut rest = String::with_capacity(question.len());
    let mut kept = 0;
    let mut marked = None;
    for (at, token) in tokens.iter().enumerate() {
        let beside = || {
            let (from, to) = clause(tokens, at, at);
            owner[from..to].iter().any(Option::is_some)
        };
        // The end of 얼마고 is no word; it ends a clause as a question mark does.
        let ends = token.kind == Kind::Break && token.text.starts_with(super::text::is_hangul);
        let drops = owner[at].is_some() || ends || (only_asks(token.kind) && beside());
        if !drops {
            continue;
        }
        rest.push_str(&question[kept..token.start]);
        rest.push(if ends { '?' } else { ' ' });
        kept = token.end();
        if owner[at].is_some() && owner[at] != marked {
            marked = owner[at];
            rest.push(MARK);
            rest.push(' ');
        }
    }
    rest.push_str(&question[kept..]);
    rest
}

#[cfg(test)]
mod tests;
