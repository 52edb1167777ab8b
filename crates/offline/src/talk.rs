//! Talk: what a text is by its first look (small talk, a word that points back, an article's number), and the
//! answer if no tool is needed.
//!
//! Small talk is answered in kind; a text that was handed over is shown by its first sentences. What takes a
//! language model (to translate, to tell in other words) is not pretended.

use std::sync::LazyLock;

use regex_lite::{Captures, Regex};
use serde_json::Value;

use super::lexicon::{say, table};
use super::markdown::{Unit, UnitKind, units};
use super::terms::{Term, terms};
use super::text::{clean, is_korean, line, words};

const MAX_TALK: usize = 10;
/// The tables of small talk and the keys of its answers. A greeting with thanks is thanks.
const SMALL_TALK: [&str; 4] = ["thanks", "greetings", "farewells", "laughter"];
const MAX_KEY: usize = 3;
const ALONE_CHARS: usize = 160;
const WITH_WISH: usize = 40;
const MAX_WISH_CHARS: usize = 120;
const PROSE: &str = "key_sentences";

/// The answer to small talk and to a text that was handed over; `None` for anything else.
pub(super) fn answer_at_once(message: &str) -> Option<String> {
    let message = clean(message, 40_000);
    let korean = is_korean(&message);
    match small_talk(&message) {
        Some(kind) => Some(say(kind, korean).to_owned()),
        None => handed_over(&message).map(|(text, wish)| show(text, wish, korean)),
    }
}

/// The text that a message holds (long and asking nothing, or beside a line with a wish), and what is to be done with
/// it, as the key of what is said before the answer; empty for a summary.
pub(super) fn handed_over(message: &str) -> Option<(&str, Option<&'static str>)> {
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
            return Some((text, Some(wish)));
        }
    }
    let (lines, sentences) = (lines(message).count(), units(message));
    let asks = |unit: Option<&Unit>| unit.is_some_and(|unit| asks(&unit.text));
    let long = message.chars().count() >= ALONE_CHARS && (sentences.len() >= 3 || lines >= 3);
    let holds = match kind(message) {
        PROSE => long && !asks(sentences.first()) && !asks(sentences.last()),
        _ => long || lines >= 3,
    };
    holds.then_some((message, None))
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

/// What a text is, as the key of what is said about it.
fn kind(text: &str) -> &'static str {
    let lines: Vec<&str> = lines(text).collect();
    let separated = [',', '\t', '|', ';'].iter().any(|sign| {
        let columns = lines.first().map_or(0, |line| line.matches(*sign).count());
        let even = |line: &&str| line.matches(*sign).count() == columns && !line.ends_with(['.', ';', '{']);
        columns > 0 && lines.len() >= 3 && lines.iter().all(even)
    });
    let is_code =
        |line: &&&str| table("code").begin(line) || line.ends_with(['{', '}', ';']) || line.ends_with("):");
    let mostly_code = lines.len() >= 3 && lines.iter().filter(is_code).count() * 5 >= lines.len() * 2;
    match () {
        _ if separated || text.starts_with(['{', '[']) && serde_json::from_str::<Value>(text).is_ok() => {
            "this_is_data"
        }
        _ if mostly_code || text.starts_with("```") => "this_is_code",
        _ => PROSE,
    }
}

fn show(given: &str, wish: Option<&str>, korean: bool) -> String {
    let before = wish.filter(|key| !key.is_empty()).map(|key| say(key, korean).to_owned());
    let kind = kind(given);
    // The first sentences mostly say what a text is about.
    let sentence = |unit: &Unit| kind == PROSE && matches!(unit.kind, UnitKind::Sentence | UnitKind::Item);
    let sentences = units(given).into_iter().filter(sentence);
    let mut shown: Vec<String> = sentences.map(|unit| unit.text).take(MAX_KEY).collect();
    if shown.is_empty() {
        shown = lines(given).take(MAX_KEY).map(|text| line(text, 160)).collect();
    }
    let heading = say(kind, korean).replace("{}", &lines(given).count().to_string());
    let next = wish.is_none().then(|| say("what_next", korean).to_owned());
    let blocks = before.into_iter().chain([heading, format!("- {}", shown.join("\n- "))]).chain(next);
    blocks.collect::<Vec<String>>().join("\n\n")
}

