//! Korean: particles and endings are taken off by rule.
//!
//! A rule takes nothing off where too little would remain, or where the letters before it say that
//! it cannot be a particle: 사과, 도로, 나이 and 회의 stay whole.

use super::text::{ends_in_consonant, ends_in_rieul, is_hangul};

/// What the syllable before a particle must end in.
#[derive(Clone, Copy, PartialEq)]
enum After {
    Any,
    Consonant,
    Vowel,
    /// A vowel or ㄹ.
    Open,
}

use After::{Any, Consonant, Open, Vowel};

/// Particles and endings, longest first. Taken off a word from its end, one after another.
const ENDS: &[(&str, After)] = &[
    ("이라는것은", Any),
    ("해주십시오", Any),
    ("하겠습니까", Any),
    ("하였습니까", Any),
    ("되었습니까", Any),
    ("해주세요", Any),
    ("했습니까", Any),
    ("이었나요", Any),
    ("되었나요", Any),
    ("하였나요", Any),
    ("이라면", Consonant),
    ("이라는", Consonant),
    ("이라고", Consonant),
    ("으로서", Consonant),
    ("으로써", Consonant),
    ("입니까", Any),
    ("합니까", Any),
    ("됩니까", Any),
    ("습니까", Any),
    ("입니다", Any),
    ("합니다", Any),
    ("됩니다", Any),
    ("인가요", Any),
    ("한가요", Any),
    ("하나요", Any),
    ("되나요", Any),
    ("했나요", Any),
    ("됐나요", Any),
    ("할까요", Any),
    ("될까요", Any),
    ("인지요", Any),
    ("하는지", Any),
    ("되는지", Any),
    ("하려면", Any),
    ("하려고", Any),
    ("이에요", Consonant),
    ("해줘요", Any),
    ("한다면", Any),
    ("에서는", Any),
    ("에서의", Any),
    ("해줘", Any),
    ("나요", Any),
    ("까지", Any),
    ("부터", Any),
    ("에서", Any),
    ("에게", Any),
    ("한테", Any),
    ("께서", Any),
    ("보다", Any),
    ("처럼", Any),
    ("마다", Any),
    ("조차", Any),
    ("밖에", Any),
    ("이나", Consonant),
    ("이란", Consonant),
    ("으로", Consonant),
    ("라는", Vowel),
    ("라면", Vowel),
    ("라고", Vowel),
    ("로서", Open),
    ("로써", Open),
    ("이랑", Consonant),
    ("하고", Any),
    ("되고", Any),
    ("하는", Any),
    ("되는", Any),
    ("하면", Any),
    ("되면", Any),
    ("하기", Any),
    ("되기", Any),
    ("하게", Any),
    ("되게", Any),
    ("하지", Any),
    ("되지", Any),
    ("하며", Any),
    ("되며", Any),
    ("해서", Any),
    ("돼서", Any),
    ("해야", Any),
    ("되어", Any),
    ("하여", Any),
    ("해요", Any),
    ("돼요", Any),
    ("했다", Any),
    ("됐다", Any),
    ("한다", Any),
    ("된다", Any),
    ("하다", Any),
    ("되다", Any),
    ("할까", Any),
    ("될까", Any),
    ("인가", Any),
    ("인지", Any),
    ("이야", Consonant),
    ("이다", Consonant),
    ("이고", Consonant),
    ("이며", Consonant),
    ("예요", Vowel),
    ("에요", Any),
    ("이죠", Consonant),
    ("들", Any),
    ("은", Consonant),
    ("는", Vowel),
    ("이", Consonant),
    ("가", Vowel),
    ("을", Consonant),
    ("를", Vowel),
    ("의", Any),
    ("에", Any),
    ("로", Open),
    ("와", Vowel),
    ("과", Consonant),
    ("도", Any),
    ("만", Any),
    ("란", Vowel),
    ("야", Vowel),
    ("랑", Vowel),
    ("된", Any),
    ("될", Any),
    ("한", Any),
    ("할", Any),
    ("해", Any),
];

/// Nouns that end like a noun with a particle; a word that ends in one of them stays whole. Few are
/// needed: a stem that is a syllable too short is still found inside its word.
const NOUN_ENDS: &[&str] = &[
    "민주주의",
    "자본주의",
    "사회주의",
    "개인주의",
    "국제회의",
    "고양이",
    "어린이",
    "호랑이",
    "원숭이",
    "달팽이",
    "쌍둥이",
    "난이도",
    "복잡도",
    "신뢰도",
    "만족도",
    "해상도",
    "정확도",
    "제주도",
    "경기도",
    "강원도",
    "고속도로",
    "권한",
    "제한",
    "기한",
    "상한",
    "하한",
    "최소한",
    "북한",
    "남한",
    "역할",
    "분할",
];

/// Nouns of one syllable, which particles of one syllable leave behind.
const SHORT_ENDS: [&str; 5] = ["은", "는", "을", "를", "에"];

