//! Korean words: particles and endings are taken off by rule.
//!
//! A rule takes nothing off where too little would remain, or where the letters before it say that
//! it cannot be a particle: 사과, 도로, 나이 and 회의 stay whole. 신청하나, 신청했는데 and 신청한다 come from the
//! noun 신청 and are compared as that noun. Any other verb is compared by its stem alone (쉬나요, 쉽니다),
//! which says little: there is no dictionary here.

use std::sync::LazyLock;

use super::lexicon::{
    AFTER_ANY, AFTER_CONSONANT, AFTER_OPEN, AFTER_VOWEL, COMPOUND_ENDS, COPULAS, HELPERS, LOOSE_ENDINGS,
    NOUN_ENDS, SHORT_ENDS, STOP, STOP_HEADS, STOP_TAILS, VERB_ENDINGS, VERB_TAILS,
};
use super::text::{is_hangul, letters, syllable};

/// What the final consonant before a particle may be.
type Fits = fn(u32) -> bool;

/// Particles and endings, longest first. Taken off a word from its end, one after another.
static ENDS: LazyLock<Vec<(&str, Option<Fits>)>> = LazyLock::new(|| {
    let lists: [(&str, Option<Fits>); 4] = [
        (AFTER_ANY, None),
        (AFTER_CONSONANT, Some(|end| end != 0)),
        (AFTER_VOWEL, Some(|end| end == 0)),
        (AFTER_OPEN, Some(|end| end == 0 || end == RIEUL)),
    ];
    let ends = lists.into_iter().flat_map(|(list, fits)| list.split_whitespace().map(move |end| (end, fits)));
    let mut ends: Vec<(&str, Option<Fits>)> = ends.collect();
    ends.sort_by_key(|(end, _)| std::cmp::Reverse(end.len()));
    ends
});

/// The number of ㄹ as a final consonant.
const RIEUL: u32 = 8;
/// Final consonants that belong to an ending: ㄴ, ㄹ, ㅂ, ㅆ.
const FUSED: [u32; 4] = [4, RIEUL, 17, 20];
/// What makes a verb of a noun.
const MAKERS: &str = "하해했한할합함되돼됐된될됩됨받";
/// Ends that make a noun of a noun: 출장비 is about 출장.
const MADE: [char; 6] = ['비', '금', '일', '서', '료', '율'];

/// Whether a word asks, joins or is polite, and says nothing else.
pub(super) fn is_stop(word: &str) -> bool {
    let polite =
        |head: &str| word.strip_prefix(head).is_some_and(|rest| rest.is_empty() || STOP_TAILS.has(rest));
    STOP.has(word) || word.starts_with('몇') || STOP_HEADS.split_whitespace().any(polite)
}

/// The noun that a longer one was made of, of two syllables at least.
pub(super) fn made_of(noun: &str) -> Option<&str> {
    noun.strip_suffix(MADE).filter(|rest| rest.chars().nth(1).is_some())
}

/// Whether a run of Hangul right behind a Latin word or a number holds particles and endings only.
pub(super) fn is_ending(word: &str) -> bool {
    let known = |rest: &str| rest.is_empty() || ENDS.iter().any(|(end, _)| *end == rest);
    is_stop(word) || ENDS.iter().any(|(end, _)| word.strip_suffix(end).is_some_and(known))
}

/// Whether a word is joined to the next by a particle (저널과 픽스처).
pub(super) fn joins(word: &str) -> bool {
    ["와", "과", "하고", "이랑", "랑"].iter().any(|end| {
        let fits =
            |rest: &str| rest.chars().nth(1).is_some() && (!rest.ends_with(is_hangul) || stem(word) == rest);
        word.strip_suffix(end).is_some_and(fits)
    })
}

/// The word without its particles and endings.
pub(super) fn stem(word: &str) -> &str {
    (0..3).try_fold(word, |stem, _| shorter(stem).ok_or(stem)).unwrap_or_else(|stem| stem)
}

fn shorter(word: &str) -> Option<&str> {
    let ends = |nouns: &str| nouns.split_whitespace().any(|noun| word.ends_with(noun));
    if ends(NOUN_ENDS) || word.chars().nth(3).is_some() && ends(COMPOUND_ENDS) {
        return None;
    }
    ENDS.iter().find_map(|(end, fits)| {
        let rest = word.strip_suffix(end)?;
        let last = rest.chars().next_back()?;
        let fits = match fits {
            None => true,
            Some(fits) => fits(letters(last)?[2]),
        };
        let short = SHORT_ENDS.split_whitespace().any(|short| short == *end);
        (fits && (short || rest.chars().nth(1).is_some())).then_some(rest)
    })
}

/// What a predicate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Predicate<'a> {
    /// A noun: 신청하나.
    Noun(&'a str),
    /// Nothing but a verb: its stem.
    Verb(String),
}

