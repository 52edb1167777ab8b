//! Judging a reply by its text: which facts it states, and whether it declines.

use serde::Serialize;
use unicode_normalization::UnicodeNormalization;

use crate::question::{Expect, Fact, Kind, Question};

/// What was made of a question.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Right,
    /// There is an answer, and the program says that it has none.
    Declined,
    /// A fact is left out, or another question was answered.
    Incomplete,
    /// Something false is stated, or a trap was walked into.
    Misleading,
    /// The program neither answered nor ended in ERROR.
    Broken,
}

/// A verdict with the facts that the answer lacks and those that it states and must not.
#[derive(Serialize)]
pub struct Judgement {
    pub verdict: Verdict,
    pub lacks: Vec<Fact>,
    pub misstates: Vec<String>,
}

/// The words of a reply that says it has no answer, as they stand in a normalised text.
const DECLINES: &str = "nothing was found|nothing was looked up|nothing that could be looked|no answer|not sure what\
    |cannot|can't|could not|couldn't|unable to|do not know|don't know|is not known|there is no|there are no\
    |not found|outside what|no result|step failed|does not say what was asked|and do not compare\
    |찾지 못|찾을 수 없|찾은 것이 없|알 수 없|모릅니다|없습니다|못했습니다|어렵습니다|분명하지 않|실패한 단계|나와 있지 않습니다";
/// Begin a paragraph that answers nothing: the sources, and a step that failed, whose error may quote a document.
const ASIDE: [&str; 4] = ["Sources:", "출처:", "One step failed", "실패한 단계"];

/// Judges what the program answered and how it ended.
pub fn judge(question: &Question, exit_code: Option<i32>, answer: Option<&str>) -> Judgement {
    let paragraphs = || answer.unwrap_or_default().split("\n\n").map(str::trim);
    let body = paragraphs().filter(|text| !ASIDE.iter().any(|start| text.starts_with(start)));
    let body = Text::new(&body.collect::<Vec<_>>().join("\n\n"));
    let lacks: Vec<Fact> = question.must.iter().filter(|fact| !body.states_fact(fact)).cloned().collect();
    let misstates: Vec<String> = question.must_not.iter().filter(|text| body.states(text)).cloned().collect();
    let says_so = |text: &Text| DECLINES.split('|').any(|words| text.0.contains(words));
    let declines = |text: &str| !is_cited(text) && says_so(&Text::new(text));
    // An answer that was not accepted is an answer: what it says is judged like any other.
    let at_once = (exit_code == Some(1) && answer.is_none()) || paragraphs().next().is_some_and(declines);
    // A reply may quote what is near before it says what is missing, but nothing that misleads.
    let declined = at_once || misstates.is_empty() && paragraphs().any(declines);
    let may_decline = question.kind == Kind::Trap || question.expect == Expect::Decline;
    let states_all = !question.must.is_empty() && lacks.is_empty() && misstates.is_empty();
    let verdict = match exit_code {
        Some(0 | 1) if may_decline && (declined || states_all) => Verdict::Right,
        Some(0 | 1) if at_once => Verdict::Declined,
        Some(0) if states_all => Verdict::Right,
        Some(0 | 1) if may_decline || !misstates.is_empty() => Verdict::Misleading,
        Some(1) => Verdict::Declined,
        Some(0) if declined => Verdict::Declined,
        Some(0) => Verdict::Incomplete,
        _ => Verdict::Broken,
    };
    Judgement { verdict, lacks, misstates }
}

/// Whether a paragraph is a quotation: its source stands behind it, as `[1]`.
fn is_cited(paragraph: &str) -> bool {
    let number = paragraph.strip_suffix(']').and_then(|text| text.rsplit_once('['));
    number.is_some_and(|(_, number)| number.parse::<u32>().is_ok())
}

/// A text as texts are compared: composed, in one case, without emphasis, with single blanks, and `2,450` as `2450`.
pub struct Text(String);

impl Text {
    pub fn new(text: &str) -> Self {
        let text = text.replace("**", "").replace('`', "").replace('’', "'").to_lowercase();
        let words: Vec<&str> = text.split_whitespace().collect();
        let text: Vec<char> = words.join(" ").nfc().collect();
        let digit = |at: usize| text.get(at).is_some_and(char::is_ascii_digit);
        let groups =
            |at: usize| at > 0 && digit(at - 1) && (1..=3).all(|by| digit(at + by)) && !digit(at + 4);
        let kept = text.iter().enumerate().filter(|(at, c)| **c != ',' || !groups(*at));
        Text(kept.map(|(_, c)| *c).collect())
    }

    /// Whether the text has these words, never as a part of a longer word or number. A decimal fraction may have
    /// more digits, and a Korean particle may follow.
    pub fn states(&self, wording: &str) -> bool {
        let Text(wording) = Text::new(wording);
        let is_fraction = wording.parse::<f64>().is_ok() && wording.contains('.');
        self.0.match_indices(&wording).any(|(at, _)| {
            let (before, behind) = (&self.0[..at], &self.0[at + wording.len()..]);
            let begins = !goes_on(wording.chars().next(), before.chars().rev());
            begins && (is_fraction || !goes_on(wording.chars().next_back(), behind.chars()))
        })
    }

    pub fn states_fact(&self, fact: &Fact) -> bool {
        match fact {
            Fact::One(wording) => self.states(wording),
            Fact::AnyOf(wordings) => wordings.iter().any(|wording| self.states(wording)),
        }
    }
}

/// Whether a word or number with this character at its edge goes on with the text beyond.
fn goes_on(edge: Option<char>, mut beyond: impl Iterator<Item = char>) -> bool {
    let is_latin = |c: char| c.is_alphabetic() && c < '\u{250}';
    match (edge, beyond.next()) {
        (Some('0'..='9'), Some('.' | ',')) => beyond.next().is_some_and(|c| c.is_ascii_digit()),
        (Some('0'..='9'), Some(next)) => next.is_ascii_digit(),
        (Some(edge), Some(next)) => is_latin(edge) && is_latin(next),
        _ => false,
    }
}
