//! Body: a text that was handed over to be worked on, and its key sentences.
//!
//! A body is long and asks nothing, or stands behind or before a line that says what is to be done
//! with it.

use super::cues;
use super::duties::mentions;
use super::markdown::{Unit, UnitKind, units};
use super::terms::{Vocabulary, terms};

/// Fewest characters of a body that nobody says anything about.
const ALONE: usize = 160;
/// Fewest characters of a body that comes with a wish.
const WITH_WISH: usize = 40;
/// Most characters of a line that says what is to be done.
const MAX_WISH: usize = 120;
/// Most sentences that are weighed.
const MAX_UNITS: usize = 120;

/// What is to be done with a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Summarise,
    Translate,
    /// Something that a rule cannot do but by showing the key sentences.
    Other,
}

/// What kind of text a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Prose,
    Code,
    Data,
}

/// A text to work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Body {
    pub wish: Option<Wish>,
    pub kind: Kind,
    pub text: String,
}

/// The body that a message holds; `None` where it holds a question.
pub(super) fn read(message: &str) -> Option<Body> {
    let message = message.trim();
    if let Some((wish, text)) = with_wish(message) {
        return Some(Body { wish: Some(wish), kind: kind(text), text: text.to_owned() });
    }
    let kind = kind(message);
    let lines: Vec<&str> = message.lines().filter(|line| !line.trim().is_empty()).collect();
    let sentences = units(message);
    let asks = |unit: Option<&Unit>| unit.is_some_and(|unit| cues::asks(&unit.text));
    let long = message.chars().count() >= ALONE && (sentences.len() >= 3 || lines.len() >= 3);
    let silent = match kind {
        Kind::Prose => !asks(sentences.first()) && !asks(sentences.last()),
        Kind::Code | Kind::Data => true,
    };
    (long && silent || kind != Kind::Prose && lines.len() >= 3).then(|| Body {
        wish: None,
        kind,
        text: message.to_owned(),
    })
}

/// The wish in the first or the last line, and the text that it is about.
fn with_wish(message: &str) -> Option<(Wish, &str)> {
    let cuts = [
        message.split_once('\n'),
        message.split_once(": "),
        message.rsplit_once('\n').map(|(text, wish)| (wish, text)),
    ];
    cuts.into_iter().flatten().find_map(|(wish, text)| {
        let (wish, text) = (wish.trim(), text.trim());
        let fits = wish.chars().count() <= MAX_WISH && text.chars().count() >= WITH_WISH;
        Some((wished(wish).filter(|_| fits)?, text))
    })
}

fn wished(line: &str) -> Option<Wish> {
    let lower = line.to_lowercase();
    let first = lower.split_whitespace().find(|word| !["please", "can", "could", "you"].contains(word))?;
    let commands =
        ["summar", "translat", "explain", "shorten", "rewrite", "proofread", "analy", "review", "tl;dr"];
    let english = commands.iter().any(|verb| first.starts_with(verb));
    let about = [
        "글",
        "기사",
        "본문",
        "내용",
        "텍스트",
        "문장",
        "코드",
        "데이터",
        "다음",
        "아래",
        "위",
        "이것",
        "이거",
    ];
    let korean = cues::asks(line) && !line.ends_with('?') && about.iter().any(|word| line.contains(word));
    let does = ["요약", "번역", "줄여"].iter().any(|word| line.contains(word)) && cues::asks(line);
    if !english && !korean && !does {
        return None;
    }
    Some(match () {
        _ if mentions(&lower, &["translat", "번역"]) => Wish::Translate,
        _ if mentions(&lower, &["summar", "shorten", "tl;dr", "요약", "줄여", "정리"]) => {
            Wish::Summarise
        }
        _ => Wish::Other,
    })
}

fn kind(text: &str) -> Kind {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let json = text.starts_with(['{', '[']) && serde_json::from_str::<serde_json::Value>(text).is_ok();
    let separated = [',', '\t', '|', ';'].iter().any(|sign| {
        let count = |line: &&str| line.matches(*sign).count();
        let columns = lines.first().map_or(0, count);
        columns > 0
            && lines.len() >= 3
            && lines.iter().all(|line| count(line) == columns && !line.ends_with(['.', ';', '{']))
    });
    if json || separated {
        return Kind::Data;
    }
    let starts = [
        "fn ", "def ", "class ", "import ", "from ", "use ", "pub ", "let ", "const ", "var ", "#include",
        "func ", "return", "if (", "for (", "while (", "async ", "public ", "private ", "package ", "```",
        "@",
    ];
    let is_code = |line: &&&str| {
        line.ends_with(['{', '}', ';'])
            || line.ends_with("):")
            || starts.iter().any(|start| line.starts_with(start))
    };
    let code = lines.iter().filter(is_code).count();
    if lines.len() >= 3 && code * 5 >= lines.len() * 2 || text.starts_with("```") {
        Kind::Code
    } else {
        Kind::Prose
    }
}

/// The sentences of a text that speak most of what it speaks of all over, in its order.
pub(super) fn key_sentences(text: &str, most: usize) -> Vec<String> {
    let units: Vec<Unit> = units(text)
        .into_iter()
        .filter(|unit| matches!(unit.kind, UnitKind::Sentence | UnitKind::Item))
        .take(MAX_UNITS)
        .collect();
    let vocabularies: Vec<Vocabulary> = units.iter().map(|unit| Vocabulary::of(&unit.text)).collect();
    let weigh = |(at, unit): (usize, &Unit)| {
        let own = terms(&unit.text);
        let others = |term| vocabularies.iter().filter(|one| one.has(term)).count().saturating_sub(1);
        let shared: u32 =
            own.iter().map(|term| term.weight * u32::try_from(others(term).min(6)).unwrap_or(0)).sum();
        // The first sentence mostly says what the text is about.
        let lead = if at == 0 { 60 } else { 0 };
        let long = u32::try_from(own.len()).unwrap_or(0);
        (at, shared * 20 / (long + 4) + long.min(6) * 3 + lead)
    };
    let mut weighed: Vec<(usize, u32)> = units.iter().enumerate().map(weigh).collect();
    weighed.sort_by_key(|(at, weight)| (std::cmp::Reverse(*weight), *at));
    let mut best: Vec<usize> = weighed.into_iter().take(most).map(|(at, _)| at).collect();
    best.sort_unstable();
    best.into_iter().filter_map(|at| units.get(at)).map(|unit| unit.text.clone()).collect()
}
