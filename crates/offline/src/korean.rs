//! Korean: particles and endings are taken off by rule.
//!
//! A rule takes nothing off where too little would remain, or where the letters before it say that
//! it cannot be a particle: 사과, 도로, 나이 and 회의 stay whole.

use std::sync::LazyLock;

use super::list::Words;
use super::text::{ends_in_consonant, ends_in_rieul, is_hangul};

/// What the syllable before a particle must end in.
#[derive(Clone, Copy)]
enum After {
    Any,
    Consonant,
    Vowel,
    /// A vowel or ㄹ.
    Open,
}

use After::{Any, Consonant, Open, Vowel};

/// Particles and endings, by what stands before them.
const AFTER_ANY: &str = "
    이라는것은 해주십시오 하겠습니까 하였습니까 되었습니까 해주세요 했습니까 이었나요 되었나요 하였나요 입니까
    합니까 됩니까 습니까 입니다 합니다 됩니다 인가요 한가요 하나요 되나요 했나요 됐나요 할까요 될까요
    인지요 하는지 되는지 하려면 하려고 해줘요 한다면 에서는 에서의 해줘 나요 까지 부터 에서 에게 한테
    께서 보다 처럼 마다 조차 밖에 하고 되고 하는 되는 하면 되면 하기 되기 하게 되게 하지 되지 하며
    되며 해서 돼서 해야 되어 하여 해요 돼요 했다 됐다 한다 된다 하다 되다 할까 될까 인가 인지 에요 들
    의 에 도 만 된 될 한 할 해
";
const AFTER_CONSONANT: &str = "
    이라는데요 인데요 이요 은요 이라면 이라는 이면 이라고 으로서 으로써 이에요 이나 이란 으로 이랑 이야 이다 이고 이며 이죠 은 이 을 과
";
const AFTER_VOWEL: &str = "
    는요 가요 죠 지요 라는 라면 라고 예요 는 가 를 와 란 야 랑
";
const AFTER_OPEN: &str = "
    로서 로써 로
";

/// Particles and endings, longest first. Taken off a word from its end, one after another.
static ENDS: LazyLock<Vec<(&str, After)>> = LazyLock::new(|| {
    let lists = [(AFTER_ANY, Any), (AFTER_CONSONANT, Consonant), (AFTER_VOWEL, Vowel), (AFTER_OPEN, Open)];
    let pairs =
        lists.into_iter().flat_map(|(list, after)| list.split_whitespace().map(move |end| (end, after)));
    let mut ends: Vec<(&str, After)> = pairs.collect();
    ends.sort_by_key(|(end, _)| std::cmp::Reverse(end.len()));
    ends
});

/// Nouns that end like a noun with a particle; a word that ends in one of them stays whole. Few are
/// needed: a stem that is a syllable too short is still found inside its word.
static NOUN_ENDS: Words = Words::new(
    "
    민주주의 자본주의 사회주의 개인주의 국제회의 고양이 어린이 호랑이 원숭이 달팽이 쌍둥이 난이도 복잡도
    신뢰도 만족도 해상도 정확도 제주도 경기도 강원도 고속도로 권한 제한 기한 상한 하한 최소한 북한 남한
    역할 분할
",
);

/// Nouns of two syllables that end like a particle, where they end a longer noun (출산휴가).
const COMPOUND_ENDS: [&str; 22] = [
    "휴가", "평가", "국가", "물가", "단가", "허가", "추가", "문의", "회의", "강의", "동의", "한도", "제도",
    "온도", "속도", "빈도", "용도", "결과", "효과", "성과", "경로", "차이",
];

/// Ends that make a noun of a noun: 출장비 is about 출장.
const MADE: [char; 6] = ['비', '금', '일', '서', '료', '율'];

/// Nouns of one syllable, which particles of one syllable leave behind.
const SHORT_ENDS: [&str; 5] = ["은", "는", "을", "를", "에"];

/// Heads of words that ask or are polite.
static STOP_HEADS: Words = Words::new(
    "
    무엇 무슨 뭐 뭔 뭘 어떻 어떤 어때 어디 어느 언제 누구 누가 얼마 궁금 알려 설명 말해 말씀 가르쳐
    보여줘 보여주 부탁 주세요 주십시오 줘 달라 해줘 해주 안녕 고마 감사
",
);

