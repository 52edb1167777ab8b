//! Talk: what a text is by its first look (small talk, a word that points back, an article's number), and the
//! answer if no tool is needed.
//!
//! Small talk is answered in kind; a text that was handed over is shown by its key sentences. What takes a
//! language model (to translate, to tell in other words) is not pretended.

use serde_json::Value;

use super::lexicon::{Words, say, table};
use super::markdown::{Unit, UnitKind, units};
use super::terms::{Term, Vocabulary, terms};
use super::text::{clean, is_hangul, is_korean, line, words};

const MAX_TALK: usize = 10;
const MAX_KEY: usize = 3;
const ALONE_CHARS: usize = 160;
const WITH_WISH: usize = 40;
const MAX_WISH_CHARS: usize = 120;
const MAX_UNITS: usize = 120;

pub(super) fn answer(message: &str) -> String {
    answer_at_once(message).unwrap_or_else(|| say("unclear", is_korean(message)).to_owned())
}

/// The answer to small talk and to a text that was handed over; `None` for anything else.
pub(super) fn answer_at_once(message: &str) -> Option<String> {
    let message = clean(message, 40_000);
    let korean = is_korean(&message);
    match small_talk(&message) {
        Some(kind) => Some(say(kind, korean).to_owned()),
        None => handed_over(&message).map(|text| show(&text, korean)),
    }
}

pub(super) fn is_handed_over(message: &str) -> bool {
    handed_over(message).is_some()
}

enum Kind {
    Prose,
    Code,
    Data,
}

struct HandedOver<'a> {
    /// What is to be done with it, as the key of what is said before the answer; empty for a summary.
    wish: Option<&'static str>,
    kind: Kind,
    text: &'a str,
}

/// The text that a message holds: long and asking nothing, or beside a line that says what is to be done
/// with it. `None` for a question.
fn handed_over(message: &str) -> Option<HandedOver<'_>> {
    let message = message.trim();
    let cuts = [
        message.split_once('\n'),
        message.split_once(": "),
        message.rsplit_once('\n').map(|(text, wish)| (wish, text)),
    ];
    for (wish, text) in cuts.into_iter().flatten() {
        let (wish, text) = (wish.trim(), text.trim());
        let fits = wish.chars().count() <= MAX_WISH_CHARS && text.chars().count() >= WITH_WISH;
        if let Some(wish) = parse_wish(wish).filter(|_| fits) {
            return Some(HandedOver { wish: Some(wish), kind: kind(text), text });
        }
    }
    let kind = kind(message);
    let lines = lines(message).count();
    let sentences = units(message);
    let asks = |unit: Option<&Unit>| unit.is_some_and(|unit| asks(&unit.text));
    let long = message.chars().count() >= ALONE_CHARS && (sentences.len() >= 3 || lines >= 3);
    let holds = match kind {
        Kind::Prose => long && !asks(sentences.first()) && !asks(sentences.last()),
        Kind::Code | Kind::Data => long || lines >= 3,
    };
    holds.then_some(HandedOver { wish: None, kind, text: message })
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

fn parse_wish(line: &str) -> Option<&'static str> {
    let lower = line.to_lowercase();
    let first = lower.split_whitespace().find(|word| !["please", "can", "could", "you"].contains(word))?;
    let korean = table("korean_wishes").are_in(line) || !line.ends_with('?') && table("texts").are_in(line);
    (table("wishes").begin(first) || korean && asks(line)).then(|| match () {
        _ if table("translation_wishes").are_in(&lower) => "no_translation",
        _ if table("summary_wishes").are_in(&lower) => "",
        _ => "only_shown",
    })
}

fn kind(text: &str) -> Kind {
    let lines: Vec<&str> = lines(text).collect();
    let separated = [',', '\t', '|', ';'].iter().any(|sign| {
        let columns = lines.first().map_or(0, |line| line.matches(*sign).count());
        let even = |line: &&str| line.matches(*sign).count() == columns && !line.ends_with(['.', ';', '{']);
        columns > 0 && lines.len() >= 3 && lines.iter().all(even)
    });
    if separated || text.starts_with(['{', '[']) && serde_json::from_str::<Value>(text).is_ok() {
        return Kind::Data;
    }
    let is_code =
        |line: &&&str| table("code").begin(line) || line.ends_with(['{', '}', ';']) || line.ends_with("):");
    let code = lines.iter().filter(is_code).count();
    let mostly = lines.len() >= 3 && code * 5 >= lines.len() * 2;
    if mostly || text.starts_with("```") { Kind::Code } else { Kind::Prose }
}

fn show(given: &HandedOver<'_>, korean: bool) -> String {
    let before = given.wish.filter(|key| !key.is_empty()).map(|key| say(key, korean));
    let (heading, mut shown) = match given.kind {
        Kind::Prose => ("key_sentences", key_sentences(given.text)),
        Kind::Code => ("this_is_code", definitions(given.text)),
        Kind::Data => ("this_is_data", Vec::new()),
    };
    let heading = say(heading, korean).replace("{}", &lines(given.text).count().to_string());
    if shown.is_empty() {
        shown = lines(given.text).take(MAX_KEY).map(|text| line(text, 160)).collect();
    }
    let shown: Vec<String> = shown.iter().map(|line| format!("- {line}")).collect();
    let next = given.wish.is_none().then(|| say("what_next", korean));
    let shown = shown.join("\n");
    let blocks = before.into_iter().chain([heading.as_str(), &shown]).chain(next);
    blocks.collect::<Vec<&str>>().join("\n\n")
}