/// Heads of words that ask or are polite.
const STOP_HEADS: &[&str] = &[
    "무엇",
    "무슨",
    "뭐",
    "뭔",
    "뭘",
    "어떻",
    "어떤",
    "어때",
    "어디",
    "어느",
    "언제",
    "누구",
    "누가",
    "얼마",
    "궁금",
    "알려",
    "설명",
    "말해",
    "말씀",
    "가르쳐",
    "보여줘",
    "보여주",
    "부탁",
    "주세요",
    "주십시오",
    "줘",
    "달라",
    "해줘",
    "해주",
    "안녕",
    "고마",
    "감사",
];

/// What may follow such a head in a word that still says nothing; anything else, as in 설명서, is a
/// noun.
const STOP_TAILS: &[&str] = &[
    "",
    "가",
    "는",
    "은",
    "을",
    "를",
    "이",
    "의",
    "에",
    "고",
    "며",
    "야",
    "지",
    "나",
    "요",
    "해",
    "인",
    "줘",
    "게",
    "해줘",
    "해요",
    "해주세요",
    "해주십시오",
    "해라",
    "하라",
    "하시오",
    "하고",
    "해줄래",
    "해봐",
    "이야",
    "이고",
    "이며",
    "인가",
    "인지",
    "인가요",
    "인데",
    "이에요",
    "에요",
    "예요",
    "였지",
    "입니까",
    "입니다",
    "일까",
    "일까요",
    "이죠",
    "죠",
    "주세요",
    "주십시오",
    "줄래",
    "줄래요",
    "주고",
    "줘요",
    "게요",
    "고싶어",
    "해주고",
    "한가요",
    "합니다",
    "할까",
    "할까요",
    "까지",
    "부터",
    "에서",
    "로",
    "으로",
    "인지요",
    "니",
    "냐",
    "려면",
    "는지",
    "하세요",
    "워",
    "워요",
    "건",
    "것",
    "라고",
    "만",
    "나요",
    "드려요",
    "드립니다",
];

/// Whole words that say nothing of what a question is about.
const STOP: &[&str] = &[
    "은",
    "는",
    "이",
    "가",
    "을",
    "를",
    "의",
    "에",
    "에서",
    "와",
    "과",
    "로",
    "으로",
    "도",
    "만",
    "란",
    "이란",
    "야",
    "이야",
    "왜",
    "왜요",
    "좀",
    "잘",
    "더",
    "또",
    "및",
    "그",
    "이것",
    "그것",
    "저것",
    "것",
    "거",
    "게",
    "수",
    "때",
    "등",
    "또는",
    "혹은",
    "그리고",
    "또한",
    "그런데",
    "하지만",
    "그러면",
    "그럼",
    "있는",
    "있나",
    "있나요",
    "있어",
    "있어요",
    "있습니까",
    "있다",
    "없는",
    "없나요",
    "없어",
    "없다",
    "하는",
    "하나",
    "하나요",
    "하면",
    "하고",
    "하려면",
    "해야",
    "할",
    "한",
    "하지",
    "하죠",
    "합니까",
    "해",
    "했어",
    "되는",
    "되나",
    "되나요",
    "되면",
    "되지",
    "된",
    "될",
    "됩니까",
    "돼",
    "되어",
    "같은",
    "대해",
    "대해서",
    "대한",
    "관해",
    "관해서",
    "관한",
    "위해",
    "위한",
    "통해",
    "따라",
    "따른",
    "사이",
    "사이의",
    "중",
    "경우",
    "모두",
    "나",
    "내",
    "나는",
    "내가",
    "저",
    "제",
    "제가",
    "저는",
    "우리",
    "너",
    "당신",
    "이게",
    "그게",
    "이건",
    "그건",
    "몇",
    "몇개",
    "차이",
    "차이점",
    "비교",
    "비교해줘",
    "비교하면",
    "다른",
    "다르지",
    "다른가요",
    "달라",
    "무엇",
    "쓰는",
    "쓰나요",
    "써",
    "쓰지",
    "인가요",
    "입니까",
    "이며",
    "이고",
    "라는",
    "이라는",
    "인지",
    "줘",
    "주세요",
    "그대로",
    "바로",
    "가장",
    "매우",
    "아주",
    "여기",
    "거기",
    "저기",
    "뜻",
    "뜻이",
    "뜻은",
    "의미",
    "의미는",
    "의미가",
];

/// Stems that say little of what a question is about.
const GENERIC: &[&str] = &[
    "사용",
    "방법",
    "예시",
    "예",
    "예제",
    "종류",
    "이유",
    "역할",
    "기능",
    "작동",
    "동작",
    "개념",
    "정의",
    "특징",
    "내용",
    "정보",
    "목적",
    "과정",
    "방식",
    "문제",
    "요약",
    "정리",
    "개요",
    "소개",
    "상세",
    "최신",
    "현재",
    "오늘",
    "이름",
    "부분",
    "필요",
    "가능",
    "사람",
    "가지",
    "만드",
    "만들",
    "일",
    "처음",
    "생기",
    "바꾸",
    "가리키",
];