/// What may follow such a head in a word that still says nothing; anything else, as in 설명서, is a
/// noun.
static STOP_TAILS: Words = Words::new(
    "
    가 는 은 을 를 이 의 에 고 며 야 지 나 요 해 인 줘 게 해줘 해요 해주세요 해주십시오 해라 하라
    하시오 하고 해줄래 해봐 이야 이고 이며 인가 인지 인가요 인데 이에요 에요 예요 였지 입니까 입니다
    일까 일까요 이죠 죠 주세요 주십시오 줄래 줄래요 주고 줘요 게요 고싶어 해주고 한가요 합니다 할까
    할까요 까지 부터 에서 로 으로 인지요 니 냐 려면 는지 하세요 워 워요 건 것 라고 만 나요 드려요
    드립니다 주실 주시 주실래요 주시겠어요 주실수 주시면 주시길
",
);

/// Whole words that say nothing of what a question is about.
static STOP: Words = Words::new(
    "
    없이 면 이면 은 는 이 가 을 를 의 에 에서 와 과 로 으로 도 만 란 이란 야 이야 왜 왜요 좀 잘 더 또 및 그
    이것 그것 저것 것 거 게 수 때 등 또는 혹은 그리고 또한 그런데 하지만 그러면 그럼 있는 있나 있나요
    있어 있어요 있습니까 있다 없는 없나요 없어 없다 하는 하나 하나요 하면 하고 하려면 해야 할 한 하지
    하죠 합니까 해 했어 되는 되나 되나요 되면 되지 된 될 됩니까 돼 되어 같은 대해 대해서 대한 관해
    관해서 관한 위해 위한 통해 따라 따른 사이 사이의 중 경우 모두 나 내 나는 내가 저 제 제가 저는
    우리 너 당신 이게 그게 이건 그건 몇 몇개 차이 차이점 비교 비교해줘 비교하면 다른 다르지 다른가요
    달라 무엇 쓰는 쓰나요 써 쓰지 인가요 입니까 이며 이고 라는 이라는 인지 줘 주세요 그대로 바로 가장
    매우 아주 며칠 몇일 얼마나 어디서 어디에 혹시 실례지만 시 안 나서 쓸 있을 없을 할수 뭔가 좀더 제발 그냥
    있는지 없는지 되는지 하는지 싶어 싶어요 싶은데 싶습니다 싶은데요 쓰려면 쓰면 쓸수 주실 주시면 대해서도 하면은
    알려 알고 남아 안녕하세요 반가워 반갑습니다 안되는 안돼 여기 거기 저기 뜻 뜻이 뜻은 의미 의미는 의미가
",
);

/// Stems that say little of what a question is about.
static GENERIC: Words = Words::new(
    "
    사용 방법 예시 예 예제 종류 이유 역할 기능 작동 동작 개념 정의 특징 내용 정보 목적 과정 방식 문제
    요약 정리 개요 소개 상세 최신 현재 오늘 이름 부분 필요 가능 사람 가지 만드 만들 일 처음 생기 바꾸
    가리키 자주 여부 관련 절차
",
);

/// Ends of words behind which another question follows.
static QUESTION_ENDS: Words =
    Words::new("뭐고 뭐며 무엇이고 무엇이며 얼마고 얼마이고 누구고 누구이고 어디고 언제고 인지");

pub(super) fn is_generic(stem: &str) -> bool {
    GENERIC.has(stem)
}

/// Whether a word asks, joins or is polite, and says nothing else.
pub(super) fn is_stop(word: &str) -> bool {
    STOP.has(word)
        || word.starts_with('몇')
        || STOP_HEADS
            .iter()
            .any(|head| word.strip_prefix(head).is_some_and(|rest| rest.is_empty() || STOP_TAILS.has(rest)))
}

/// The noun that a longer one was made of, of two syllables at least.
pub(super) fn made_of(noun: &str) -> Option<&str> {
    noun.strip_suffix(MADE).filter(|rest| rest.chars().nth(1).is_some())
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
    QUESTION_ENDS.iter().any(|end| word.ends_with(end))
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
    let compound = word.chars().nth(3).is_some() && COMPOUND_ENDS.iter().any(|noun| word.ends_with(noun));
    if compound || NOUN_ENDS.iter().any(|noun| word.ends_with(noun)) {
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