fn definitions(text: &str) -> Vec<String> {
    let names = |line: &str, words: &Words| words.iter().any(|word| line.contains(&format!(" {word}")));
    let defines = |line: &&str| table("definitions").begin(line) || names(line, table("definitions"));
    lines(text).filter(defines).take(2 * MAX_KEY).map(|text| line(text, 160)).collect()
}

/// The sentences of a text that speak most of what it speaks of all over, in its order.
fn key_sentences(text: &str) -> Vec<String> {
    let sentence = |unit: &Unit| matches!(unit.kind, UnitKind::Sentence | UnitKind::Item);
    let units: Vec<Unit> = units(text).into_iter().filter(sentence).take(MAX_UNITS).collect();
    let vocabularies: Vec<Vocabulary> = units.iter().map(|unit| Vocabulary::of(&unit.text)).collect();
    let weigh = |(at, unit): (usize, &Unit)| {
        let own = terms(&unit.text);
        let others = |term| vocabularies.iter().filter(|one| one.has(term)).count().saturating_sub(1);
        let shared: usize = own.iter().map(|term| term.weight as usize * others(term).min(6)).sum();
        // The first sentence mostly says what the text is about.
        let lead = if at == 0 { 60 } else { 0 };
        (at, shared * 20 / (own.len() + 4) + own.len().min(6) * 3 + lead)
    };
    let mut weighed: Vec<(usize, usize)> = units.iter().enumerate().map(weigh).collect();
    weighed.sort_by_key(|(at, weight)| (std::cmp::Reverse(*weight), *at));
    weighed.truncate(MAX_KEY);
    weighed.sort_unstable();
    weighed.into_iter().map(|(at, _)| units[at].text.clone()).collect()
}

/// What kind of small talk a text is, if it is nothing else: the key of the answer in kind.
pub(super) fn small_talk(text: &str) -> Option<&'static str> {
    let mut kind = None;
    for (at, word) in words(text).enumerate() {
        let lower = word.text.to_lowercase();
        let laughs = lower.chars().all(|c| matches!(c, 'ㅋ' | 'ㅎ')) && lower.chars().nth(1).is_some();
        let found = match lower.as_str() {
            _ if at >= MAX_TALK => return None,
            word if table("thanks").has(word) => Some("thanks"),
            word if table("greetings").has(word) => Some("greeting"),
            word if table("farewells").has(word) => Some("farewell"),
            word if laughs || table("laughter").has(word) => Some("laughter"),
            word if table("fillers").has(word) => None,
            _ => return None,
        };
        // A greeting with thanks is thanks.
        if kind.is_none() || found == Some("thanks") {
            kind = found.or(kind);
        }
    }
    kind
}

/// Whether a text points to earlier turns: by a word that refers, or by naming nothing of its own.
pub(super) fn refers(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    if table("earlier").are_in(&lower) || lower == "then" {
        return true;
    }
    let own = terms(text);
    if !own.iter().any(Term::is_noun) {
        return small_talk(text).is_none() && text.chars().any(char::is_alphanumeric);
    }
    // 갱신은?
    let topic = lower.trim_end_matches(['?', '!', '.', ' ']).ends_with(['은', '는', '도', '요']);
    table("openers").begin(&lower) || stands_in(text) || own.len() == 1 && topic && words(text).count() == 1
}

/// Whether a word stands for a noun that the text does not name before it.
fn stands_in(text: &str) -> bool {
    let mut before = String::new();
    let mut more = false;
    for word in words(text) {
        let lower = word.text.to_lowercase();
        // `more than three` compares.
        if std::mem::take(&mut more) && lower != "than" {
            return true;
        }
        let stands = table("stand_ins").has(&lower) || table("korean_pronouns").begin(&lower);
        if stands && !terms(&before).iter().any(Term::is_noun) {
            more = lower == "more";
            if !more {
                return true;
            }
        }
        before.extend([word.text, " "]);
    }
    more
}

pub(super) fn is_about_the_speaker(text: &str) -> bool {
    words(text).any(|word| table("speaker").has(&word.text.to_lowercase()))
}

/// Whether a text names an article by its number: 제5조, article 5, § 5.
pub(super) fn names_an_article(text: &str) -> bool {
    let found: Vec<&str> = words(text).map(|word| word.text).collect();
    let number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let part = |word: &str| word.starts_with(['조', '항', '호']) && word.chars().all(is_hangul);
    let numbered = |pair: &[&str]| {
        number(pair[0]) && part(pair[1]) || table("articles").has(&pair[0].to_lowercase()) && number(pair[1])
    };
    text.contains('§') || found.windows(2).any(numbered)
}

pub(super) fn asks(sentence: &str) -> bool {
    let end = sentence.trim().trim_end_matches(['.', '!', '~', ' ', ':']);
    end.ends_with('?') || table("demands").end(end)
}
