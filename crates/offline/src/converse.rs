//! Conversation: the answer where no tool was needed.
//!
//! Small talk is answered in kind, a text that was handed over is shown by its key sentences. What
//! takes a language model (to translate, to tell in other words) is not pretended.

use super::body::{self, Body, Kind, Wish, key_sentences};
use super::cues::{self, SmallTalk};
use super::text::{clean, is_hangul};

/// Most key sentences that are shown.
const MAX_KEY: usize = 3;

/// The answer to a message that needs no tool.
pub(super) fn answer(message: &str) -> String {
    easy(message).unwrap_or_else(|| {
        let korean = message.chars().any(is_hangul);
        say(
            korean,
            "I am not sure what you would like to know. Could you tell me a little more: what it is about, and what \
             I should find or work out?",
            "무엇을 원하시는지 분명하지 않습니다. 무엇에 대해 찾거나 계산해 드리면 되는지 조금 더 자세히 말씀해 주세요.",
        )
    })
}

/// The answer to small talk and to a text that was handed over; `None` for anything else.
pub(super) fn easy(message: &str) -> Option<String> {
    let message = clean(message, 40_000);
    let korean = message.chars().any(is_hangul);
    if let Some(kind) = cues::small_talk(&message) {
        return Some(small_talk(kind, korean));
    }
    body::read(&message).map(|body| about(&body, korean))
}

fn say(korean: bool, english: &str, hangul: &str) -> String {
    (if korean { hangul } else { english }).to_owned()
}

fn small_talk(kind: SmallTalk, korean: bool) -> String {
    match kind {
        SmallTalk::Greeting => {
            say(korean, "Hello! What can I do for you?", "안녕하세요! 무엇을 도와드릴까요?")
        }
        SmallTalk::Thanks => say(
            korean,
            "You are welcome! If there is anything else, just ask.",
            "별말씀을요! 더 궁금한 것이 있으면 말씀해 주세요.",
        ),
        SmallTalk::Farewell => say(korean, "Goodbye, and take care!", "안녕히 가세요! 좋은 하루 보내세요."),
        SmallTalk::Laughter => say(
            korean,
            "Glad to hear it! What shall we do next?",
            "즐거우시다니 좋네요! 무엇을 도와드릴까요?",
        ),
    }
}

fn about(body: &Body, korean: bool) -> String {
    let mut blocks: Vec<String> = Vec::new();
    if body.wish == Some(Wish::Translate) {
        blocks.push(say(
            korean,
            "I work by rule and without a language model, so I cannot translate. These are the key sentences as they \
             stand in the text:",
            "저는 언어 모델 없이 규칙으로 답하기 때문에 번역은 할 수 없습니다. 대신 본문의 핵심 문장을 그대로 옮깁니다.",
        ));
    } else if body.wish == Some(Wish::Other) {
        blocks.push(say(
            korean,
            "I work by rule and without a language model, so I can only show what stands in the text:",
            "저는 언어 모델 없이 규칙으로 답하기 때문에 본문에 있는 내용만 보여 드릴 수 있습니다.",
        ));
    }
    let lines = body.text.lines().filter(|line| !line.trim().is_empty()).count();
    blocks.push(match (body.kind, korean) {
        (Kind::Prose, false) => "Key sentences of the text:".to_owned(),
        (Kind::Prose, true) => "이 글의 핵심 문장입니다.".to_owned(),
        (Kind::Code, false) => format!("This is code, {lines} lines long. It begins and defines:"),
        (Kind::Code, true) => format!("코드로 보입니다({lines}줄). 정의하는 것들입니다."),
        (Kind::Data, false) => format!("This is data, {lines} lines long. It begins:"),
        (Kind::Data, true) => format!("데이터로 보입니다({lines}줄). 앞부분입니다."),
    });
    let shown = match body.kind {
        Kind::Prose => key_sentences(&body.text, MAX_KEY),
        Kind::Code => definitions(&body.text),
        Kind::Data => first_lines(&body.text),
    };
    let shown = if shown.is_empty() { first_lines(&body.text) } else { shown };
    blocks.push(shown.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n"));
    if body.wish.is_none() {
        blocks.push(say(
            korean,
            "What would you like next: a summary, an explanation of a part, or (with a language model) a translation?",
            "다음으로 무엇을 해 드릴까요? 요약, 자세한 설명, (언어 모델을 연결하면) 번역을 도와드릴 수 있습니다.",
        ));
    }
    blocks.join("\n\n")
}

fn first_lines(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.take(MAX_KEY).map(|line| super::text::line(line, 160)).collect()
}

/// The lines of a code that name what it defines.
fn definitions(text: &str) -> Vec<String> {
    const DEFINES: [&str; 10] =
        ["fn ", "def ", "class ", "struct ", "enum ", "trait ", "interface ", "func ", "function ", "impl "];
    let defines =
        |line: &&str| DEFINES.iter().any(|word| line.starts_with(word) || line.contains(&format!(" {word}")));
    let lines = text.lines().map(str::trim).filter(defines);
    lines.take(2 * MAX_KEY).map(|line| super::text::line(line, 160)).collect()
}
