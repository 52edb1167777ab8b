//! Korean predicates: what is left of a verb when its endings go.
//!
//! 신청하나, 신청했는데 and 신청한다 all come from the noun 신청, and are compared as that noun. Any other
//! verb is compared by its stem alone (쉬나요, 쉽니다, 쉬는), which says little: there is no dictionary
//! here, so a verb is never what a question stands or falls by.

use super::list::Words;

/// What makes a verb of a noun.
const MAKERS: &str = "하해했한할합함되돼됐된될됩됨받";

/// What may follow there; anything else is part of a noun.
static TAILS: Words = Words::new(
    "
    다 나 나요 니 냐 느냐 는 는지 는지요 는지도 는데 는데요 는가 는가요 ㄴ가요 면 려면 려고 고 고서 고요 지 지요
    지만 죠 게 기 기가 기는 기를 기로 기에 기까지 며 면서 여 여서 여야 였다 였나요 였습니다 였는데 자 자면
    세요 십시오 시오 시나요 시는 시면 셨나요 실까요 야 야만 야지 요 서 서요 도 도록 거나 던 더라도 니다 니까
    니까요 까 까요 지는 지도 는다 는다면 다면 네 네요 군요 줘 줘요 주세요 주나요 주는 줄 습니까 습니다 었다
    었는데 었나요 은 을 을까요 은가요 으면 으려면 으려고 아 아요 아야 아서 아도 았다 았나요 았는데 으나 으며
    으니 으니까 ㄹ까요 을지 은지 지요 나봐 잖아 잖아요 더라 던데 던가요 던데요 는군요 는지를 는지가 는지는
",
);

/// Endings of other verbs that no noun ends in, longest first.
const ENDINGS: [&str; 52] = [
    "으려면",
    "으려고",
    "으니까",
    "습니까",
    "습니다",
    "더라도",
    "는지요",
    "는데요",
    "는가요",
    "은가요",
    "을까요",
    "는다면",
    "었는데",
    "았는데",
    "었나요",
    "았나요",
    "었어요",
    "았어요",
    "시나요",
    "었을",
    "았을",
    "세요",
    "나요",
    "까요",
    "려면",
    "려고",
    "는지",
    "는데",
    "는가",
    "을까",
    "을지",
    "으면",
    "으며",
    "으니",
    "어야",
    "아야",
    "어요",
    "아요",
    "어서",
    "아서",
    "어도",
    "아도",
    "었다",
    "았다",
    "는다",
    "다면",
    "니까",
    "니다",
    "도록",
    "거나",
    "면서",
    "던데",
];

/// Endings of "to be" behind a noun, which is no verb then.
const COPULAS: [&str; 13] = [
    "입니다",
    "입니까",
    "인가요",
    "이에요",
    "예요",
    "일까요",
    "일까",
    "인데",
    "인데요",
    "인지",
    "인지요",
    "이었나요",
    "이니까",
];

/// Verbs that only help another, or say that something is, is done or is had.
static HELPERS: Words = Words::new(
    "
    있 없 하 되 돼 주 쓰 싶 보 알리 알려주 알려주시 가르쳐주 말해주 설명해주 궁금하 어떻하 어떠하 어떻 이 아니 그러 그렇
    이러 않 못하 해주 해주시 주시 여쭤보 묻 여쭙 알고싶 알 모르 계시 하시 되시 있으 나 오 가
",
);

/// What a predicate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Predicate<'a> {
    /// A noun: 신청하나.
    Noun(&'a str),
    /// Nothing but a verb: its stem.
    Verb(String),
}

/// What a word comes from; `None` for what is no predicate.
pub(super) fn read(word: &str) -> Option<Predicate<'_>> {
    if let Some(noun) = noun(word) {
        return Some(Predicate::Noun(noun));
    }
    if COPULAS.iter().any(|end| word.ends_with(end)) {
        return None;
    }
    let rest =
        ENDINGS.iter().filter(|end| **end != word).find_map(|end| word.strip_suffix(end)).or_else(|| {
            // 바꾸면, but not 짜장면: 면 stands behind an open syllable.
            let rest = word.strip_suffix('면')?;
            (rest.chars().nth(1).is_some() && tail(rest).is_some_and(|tail| tail == 0 || tail == 8))
                .then_some(rest)
        })?;
    (!rest.is_empty()).then(|| Predicate::Verb(bare(rest)))
}

