//! Cues: what a text is by its first look: small talk, a word that points back, an article's number.

use super::lexicon::table;
use super::terms::{Term, terms};
use super::text::{is_hangul, words};

/// Most words of small talk.
const MAX_TALK: usize = 10;

/// Talk that asks for nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SmallTalk {
    Greeting,
    Thanks,
    Farewell,
    Laughter,
}

/// What kind of small talk a text is, if it is nothing else.
pub(super) fn small_talk(text: &str) -> Option<SmallTalk> {
    let mut kind = None;
    for (at, word) in words(text).enumerate() {
        let lower = word.text.to_lowercase();
        let laughs = lower.chars().all(|c| matches!(c, 'ㅋ' | 'ㅎ')) && lower.chars().nth(1).is_some();
        let found = match lower.as_str() {
            _ if at >= MAX_TALK => return None,
            word if table("thanks").has(word) => Some(SmallTalk::Thanks),
            word if table("greetings").has(word) => Some(SmallTalk::Greeting),
            word if table("farewells").has(word) => Some(SmallTalk::Farewell),
            word if laughs || table("laughter").has(word) => Some(SmallTalk::Laughter),
            word if table("fillers").has(word) => None,
            _ => return None,
        };
        // A greeting with thanks is thanks.
        if kind.is_none() || found == Some(SmallTalk::Thanks) {
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

/// Whether a text speaks of who writes it.
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

/// Whether a sentence asks or demands something.
pub(super) fn asks(sentence: &str) -> bool {
    let end = sentence.trim().trim_end_matches(['.', '!', '~', ' ', ':']);
    end.ends_with('?') || table("demands").end(end)
}