/// What kind of small talk a text is, if it is nothing else: the key of the answer in kind.
pub(super) fn small_talk(text: &str) -> Option<&'static str> {
    let all: Vec<String> = words(text).map(|word| word.text.to_lowercase()).collect();
    let laughs = |word: &str| word.chars().all(|c| matches!(c, 'ㅋ' | 'ㅎ')) && word.chars().nth(1).is_some();
    let is = |kind: &str, word: &str| table(kind).has(word) || kind == "laughter" && laughs(word);
    let talks = |word: &String| SMALL_TALK.iter().any(|kind| is(kind, word)) || table("fillers").has(word);
    let only = all.len() <= MAX_TALK && all.iter().all(talks);
    SMALL_TALK.into_iter().find(|kind| only && all.iter().any(|word| is(kind, word)))
}

/// Whether a text points to earlier turns: by a word that refers, or by naming nothing of its own.
pub(super) fn refers(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    if table("earlier").are_in(&lower) || lower == "then" {
        return true;
    }
    let own = terms(text);
    if !own.iter().any(Term::is_insisted) {
        return small_talk(text).is_none() && text.chars().any(char::is_alphanumeric);
    }
    // 갱신은?
    let topic = lower.trim_end_matches(['?', '!', '.', ' ']).ends_with(['은', '는', '도', '요']);
    table("openers").begin(&lower) || stands_in(text) || own.len() == 1 && topic && words(text).count() == 1
}

/// Whether a word stands for a noun that the text does not name before it.
fn stands_in(text: &str) -> bool {
    let stands = |word: &str| table("stand_ins").has(word) || table("korean_pronouns").begin(word);
    let lower: Vec<String> = words(text).map(|word| word.text.to_lowercase()).collect();
    let first = lower.iter().position(|word| stands(word));
    first.is_some_and(|first| !terms(&lower[..first].join(" ")).iter().any(Term::is_insisted))
}

static ARTICLE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?i)(\d+) *조(?: *의 *(\d+))?|(?:\b(?:article|clause|art\.)|§) *(\d+)(?:-(\d+))?";
    Regex::new(pattern).expect("the pattern is compiled by every test")
});

static PARAGRAPH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)조[^\d?]*(\d+) *항|\bparagraph *(\d+)").expect("the pattern is compiled by every test")
});

/// The numbers of the articles that a text names: `5` for 제5조, article 5 and § 5, `5-2` for 제5조의2.
pub(super) fn articles(text: &str) -> Vec<String> {
    let number = |found: Captures<'_>| {
        let groups = found.iter().skip(1).flatten().map(|group| group.as_str());
        groups.collect::<Vec<&str>>().join("-")
    };
    ARTICLE.captures_iter(text).map(number).collect()
}

/// The mark of the paragraph that a text names beside an article: ③ for 제3항 and paragraph 3.
pub(super) fn paragraph(text: &str) -> Option<char> {
    let number: u32 = PARAGRAPH.captures(text)?.iter().skip(1).flatten().next()?.as_str().parse().ok()?;
    char::from_u32(0x245f + number).filter(|mark| ('①'..='⑳').contains(mark))
}

/// Whether an article has the paragraph with this mark. One without marks has numbered lines, or one paragraph.
pub(super) fn has_paragraph(article: &str, mark: char) -> bool {
    let number = (mark as u32 - 0x245f).to_string();
    let rest = |line: &str| line.trim_start_matches([' ', '(']).strip_prefix(&number)?.chars().next();
    let numbered = || article.lines().any(|line| matches!(rest(line), Some('.' | ')')));
    article.contains(mark) || !article.contains('①') && (mark == '①' || numbered())
}

pub(super) fn asks(sentence: &str) -> bool {
    let end = sentence.trim().trim_end_matches(['.', '!', '~', ' ', ':']);
    end.ends_with('?') || table("demands").end(end)
}
