//! Talk: the answer if no tool is needed.
//!
//! Small talk is answered in kind; a text that was handed over is shown by its key sentences. What takes a
//! language model (to translate, to tell in other words) is not pretended.

use serde_json::Value;

use super::cues::{self, SmallTalk};
use super::lexicon::{Words, table};
use super::markdown::{Unit, UnitKind, units};
use super::terms::{Vocabulary, terms};
use super::text::{clean, is_korean, line};

/// Most key sentences that are shown.
const MAX_KEY: usize = 3;
/// Fewest characters of a text that comes without a wish, and with one.
const ALONE: usize = 160;
const WITH_WISH: usize = 40;
/// Most characters of a line that says what is to be done.
const MAX_WISH: usize = 120;
/// Most sentences that are weighed.
const MAX_UNITS: usize = 120;
/// A text in English and in Korean.
type Said = [&'static str; 2];

const UNCLEAR: Said = [
    "I am not sure what you would like to know. Could you tell me a little more: what it is about, and what I \
     should find or work out?",
    "무엇을 원하시는지 분명하지 않습니다. 무엇에 대해 찾거나 계산해 드리면 되는지 조금 더 자세히 말씀해 주세요.",
];
const NO_TRANSLATION: Said = [
    "I work by rule and without a language model, so I cannot translate. These are the key sentences as they \
     stand in the text:",
    "저는 언어 모델 없이 규칙으로 답하기 때문에 번역은 할 수 없습니다. 대신 본문의 핵심 문장을 그대로 옮깁니다.",
];
const ONLY_SHOWN: Said = [
    "I work by rule and without a language model, so I can only show what stands in the text:",
    "저는 언어 모델 없이 규칙으로 답하기 때문에 본문에 있는 내용만 보여 드릴 수 있습니다.",
];
const WHAT_NEXT: Said = [
    "What would you like next: a summary, an explanation of a part, or (with a language model) a translation?",
    "다음으로 무엇을 해 드릴까요? 요약, 자세한 설명, (언어 모델을 연결하면) 번역을 도와드릴 수 있습니다.",
];

fn say(said: Said, korean: bool) -> String {
    said[usize::from(korean)].to_owned()
}

/// The answer to a message that needs no tool.
pub(super) fn answer(message: &str) -> String {
    answer_at_once(message).unwrap_or_else(|| say(UNCLEAR, is_korean(message)))
}

/// The answer to small talk and to a text that was handed over; `None` for anything else.
pub(super) fn answer_at_once(message: &str) -> Option<String> {
    let message = clean(message, 40_000);
    let korean = is_korean(&message);
    let reply = match cues::small_talk(&message) {
        Some(SmallTalk::Greeting) => ["Hello! What can I do for you?", "안녕하세요! 무엇을 도와드릴까요?"],
        Some(SmallTalk::Thanks) => [
            "You are welcome! If there is anything else, just ask.",
            "별말씀을요! 더 궁금한 것이 있으면 말씀해 주세요.",
        ],
        Some(SmallTalk::Farewell) => ["Goodbye, and take care!", "안녕히 가세요! 좋은 하루 보내세요."],
        Some(SmallTalk::Laughter) => {
            ["Glad to hear it! What shall we do next?", "즐거우시다니 좋네요! 무엇을 도와드릴까요?"]
        }
        None => return handed_over(&message).map(|text| show(&text, korean)),
    };
    Some(say(reply, korean))
}

/// Whether a message is a text to be worked on.
pub(super) fn is_handed_over(message: &str) -> bool {
    handed_over(message).is_some()
}

/// What is to be done with a text.
enum Wish {
    Summarise,
    Translate,
    /// Something that a rule cannot do but by showing the key sentences.
    Other,
}

#[derive(PartialEq, Eq)]
enum Kind {
    Prose,
    Code,
    Data,
}

/// A text to work on.
struct HandedOver<'a> {
    wish: Option<Wish>,
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
        let fits = wish.chars().count() <= MAX_WISH && text.chars().count() >= WITH_WISH;
        if let Some(wish) = parse_wish(wish).filter(|_| fits) {
            return Some(HandedOver { wish: Some(wish), kind: kind(text), text });
        }
    }
    let kind = kind(message);
    let lines = lines(message).count();
    let sentences = units(message);
    let asks = |unit: Option<&Unit>| unit.is_some_and(|unit| cues::asks(&unit.text));
    let long = message.chars().count() >= ALONE && (sentences.len() >= 3 || lines >= 3);
    let holds = match kind {
        Kind::Prose => long && !asks(sentences.first()) && !asks(sentences.last()),
        Kind::Code | Kind::Data => long || lines >= 3,
    };
    holds.then_some(HandedOver { wish: None, kind, text: message })
}

/// The lines of a text that are not blank, trimmed.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

fn parse_wish(line: &str) -> Option<Wish> {
    let lower = line.to_lowercase();
    let first = lower.split_whitespace().find(|word| !["please", "can", "could", "you"].contains(word))?;
    let korean = table("korean_wishes").are_in(line) || !line.ends_with('?') && table("texts").are_in(line);
    (table("wishes").begin(first) || korean && cues::asks(line)).then(|| match () {
        _ if table("translation_wishes").are_in(&lower) => Wish::Translate,
        _ if table("summary_wishes").are_in(&lower) => Wish::Summarise,
        _ => Wish::Other,
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
    let before = match given.wish {
        Some(Wish::Translate) => Some(say(NO_TRANSLATION, korean)),
        Some(Wish::Other) => Some(say(ONLY_SHOWN, korean)),
        Some(Wish::Summarise) | None => None,
    };
    let (heading, mut shown) = match given.kind {
        Kind::Prose => {
            (["Key sentences of the text:", "이 글의 핵심 문장입니다."], key_sentences(given.text))
        }
        Kind::Code => (
            [
                "This is code, {} lines long. It begins and defines:",
                "코드로 보입니다({}줄). 정의하는 것들입니다.",
            ],
            definitions(given.text),
        ),
        Kind::Data => (
            ["This is data, {} lines long. It begins:", "데이터로 보입니다({}줄). 앞부분입니다."],
            Vec::new(),
        ),
    };
    let heading = say(heading, korean).replace("{}", &lines(given.text).count().to_string());
    if shown.is_empty() {
        shown = lines(given.text).take(MAX_KEY).map(|text| line(text, 160)).collect();
    }
    let shown: Vec<String> = shown.iter().map(|line| format!("- {line}")).collect();
    let next = given.wish.is_none().then(|| say(WHAT_NEXT, korean));
    let blocks = before.into_iter().chain([heading, shown.join("\n")]).chain(next);
    blocks.collect::<Vec<String>>().join("\n\n")
}

/// The lines of a code that name what it defines.
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
