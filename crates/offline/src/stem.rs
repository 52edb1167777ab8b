//! Stems: what the forms of a word have in common. A stem is no word; it is only compared with other stems.
//!
//! Korean particles and endings are taken off by rule, without a dictionary; 사과, 도로, 나이 and 회의 stay as they
//! are. 신청하나, 신청했는데 and 신청한다 come from the noun 신청 and are compared as that noun. Any other
//! verb is compared by its stem alone (쉬나요, 쉽니다), which says little.

use std::sync::LazyLock;

use super::lexicon::{Words, table};
use super::text::is_hangul;

/// The stem of a lower-case English word, so that `validates`, `validating` and `validation` meet.
pub(super) fn english(word: &str) -> String {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut pairs = table("irregular").iter();
    let irregular = pairs.position(|form| form == word).filter(|at| at % 2 == 0).and_then(|_| pairs.next());
    let singular = singular(irregular.unwrap_or(word));
    let has_vowel = |rest: &&str| rest.len() >= 3 && rest.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    let formed = |rest: &&str| rest.len() >= 4 && rest.ends_with(['t', 's']);
    let verb = ["ing", "ed"].iter().find_map(|end| singular.strip_suffix(end).filter(has_vowel));
    let noun = || ["ion", "or"].iter().find_map(|end| singular.strip_suffix(end).filter(formed));
    let base = verb.or_else(noun).unwrap_or(&singular);
    let base = base.strip_suffix('e').filter(|rest| rest.len() >= 3).unwrap_or(base);
    // `installation` has lost its `ion` and is an `install`.
    let base = base.strip_suffix("at").filter(|rest| rest.len() >= 5).unwrap_or(base);
    // `planning` loses one of its two n, and so does `fall`, on both sides of a comparison.
    let base = match base.as_bytes() {
        [.., before, last] if before == last && base.len() > 3 && !b"aeiou".contains(last) => {
            &base[..base.len() - 1]
        }
        _ => base,
    };
    match base.strip_suffix('y').filter(|rest| rest.len() > 2) {
        Some(rest) => format!("{rest}i"),
        None => base.to_owned(),
    }
}

fn singular(word: &str) -> String {
    let ends = |ends: &[&str]| ends.iter().any(|end| word.ends_with(end));
    match word.len() {
        5.. if ends(&["ies", "ied"]) => format!("{}y", &word[..word.len() - 3]),
        5.. if ends(&["sses", "shes", "ches", "xes", "zes"]) => word[..word.len() - 2].to_owned(),
        4.. if ends(&["s"]) && !ends(&["ss", "us", "is"]) => word[..word.len() - 1].to_owned(),
        _ => word.to_owned(),
    }
}

/// What the final consonant before a particle may be, by its number; no consonant is 0.
type Fits = fn(u32) -> bool;

/// Particles and endings, longest first. Taken off a word from its end, one after another.
static ENDS: LazyLock<Vec<(&str, Fits)>> = LazyLock::new(|| {
    let lists: [(&Words, Fits); 4] = [
        (table("after_any"), |_| true),
        (table("after_consonant"), |end| !matches!(end, 0 | NO_SYLLABLE)),
        (table("after_vowel"), |end| end == 0),
        (table("after_open"), |end| end == 0 || end == RIEUL),
    ];
    let mut ends: Vec<(&str, Fits)> =
        lists.into_iter().flat_map(|(list, fits)| list.iter().map(move |end| (end, fits))).collect();
    ends.sort_by_key(|(end, _)| std::cmp::Reverse(end.len()));
    ends
});

/// The number of ㄹ as a final consonant.
const RIEUL: u32 = 8;
/// Stands for the final consonant of what is no syllable.
const NO_SYLLABLE: u32 = 99;
const FIRST_SYLLABLE: u32 = 0xac00;
const MAKERS: &str = "하해했한할합되돼됐된될됩됨받";

fn final_consonant(word: &str) -> u32 {
    let syllable = word.chars().next_back().filter(|c| matches!(c, '\u{ac00}'..='\u{d7a3}'));
    syllable.map_or(NO_SYLLABLE, |c| (c as u32 - FIRST_SYLLABLE) % 28)
}

fn has_two_letters(text: &str) -> bool {
    text.chars().nth(1).is_some()
}

/// Whether a Korean word asks, joins or is polite, and says nothing else.
pub(super) fn is_stop(word: &str) -> bool {
    let tail = |rest: &str| rest.is_empty() || table("stop_tails").has(rest);
    let polite = |head: &str| word.strip_prefix(head).is_some_and(tail);
    table("stop").has(word) || word.starts_with('몇') || table("stop_heads").iter().any(polite)
}

pub(super) fn made_of(noun: &str) -> Option<&str> {
    noun.strip_suffix(['비', '금', '일', '서', '율']).filter(|rest| has_two_letters(rest))
}

/// Whether a run of Hangul right behind a Latin word or a number holds particles and endings only.
pub(super) fn is_ending(word: &str) -> bool {
    let known = |rest: &str| rest.is_empty() || ENDS.iter().any(|(end, _)| *end == rest);
    is_stop(word) || ENDS.iter().any(|(end, _)| word.strip_suffix(end).is_some_and(known))
}