pub(super) fn is_generic(stem: &str) -> bool {
    GENERIC.contains(&stem)
}

/// Whether a word asks, joins or is polite, and says nothing else.
pub(super) fn is_stop(word: &str) -> bool {
    STOP.contains(&word)
        || STOP_HEADS
            .iter()
            .any(|head| word.strip_prefix(head).is_some_and(|rest| STOP_TAILS.contains(&rest)))
}

/// Whether a run of Hangul right behind a Latin word or a number holds particles and endings only.
pub(super) fn is_ending(word: &str) -> bool {
    is_stop(word)
        || ENDS.iter().any(|(end, _)| {
            word.strip_suffix(end).is_some_and(|rest| rest.is_empty() || is_ending_once(rest))
        })
}

fn is_ending_once(word: &str) -> bool {
    ENDS.iter().any(|(end, _)| *end == word)
}

/// Whether a word ends one question and another follows (저널은 뭐고 …).
pub(super) fn ends_question(word: &str) -> bool {
    let word = word.trim_end_matches(',');
    [
        "뭐고",
        "뭐며",
        "무엇이고",
        "무엇이며",
        "얼마고",
        "얼마이고",
        "누구고",
        "누구이고",
        "어디고",
        "언제고",
        "인지",
    ]
    .iter()
    .any(|end| word.ends_with(end))
}

/// Whether a word stands for something named before.
pub(super) fn refers_back(word: &str) -> bool {
    ["그것", "이것", "그게", "이게", "그건", "이건", "거기", "여기"].iter().any(|head| word.starts_with(head))
}

/// Whether a text compares.
pub(super) fn compares(text: &str) -> bool {
    ["차이", "비교", "다른", "다르", "달라", "구별", "구분"].iter().any(|word| text.contains(word))
}

/// Whether a word is joined to the next by a particle (저널과 픽스처).
pub(super) fn joins(word: &str) -> bool {
    ["와", "과", "하고", "이랑", "랑"].iter().any(|end| {
        let rest = word.strip_suffix(end);
        rest.is_some_and(|rest| {
            rest.chars().nth(1).is_some() && (!rest.ends_with(is_hangul) || stem(word) == rest)
        })
    })
}

/// The word without its particles and endings.
pub(super) fn stem(word: &str) -> &str {
    let mut stem = word;
    for _ in 0..3 {
        let Some(shorter) = shorter(stem) else { break };
        stem = shorter;
    }
    stem
}

fn shorter(word: &str) -> Option<&str> {
    if NOUN_ENDS.iter().any(|noun| word.ends_with(noun)) {
        return None;
    }
    ENDS.iter().find_map(|(end, after)| {
        let rest = word.strip_suffix(end)?;
        let last = rest.chars().next_back()?;
        let fits = match after {
            Any => true,
            Consonant => ends_in_consonant(last)?,
            Vowel => !ends_in_consonant(last)?,
            Open => !ends_in_consonant(last)? || ends_in_rieul(last),
        };
        let long_enough = rest.chars().nth(1).is_some() || SHORT_ENDS.contains(end);
        (fits && long_enough).then_some(rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn particles_and_endings_go() {
        for (word, expected) in [
            ("상태기계는", "상태기계"),
            ("상태기계란", "상태기계"),
            ("상태기계에서는", "상태기계"),
            ("문서에서", "문서"),
            ("문서까지만", "문서"),
            ("검색으로", "검색"),
            ("저널의", "저널"),
            ("계획을", "계획"),
            ("저장되나요", "저장"),
            ("실행하려면", "실행"),
            ("검증이란", "검증"),
            ("서울에게도", "서울"),
            ("산은", "산"),
            ("물을", "물"),
            ("파일들을", "파일"),
        ] {
            assert_eq!(stem(word), expected, "{word}");
        }
    }

    #[test]
    fn nouns_that_look_like_noun_and_particle_stay() {
        for word in [
            "사과",
            "도로",
            "나이",
            "회의",
            "민주주의",
            "고양이",
            "가을",
            "마을",
            "고속도로",
            "평가",
            "전문가",
            "무제한",
        ] {
            assert_eq!(stem(word), word);
        }
        assert_eq!(stem("사과는"), "사과");
        assert_eq!(stem("회의에서"), "회의");
    }

    #[test]
    fn polite_words_and_question_words_say_nothing() {
        for word in
            ["설명해줘", "알려주세요", "뭐야", "뭐고", "무엇인가요", "어떻게", "왜", "얼마야", "궁금해요"]
        {
            assert!(is_stop(word), "{word}");
        }
        for word in ["설명서", "감사원", "알고리즘"] {
            assert!(!is_stop(word), "{word}");
        }
    }
}
