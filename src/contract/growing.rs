//! A reply while it grows: which of its words are an answer so far, as far as that can be known. What comes later
//! may say otherwise: that a text was a thought, or stood beside a call.

use std::borrow::Cow;

use super::plan::find_labelled;
use super::read::{cut_thoughts, may_begin_tag, strip_thoughts, thought_tag};

/// Words beside a call are mostly fewer, in characters. An answer that is longer is shown as it comes.
const BESIDE_A_CALL: usize = 80;

/// Where in a reply its words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordsIn {
    /// The whole reply is words.
    Reply,
    /// The whole reply, if it asks for no call.
    ReplyWithoutCalls,
    /// What follows the label `Final Answer:`.
    FinalAnswer,
    /// The text `final` of the JSON object.
    Json,
}

impl WordsIn {
    /// The words of a reply that is `whole`, or of as much of it as has come, without thoughts.
    pub(crate) fn find(self, text: &str, whole: bool) -> String {
        let shown = if whole {
            strip_thoughts(text)
        } else {
            let come = text.rfind('<').filter(|&at| may_begin_tag(&text[at..]));
            cut_thoughts(text[..come.unwrap_or(text.len())].trim_start_matches('\u{feff}'), false).0
        };
        let words = match self {
            WordsIn::ReplyWithoutCalls if !whole && shown.chars().nth(BESIDE_A_CALL).is_none() => "",
            WordsIn::Reply | WordsIn::ReplyWithoutCalls => &shown,
            WordsIn::FinalAnswer if find_labelled(&shown, "Action:", &[]).is_some() => "",
            WordsIn::FinalAnswer => return find_labelled(&shown, "Final Answer:", &[]).unwrap_or_default(),
            WordsIn::Json => return find_final(&shown).unwrap_or_default().trim().to_owned(),
        };
        words.trim().to_owned()
    }
}

/// The thoughts of a whole reply, and its words. A thought stands between the tags of one or, in a reply with
/// thought and action, after `Thought:`.
pub(crate) fn split_thoughts(text: &str) -> (String, Cow<'_, str>) {
    let words = strip_thoughts(text);
    let labelled = find_labelled(&words, "Thought:", &["Action:", "Final Answer:", "Observation:"]);
    // Most replies show no thought between tags: nothing was taken out.
    if words.len() >= text.trim().len() {
        return (labelled.unwrap_or_default(), words);
    }
    let (mut thoughts, mut from, mut is_open) = (Vec::new(), 0, false);
    let tags = text.match_indices('<').filter_map(|(at, _)| Some((at, thought_tag(text, at)?)));
    for (at, (opens, length)) in tags {
        if !opens {
            thoughts.push(text[from..at].trim());
        }
        (from, is_open) = (at + length, opens);
    }
    if is_open {
        thoughts.push(text[from..].trim());
    }
    thoughts.extend(labelled.as_deref());
    thoughts.retain(|thought| !thought.is_empty());
    (thoughts.join("\n"), words)
}

/// The text `final` of the object that a reply begins, as far as it has come.
fn find_final(text: &str) -> Option<String> {
    let mut signs = ["{", "\"final\"", ":", "\""].into_iter();
    let text = signs.try_fold(&text[text.find('{')?..], |rest, sign| rest.trim_start().strip_prefix(sign))?;
    serde_json::from_str(&format!("\"{}\"", &text[..come_length(text)])).ok()
}

/// The length of what has come of a JSON text whole: no escape is cut.
fn come_length(text: &str) -> usize {
    let mut at = 0;
    while let Some(next) = text[at..].chars().next().filter(|next| *next != '"') {
        let rest = &text[at..];
        let is_unit = |unit: &str| unit.starts_with("\\u") && unit.len() == 6 && unit.is_ascii();
        let is_high = |unit: &str| matches!(unit[2..4].to_ascii_lowercase().as_bytes(), [b'd', b'8'..=b'b']);
        let length = match (next, rest.as_bytes().get(1), rest.get(..6)) {
            ('\\', None, _) | ('\\', Some(b'u'), None) => return at,
            ('\\', Some(b'u'), Some(unit)) if is_unit(unit) && is_high(unit) => 12,
            ('\\', Some(b'u'), _) => 6,
            ('\\', Some(_), _) => 2,
            _ => next.len_utf8(),
        };
        if !text.is_char_boundary(at + length) {
            return at;
        }
        at += length;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::{WordsIn, split_thoughts};

    /// A reply that grows by characters shows these words in the end, and none that it takes back.
    #[track_caller]
    fn check(words: WordsIn, text: &str, expected: &str) {
        let mut shown = String::new();
        for (end, next) in text.char_indices() {
            let now = words.find(&text[..end + next.len_utf8()], false);
            assert!(now.starts_with(&shown), "{shown:?} became {now:?}");
            shown = now;
        }
        let whole = words.find(text, true);
        assert!(whole.starts_with(&shown), "{shown:?} became {whole:?}");
        assert_eq!(whole, expected);
    }

    #[test]
    fn thoughts_are_no_words() {
        check(WordsIn::Reply, "<think>음, 둘</think>\n\n답은 3 < 4 이다.\n", "답은 3 < 4 이다.");
        check(WordsIn::Reply, "가 <reasoning>x < y</reasoning>나", "가 나");
        check(WordsIn::Reply, "태그 `<think>` 는 글", "태그 `<think>` 는 글");
        check(WordsIn::Reply, "<think>끝나지 않는", "");
    }

    #[test]
    fn string_of_an_object_is_words_as_it_grows() {
        check(
            WordsIn::Json,
            "```json\n{ \"final\" : \"가\\n\\\"나\\\" \\ud83e\\udd80 <b\"}\n```",
            "가\n\"나\" 🦀 <b",
        );
        check(WordsIn::Json, r#"<think>{"final": "x"}</think>{"final": "\uac00"}"#, "가");
        check(WordsIn::Json, r#"{"steps": []}"#, "");
        check(WordsIn::Json, "{\"final\": \"\\u가나다라마바사\"}", "");
    }

    #[test]
    fn what_follows_the_label_is_words() {
        check(WordsIn::FinalAnswer, "Thought: 안다\nFinal Answer: 하나\n둘", "하나\n둘");
        check(WordsIn::FinalAnswer, "Thought: x\nAction: calc\nAction Input: 1", "");
    }

    #[test]
    fn few_words_wait_for_the_end() {
        let long = "말 ".repeat(300);
        assert_eq!(WordsIn::ReplyWithoutCalls.find("찾아보겠습니다.", false), "");
        check(WordsIn::ReplyWithoutCalls, "짧다.", "짧다.");
        check(WordsIn::ReplyWithoutCalls, &long, long.trim());
    }

    #[test]
    fn thoughts_are_told_apart_from_words() {
        for (text, thoughts, words) in [
            ("둘", "", "둘"),
            ("<think>음</think> 둘", "음", "둘"),
            ("음</think>둘", "음", "둘"),
            ("<think>a</think>x<thinking>b</thinking>y", "a\nb", "xy"),
            ("<think>끝나지 않는", "끝나지 않는", ""),
            ("태그 `<think>` 는 글", "", "태그 `<think>` 는 글"),
        ] {
            assert_eq!(split_thoughts(text), (thoughts.to_owned(), words.into()), "{text}");
        }
        let react = "Thought: 찾자\nAction: search\nAction Input: 서울";
        assert_eq!(split_thoughts(react).0, "찾자");
    }
}