/// Whether a word is joined to the next by a particle (저널과 픽스처).
pub(super) fn joins(word: &str) -> bool {
    let fits = |rest: &str| has_two_letters(rest) && (!rest.ends_with(is_hangul) || korean(word) == rest);
    ["와", "과", "하고", "이랑", "랑"].iter().any(|end| word.strip_suffix(end).is_some_and(fits))
}

pub(super) fn korean(word: &str) -> &str {
    (0..3).try_fold(word, |stem, _| without_end(stem).ok_or(stem)).unwrap_or_else(|stem| stem)
}

fn without_end(word: &str) -> Option<&str> {
    if table("whole").has(word)
        || table("noun_ends").end(word)
        || word.chars().nth(3).is_some() && table("compound_ends").end(word)
    {
        return None;
    }
    ENDS.iter().find_map(|(end, fits)| {
        let rest = word.strip_suffix(end)?;
        let long = has_two_letters(rest) || !rest.is_empty() && table("short_ends").has(end);
        (long && fits(final_consonant(rest))).then_some(rest)
    })
}

pub(super) enum Predicate<'a> {
    /// A noun: 신청하나.
    Noun(&'a str),
    /// Nothing but a verb: its stem.
    Verb(String),
}

/// What a Korean word comes from; `None` if it is no predicate.
pub(super) fn predicate(word: &str) -> Option<Predicate<'_>> {
    let made =
        |(at, c): &(usize, char)| MAKERS.contains(*c) && table("verb_tails").has(&word[at + c.len_utf8()..]);
    if let Some((at, _)) = word.char_indices().skip(2).find(made) {
        return Some(Predicate::Noun(&word[..at]));
    }
    if table("copulas").end(word) || table("whole").has(word) || table("noun_ends").end(word) {
        return None;
    }
    // 바꿔야, 받아, 넘게: the last syllable of the stem has taken up the ending.
    let bared = ["요", "야", "도", "서"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
    let spoken = bared
        .strip_suffix(['아', '어'])
        .filter(|rest| !matches!(final_consonant(rest), 0 | 1 | 4 | 16 | 21 | NO_SYLLABLE));
    let how = word.strip_suffix('게').filter(|rest| !rest.is_empty() && !rest.ends_with(['에', '한', '하']));
    let fused = Some(bared).filter(|rest| table("fused").end(rest) && has_two_letters(rest));
    if let Some(rest) = how.or(spoken).or(fused) {
        return Some(Predicate::Verb(bare(rest)));
    }
    let mut ends = table("verb_endings").iter().filter(|end| *end != word);
    // 바꾸면, but not 짜장면: 면 stands behind an open syllable.
    let open = |rest: &&str| has_two_letters(rest) && matches!(final_consonant(rest), 0 | RIEUL);
    let rest = ends.find_map(|end| word.strip_suffix(end)).or(word.strip_suffix('면').filter(open))?;
    (!rest.is_empty()).then(|| Predicate::Verb(bare(rest)))
}

/// Whether a Korean word is a verb by what follows it or by a past tense: 키울 수, 내야 해, 쓰기로 했.
pub(super) fn stands_as_verb(word: &str, next: Option<&str>) -> bool {
    let before = |heads: &str| next.is_some_and(|next| table(heads).begin(next));
    // ㅆ ends a past tense.
    let past = |c: char| final_consonant(c.encode_utf8(&mut [0; 4])) == 20;
    // ㅏ, ㅐ, ㅓ, ㅕ, ㅘ, ㅙ, ㅝ.
    let is_joined = |c: char| matches!((c as u32 - FIRST_SYLLABLE) / 28 % 21, 0 | 1 | 4 | 6 | 9 | 10 | 14);
    let joined = |rest: &str| final_consonant(rest) == 0 && rest.chars().next_back().is_some_and(is_joined);
    final_consonant(word) == RIEUL && before("after_future")
        || word.strip_suffix(['야', '도', '서']).is_some_and(joined) && before("after_joined")
        || word.ends_with("기로") && before("after_intent")
        || table("short_verbs").has(word)
        || word.chars().any(past)
}

/// The stem of a verb, or of what may be one: without the endings that are part of its last syllable.
pub(super) fn verb(word: &str) -> String {
    if let Some(Predicate::Verb(stem)) = predicate(word) {
        return stem;
    }
    let mut rests = table("loose_endings").iter().filter_map(|end| word.strip_suffix(end));
    bare(rests.find(|rest| !rest.is_empty()).unwrap_or(word))
}

/// Takes ㄴ, ㄹ, ㅂ and ㅆ off the last syllable, and makes one of two vowels two again: 렸 is 리.
fn bare(rest: &str) -> String {
    let (Some(last), end) = (rest.chars().next_back(), final_consonant(rest)) else { return String::new() };
    let open = match end {
        NO_SYLLABLE => return rest.to_owned(),
        0 | 4 | RIEUL | 17 | 20 => true,
        _ => false,
    };
    let code = last as u32 - FIRST_SYLLABLE;
    let (lead, vowel) = (code / 588, code / 28 % 21);
    // ㅕ comes of ㅣ, ㅝ of ㅜ, ㅘ of ㅗ.
    let (vowel, end) = match vowel {
        _ if !open => (vowel, end),
        6 => (20, 0),
        14 => (13, 0),
        9 => (8, 0),
        vowel => (vowel, 0),
    };
    let bare = char::from_u32(FIRST_SYLLABLE + (lead * 21 + vowel) * 28 + end);
    rest[..rest.len() - last.len_utf8()].chars().chain(bare).collect()
}
