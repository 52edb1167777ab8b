//! Cues: what a text is by its first look: small talk, a word that points back, an article's number.
//!
//! Lists and shapes of words, nothing more. What is not told by them is told by nobody here.

use super::list::Words;
use super::terms::{Term, terms};
use super::text::is_hangul;
use super::words::words;

/// Talk that asks for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SmallTalk {
    Greeting,
    Thanks,
    Farewell,
    Laughter,
}

static GREETINGS: Words = Words::new(
    "
    hello hi hey hiya greetings 안녕 안녕하세요 안녕하십니까 안녕하세용 안뇽 하이 헬로 반가워 반가워요 반갑습니다
    ㅎㅇ 여보세요
",
);
static THANKS: Words = Words::new(
    "
    thanks thank thx ty cheers appreciated 고마워 고마워요 고맙습니다 고마웠어 고마웠어요 감사 감사해 감사해요
    감사합니다 감사드려요 감사드립니다 감사했습니다 땡큐 ㄱㅅ 수고 수고했어 수고하셨습니다 수고하세요
",
);
static FAREWELLS: Words = Words::new("bye goodbye cya 잘가 잘있어 안녕히 바이");
static LAUGHTER: Words = Words::new("haha hahaha hehe lol lmao rofl 하하 하하하 헤헤");
/// What may stand beside them.
static FILLERS: Words = Words::new(
    "
    a again all and are day everyone for friend good great help how it lot morning afternoon evening much
    nice night ok okay perfect see so soon super that the there to very wow you your 정말 진짜 너무 많이
    다시 또 네 예 응 어 아 와 오 좋아 좋아요 좋습니다 좋네 좋네요 덕분에 도움 도움이 됐어 됐어요 되었어요
    되었습니다 모두 여러분 계세요 가세요 친구 친구야 그래 알겠습니다 알겠어 알겠어요 오늘도 좋은 하루 아침
    저녁 밤 보내세요 되세요 답변 답변해주셔서 알려주셔서 도와주셔서 도와줘서 알려줘서
",
);

/// Most words of small talk.
const MAX_TALK: usize = 10;

/// What kind of small talk a text is, where it is nothing else.
pub(super) fn small_talk(text: &str) -> Option<SmallTalk> {
    let mut kind = None;
    for (at, word) in words(text).enumerate() {
        let lower = word.text.to_lowercase();
        let laughs = lower.chars().all(|c| matches!(c, 'ㅋ' | 'ㅎ')) && lower.chars().nth(1).is_some();
        let found = match lower.as_str() {
            word if THANKS.has(word) => Some(SmallTalk::Thanks),
            word if GREETINGS.has(word) => Some(SmallTalk::Greeting),
            word if FAREWELLS.has(word) => Some(SmallTalk::Farewell),
            word if laughs || LAUGHTER.has(word) => Some(SmallTalk::Laughter),
            word if FILLERS.has(word) => None,
            _ => return None,
        };
        if at >= MAX_TALK {
            return None;
        }
        // Who greets and thanks wants to thank.
        if kind.is_none() || found == Some(SmallTalk::Thanks) {
            kind = found.or(kind);
        }
    }
    kind
}

/// Words that point to earlier turns wherever they stand.
const EARLIER: [&str; 22] = [
    "아까",
    "방금",
    "이전에",
    "앞에서",
    "위에서",
    "앞서",
    "그중",
    "나머지",
    "다른 건",
    "다른건",
    "무슨 말",
    "무슨 뜻",
    "무슨 의미",
    "다시 설명",
    "earlier",
    "previous",
    "you said",
    "above",
    "what do you mean",
    "explain again",
    "in other words",
    "say that again",
];
/// Words that do so at the beginning.
const OPENERS: [&str; 16] = [
    "그럼",
    "그러면",
    "그렇다면",
    "그런데",
    "근데",
    "그리고",
    "then ",
    "and ",
    "but ",
    "so ",
    "what about",
    "how about",
    "more",
    "what else",
    "any other",
    "why",
];
/// Words that stand for a noun; they point back where no noun stands before them.
static STAND_INS: Words =
    Words::new("it its they them their that this those these one ones he she him her more");
const HANGUL_STAND_INS: [&str; 9] = ["그것", "그거", "그건", "그게", "그걸", "거기", "이건", "이것", "저것"];

/// Whether a text points to earlier turns: by a word that refers, or by naming nothing of its own.
pub(super) fn refers(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    if EARLIER.iter().any(|word| lower.contains(word)) || lower == "then" {
        return true;
    }
    let own = terms(text);
    let names = own.iter().any(is_noun);
    if !names {
        return small_talk(text).is_none() && text.chars().any(char::is_alphanumeric);
    }
    // `why` and the like open a question of its own, too: they refer where it is short.
    let opens = OPENERS.iter().find(|word| lower.starts_with(*word));
    if opens.is_some_and(|word| *word != "why" && *word != "그런데") {
        return true;
    }
    stands_in(text)
        || (own.len() == 1
            && lower.trim_end_matches(['?', '!', '.', ' ']).ends_with(['은', '는', '도', '요'])
            && words(text).count() == 1)
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
        let points = STAND_INS.has(&lower) || HANGUL_STAND_INS.iter().any(|head| lower.starts_with(head));
        if points && !terms(&before).iter().any(is_noun) {
            match lower.as_str() {
                "more" => more = true,
                _ => return true,
            }
        }
        before.push_str(word.text);
        before.push(' ');
    }
    more
}

fn is_noun(term: &Term) -> bool {
    term.weight > 1 && !term.verb
}

/// Whether a text speaks of who writes it.
pub(super) fn is_about_the_speaker(text: &str) -> bool {
    let own = |word: &str| {
        matches!(
            word,
            "i" | "my"
                | "me"
                | "mine"
                | "i'm"
                | "am"
                | "나"
                | "내"
                | "내가"
                | "나는"
                | "난"
                | "나의"
                | "제"
                | "제가"
                | "저는"
                | "전"
                | "저의"
        )
    };
    words(text).any(|word| own(&word.text.to_lowercase()))
}

/// Whether a text names an article by its number: 제5조, article 5, § 5.
pub(super) fn names_an_article(text: &str) -> bool {
    let found: Vec<&str> = words(text).map(|word| word.text).collect();
    let number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let article = |word: &str| {
        matches!(
            word.to_lowercase().as_str(),
            "article" | "section" | "clause" | "paragraph" | "annex" | "schedule"
        )
    };
    found.windows(2).any(|pair| {
        number(&pair[0]) && pair[1].starts_with(['조', '항', '호']) && pair[1].chars().all(is_hangul)
            || article(pair[0]) && number(&pair[1])
    }) || text.contains('§')
}

/// Whether a sentence asks or demands something.
pub(super) fn asks(sentence: &str) -> bool {
    let end = sentence.trim().trim_end_matches(['.', '!', '~', ' ', ':']);
    let korean = [
        "줘",
        "줘요",
        "주세요",
        "주십시오",
        "나요",
        "까요",
        "습니까",
        "ㅂ니까",
        "입니까",
        "인가요",
        "는지",
        "뭐야",
        "뭔지",
        "하라",
        "해라",
        "하세요",
        "하시오",
        "부탁해",
        "부탁해요",
        "부탁드려요",
        "부탁드립니다",
        "싶어",
        "싶어요",
        "싶습니다",
        "할래",
    ];
    end.ends_with('?') || korean.iter().any(|ending| end.ends_with(ending))
}
