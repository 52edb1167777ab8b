//! The words of arithmetic, in English and Korean.

use super::lex::{Kind, Token};
use super::units;

pub(super) fn english(word: &str) -> Kind {
    let lower = word.to_lowercase();
    match lower.as_str() {
        "plus" => Kind::Operator('+'),
        "minus" => Kind::Operator('-'),
        "times" => Kind::Operator('*'),
        "x" => Kind::Sign('x'),
        "squared" => Kind::Power(2),
        "cubed" => Kind::Power(3),
        "percent" => Kind::Percent,
        "sqrt" => Kind::Function("sqrt"),
        "cbrt" => Kind::Function("cbrt"),
        "sin" => Kind::Function("sin"),
        "cos" => Kind::Function("cos"),
        "tan" => Kind::Function("tan"),
        "ln" => Kind::Function("ln"),
        "log" | "log10" => Kind::Function("log10"),
        "abs" => Kind::Function("abs"),
        "pi" => Kind::Pi,
        "degree" | "degrees" => Kind::Degree,
        "in" | "to" | "into" | "as" => Kind::Into,
        "of" => Kind::Of,
        "and" => Kind::And,
        "sum" => Kind::Result('+'),
        "difference" => Kind::Result('-'),
        "product" => Kind::Result('*'),
        "quotient" => Kind::Result('/'),
        "a" | "an" | "one" => Kind::One,
        "calculate" | "compute" | "evaluate" | "solve" | "convert" => Kind::Cue,
        "what" | "what's" | "whats" | "is" | "are" | "was" | "be" | "the" | "result" | "value" | "answer"
        | "how" | "much" | "does" | "do" | "it" | "equal" | "equals" | "make" | "makes" | "give"
        | "gives" | "please" | "tell" | "me" | "can" | "could" | "you" | "for" | "there" | "will"
        | "find" | "exactly" | "between" | "hey" | "hi" | "hello" | "thanks" | "so" | "get" | "i" | "we" => {
            Kind::Filler
        }
        _ => units::named(word).map_or(Kind::Other, Kind::Unit),
    }
}

/// What is said in several words, and what it means.
const PHRASES: &[(&[&str], Kind)] = &[
    (&["raised", "to", "the", "power", "of"], Kind::Operator('^')),
    (&["to", "the", "power", "of"], Kind::Operator('^')),
    (&["multiplied", "by"], Kind::Operator('*')),
    (&["divided", "by"], Kind::Operator('/')),
    (&["the", "square", "root", "of"], Kind::Function("sqrt")),
    (&["square", "root", "of"], Kind::Function("sqrt")),
    (&["cube", "root", "of"], Kind::Function("cbrt")),
    (&["how", "many"], Kind::HowMany),
];

/// Makes one token of a phrase.
pub(super) fn join_phrases<'a>(text: &'a str, tokens: Vec<Token<'a>>) -> Vec<Token<'a>> {
    let mut joined = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let here = &tokens[at..];
        let phrase = PHRASES.iter().find(|(words, _)| {
            here.len() >= words.len()
                && words.iter().zip(here).all(|(word, token)| token.text.eq_ignore_ascii_case(word))
        });
        let (kind, len) = phrase.map_or((tokens[at].kind, 1), |(words, kind)| (*kind, words.len()));
        let end = tokens[at + len - 1].end();
        joined.push(Token { kind, text: &text[tokens[at].start..end], ..tokens[at] });
        at += len;
    }
    joined
}