/// The noun that a verb was made of.
fn noun(word: &str) -> Option<&str> {
    let made = |(at, c): &(usize, char)| MAKERS.contains(*c) && TAILS.has(&word[at + c.len_utf8()..]);
    word.char_indices().skip(2).find(made).map(|(at, _)| &word[..at])
}

/// Whether a verb says nothing of what a question is about.
pub(super) fn is_helper(stem: &str) -> bool {
    HELPERS.has(stem)
}

/// The stem of a verb, or of what may be one: without the endings that are part of its last syllable.
pub(super) fn loose(word: &str) -> String {
    match read(word) {
        Some(Predicate::Verb(stem)) => stem,
        _ => bare(
            ["을", "은", "는", "고", "게", "지", "기", "다", "어", "아"]
                .iter()
                .filter_map(|end| word.strip_suffix(end))
                .find(|rest| !rest.is_empty())
                .unwrap_or(word),
        ),
    }
}

const SYLLABLES: u32 = 0xac00;

/// The final consonant of a syllable, 0 for none.
fn tail(text: &str) -> Option<u32> {
    let code = text.chars().next_back()? as u32;
    (0xac00..=0xd7a3).contains(&code).then(|| (code - SYLLABLES) % 28)
}

/// Takes ㄴ, ㄹ, ㅂ and ㅆ off the last syllable, and makes one of two vowels two again: 렸 is 리.
fn bare(rest: &str) -> String {
    // ㄴ 4, ㄹ 8, ㅂ 17, ㅆ 20.
    const FUSED: [u32; 4] = [4, 8, 17, 20];
    let mut stem = rest.to_owned();
    let Some(last) = stem.pop() else { return stem };
    let code = last as u32;
    if !(0xac00..=0xd7a3).contains(&code) {
        stem.push(last);
        return stem;
    }
    let (mut vowel, mut end) = ((code - SYLLABLES) / 28 % 21, (code - SYLLABLES) % 28);
    let past = end == 20;
    if FUSED.contains(&end) {
        end = 0;
    }
    // ㅕ comes of ㅣ, ㅝ of ㅜ, ㅘ of ㅗ, ㅐ of ㅏ in 했 alone.
    if end == 0 && (past || matches!(vowel, 6 | 14 | 9)) {
        vowel = match vowel {
            6 => 20,
            14 => 13,
            9 => 8,
            other => other,
        };
    }
    let lead = (code - SYLLABLES) / 28 / 21;
    stem.extend(char::from_u32(SYLLABLES + (lead * 21 + vowel) * 28 + end));
    stem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_of_nouns_are_those_nouns() {
        for word in [
            "신청하나",
            "신청하나요",
            "신청한다",
            "신청했나요",
            "신청하는",
            "신청하려면",
            "신청하면",
            "신청합니다",
            "신청됩니까",
            "신청되나요",
            "신청할까요",
            "신청하는지",
            "신청해야",
            "신청받으려면",
            "신청하세요",
            "신청했는데",
        ] {
            assert_eq!(read(word), Some(Predicate::Noun("신청")), "{word}");
        }
    }

    #[test]
    fn forms_of_one_verb_have_one_stem() {
        for family in [
            &["쉬나요", "쉽니다", "쉬려면", "쉬는데"][..],
            &["잃어버렸는데", "잃어버리면", "잃어버립니다", "잃어버렸습니다"],
            &["바꾸면", "바꾸나요", "바꿨어요", "바꿉니다"],
            &["늦으면", "늦나요", "늦었는데"],
        ] {
            for word in family {
                assert_eq!(loose(word), loose(family[0]), "{word}");
            }
        }
        assert_eq!(loose("아플"), loose("아프면"));
    }

    #[test]
    fn nouns_are_no_predicates() {
        for word in [
            "회의입니다",
            "휴가인가요",
            "바다",
            "지도",
            "감기",
            "편지",
            "광고",
            "짜장면",
            "화면",
            "회의",
            "설명서",
            "북한산",
            "상태",
        ] {
            assert_eq!(read(word), None, "{word}");
        }
    }
}