/// What a word comes from; `None` for what is no predicate.
pub(super) fn predicate(word: &str) -> Option<Predicate<'_>> {
    let made = |(at, c): &(usize, char)| MAKERS.contains(*c) && VERB_TAILS.has(&word[at + c.len_utf8()..]);
    if let Some((at, _)) = word.char_indices().skip(2).find(made) {
        return Some(Predicate::Noun(&word[..at]));
    }
    if COPULAS.split_whitespace().any(|end| word.ends_with(end)) {
        return None;
    }
    let mut ends = VERB_ENDINGS.split_whitespace().filter(|end| *end != word);
    let rest = ends.find_map(|end| word.strip_suffix(end)).or_else(|| {
        // 바꾸면, but not 짜장면: 면 stands behind an open syllable.
        let rest = word.strip_suffix('면').filter(|rest| rest.chars().nth(1).is_some())?;
        let end = letters(rest.chars().next_back()?)?[2];
        (end == 0 || end == RIEUL).then_some(rest)
    })?;
    (!rest.is_empty()).then(|| Predicate::Verb(bare(rest)))
}

/// Whether a verb says nothing of what a question is about.
pub(super) fn is_helper(stem: &str) -> bool {
    HELPERS.has(stem)
}

/// The stem of a verb, or of what may be one: without the endings that are part of its last syllable.
pub(super) fn verb_stem(word: &str) -> String {
    if let Some(Predicate::Verb(stem)) = predicate(word) {
        return stem;
    }
    let mut rests = LOOSE_ENDINGS.split_whitespace().filter_map(|end| word.strip_suffix(end));
    bare(rests.find(|rest| !rest.is_empty()).unwrap_or(word))
}

/// Takes ㄴ, ㄹ, ㅂ and ㅆ off the last syllable, and makes one of two vowels two again: 렸 is 리.
fn bare(rest: &str) -> String {
    let mut stem = rest.to_owned();
    let Some(last) = stem.pop() else { return stem };
    let Some([lead, mut vowel, mut end]) = letters(last) else {
        stem.push(last);
        return stem;
    };
    end = if FUSED.contains(&end) { 0 } else { end };
    if end == 0 {
        // ㅕ comes of ㅣ, ㅝ of ㅜ, ㅘ of ㅗ.
        vowel = match vowel {
            6 => 20,
            14 => 13,
            9 => 8,
            other => other,
        };
    }
    stem.extend(syllable([lead, vowel, end]));
    stem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn particles_and_endings_go_and_nouns_that_look_like_them_stay() {
        for pair in "상태기계는:상태기계 상태기계란:상태기계 상태기계에서는:상태기계 문서까지만:문서 검색으로:검색 저널의:저널 계획을:계획
            저장되나요:저장 실행하려면:실행 검증이란:검증 서울에게도:서울 산은:산 파일들을:파일 사과:사과 도로:도로 나이:나이 회의:회의
            민주주의:민주주의 고양이:고양이 가을:가을 마을:마을 고속도로:고속도로 평가:평가 전문가:전문가 무제한:무제한 사과는:사과
            회의에서:회의".split_whitespace()
        {
            let (word, expected) = pair.split_once(':').unwrap_or_default();
            assert_eq!(stem(word), expected, "{word}");
        }
    }

    #[test]
    fn polite_words_and_question_words_say_nothing() {
        for word in "설명해줘 알려주세요 뭐야 뭐고 무엇인가요 어떻게 왜 얼마야 궁금해요".split_whitespace()
        {
            assert!(is_stop(word), "{word}");
        }
        for word in "설명서 감사원 알고리즘".split_whitespace() {
            assert!(!is_stop(word), "{word}");
        }
    }

    #[test]
    fn verbs_of_nouns_are_those_nouns_and_other_verbs_have_one_stem() {
        for word in "신청하나 신청한다 신청했나요 신청하는 신청하려면 신청합니다 신청됩니까 신청할까요 신청해야 신청받으려면 신청했는데"
            .split_whitespace()
        {
            assert_eq!(predicate(word), Some(Predicate::Noun("신청")), "{word}");
        }
        for family in [
            "쉬나요 쉽니다 쉬려면 쉬는데",
            "잃어버렸는데 잃어버리면 잃어버립니다",
            "바꾸면 바꾸나요 바꿨어요 바꿉니다",
            "늦으면 늦나요 늦었는데",
            "아플 아프면",
        ] {
            let stems: Vec<String> = family.split_whitespace().map(verb_stem).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{family}: {stems:?}");
        }
        for word in "회의입니다 휴가인가요 바다 지도 감기 편지 광고 짜장면 화면 회의 설명서 북한산 상태"
            .split_whitespace()
        {
            assert_eq!(predicate(word), None, "{word}");
        }
    }
}