/// Beginnings of Hangul words; what follows must be known too. Longer ones first.
const HEADS: &[(&str, Kind)] = &[
    ("세제곱근", Kind::Other),
    ("제곱근", Kind::RootOf),
    ("세제곱", Kind::Raised(3)),
    ("제곱", Kind::Raised(2)),
    ("퍼센트", Kind::Percent),
    ("프로", Kind::Percent),
    ("더하기", Kind::Operator('+')),
    ("플러스", Kind::Operator('+')),
    ("빼기", Kind::Operator('-')),
    ("마이너스", Kind::Operator('-')),
    ("곱하기", Kind::Operator('*')),
    ("나누기", Kind::Operator('/')),
    ("더하면", Kind::Combine('+')),
    ("더한", Kind::Combine('+')),
    ("더해", Kind::Combine('+')),
    ("빼면", Kind::Combine('-')),
    ("뺀", Kind::Combine('-')),
    ("빼", Kind::Combine('-')),
    ("곱하면", Kind::Combine('*')),
    ("곱한", Kind::Combine('*')),
    ("곱해", Kind::Combine('*')),
    ("나누면", Kind::Combine('/')),
    ("나눈", Kind::Combine('/')),
    ("나눠", Kind::Combine('/')),
    ("루트", Kind::Function("sqrt")),
    ("그리고", Kind::And),
    ("계산", Kind::Cue),
    ("환산", Kind::Cue),
    ("변환", Kind::Cue),
    ("바꾸", Kind::Cue),
    ("바꿔", Kind::Cue),
    ("구해", Kind::Cue),
    ("얼마", Kind::Filler),
    ("무엇", Kind::Filler),
    ("뭐", Kind::Filler),
    ("알려", Kind::Filler),
    ("결과", Kind::Filler),
    ("값", Kind::Filler),
    ("답", Kind::Filler),
    ("합", Kind::Result('+')),
    ("차", Kind::Result('-')),
    ("곱", Kind::Result('*')),
    ("몇", Kind::HowMany),
    ("도", Kind::Degree),
];

/// Ends of Hangul words.
const TAILS: &[(&str, Kind)] = &[
    ("의", Kind::Possessive),
    ("로", Kind::Into),
    ("으로", Kind::Into),
    ("와", Kind::Particle),
    ("과", Kind::Particle),
    ("에", Kind::Particle),
    ("에서", Kind::Particle),
    ("을", Kind::Particle),
    ("를", Kind::Particle),
    ("하고", Kind::Particle),
    ("은", Kind::Filler),
    ("는", Kind::Filler),
    ("이", Kind::Filler),
    ("가", Kind::Filler),
    ("면", Kind::Filler),
    ("하면", Kind::Filler),
    ("해", Kind::Filler),
    ("해줘", Kind::Filler),
    ("해봐", Kind::Filler),
    ("해주세요", Kind::Filler),
    ("줘", Kind::Filler),
    ("주세요", Kind::Filler),
    ("이야", Kind::Filler),
    ("야", Kind::Filler),
    ("이지", Kind::Filler),
    ("지", Kind::Filler),
    ("니", Kind::Filler),
    ("이니", Kind::Filler),
    ("고", Kind::Break),
    ("이고", Kind::Break),
    ("인가", Kind::Filler),
    ("인가요", Kind::Filler),
    ("인지", Kind::Filler),
    ("이에요", Kind::Filler),
    ("예요", Kind::Filler),
    ("에요", Kind::Filler),
    ("입니까", Kind::Filler),
    ("일까", Kind::Filler),
    ("일까요", Kind::Filler),
    ("나요", Kind::Filler),
    ("되나요", Kind::Filler),
    ("돼", Kind::Filler),
    ("좀", Kind::Filler),
    ("나와", Kind::Filler),
];

/// The parts of a Hangul word, with their lengths; `None` where a part of it is not known.
pub(super) fn korean(word: &str, after_number: bool) -> Option<Vec<(Kind, usize)>> {
    let mut parts = Vec::new();
    let mut rest = word;
    // A word is made of three parts at most (몇 + 마일 + 이야).
    for _ in 0..4 {
        if rest.is_empty() {
            return Some(parts);
        }
        let ends_here = TAILS.iter().find(|(tail, _)| *tail == rest).map(|(_, kind)| *kind);
        let value = after_number && parts.is_empty();
        let unit = units::leading(rest);
        let head = HEADS.iter().find_map(|(head, kind)| Some((*kind, head.len(), rest.strip_prefix(head)?)));
        let (kind, len, next) = match (ends_here, unit, head) {
            (Some(kind), _, _) if !value || head.is_none() => (kind, rest.len(), ""),
            (_, Some((unit, next)), _) => (Kind::Unit(unit), rest.len() - next.len(), next),
            (_, _, Some(head)) => head,
            (Some(kind), _, _) => (kind, rest.len(), ""),
            _ => return None,
        };
        parts.push((kind, len));
        rest = next;
    }
    None
}
