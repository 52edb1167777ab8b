//! Scope: whether a question has to do with the material at hand.
//!
//! Only a question that names something, and nothing that the material or a contract speaks of, is
//! turned away, and only where the parts of the material are known. A greeting, an article's number,
//! a word that points back and a question that names nothing are all in scope.

use serde_json::{Value, json};

use super::cues;
use super::list::Words;
use super::request::Payload;
use super::terms::{Vocabulary, terms};
use super::text::{clean, is_hangul, line};

/// What contracts speak of, in English.
static ENGLISH: Words = Words::new(
    "
    agreement amendment annex arbitration article assignment breach clause compensation confidential
    confidentiality consideration contract copyright counterparty damages deadline default defect delivery
    dispute duration expiry expire fee force governing guarantee indemnity inspection insurance invoice
    jurisdiction lease liability licence license negotiate notice obligation party parties patent pay payment
    penalty price privacy refund renewal renew rent right rights royalty schedule section sign signature
    standard subcontract supplier survive tax term terminate termination terms trademark warranty withdraw
",
);
/// What contracts speak of, in Korean; found inside words.
const KOREAN: [&str; 56] = [
    "계약",
    "조항",
    "조문",
    "약관",
    "당사자",
    "위약",
    "해지",
    "해제",
    "손해",
    "배상",
    "비밀",
    "대금",
    "대가",
    "지급",
    "납품",
    "기한",
    "기간",
    "갱신",
    "연장",
    "보증",
    "책임",
    "의무",
    "권리",
    "특약",
    "부칙",
    "서명",
    "날인",
    "관할",
    "분쟁",
    "중재",
    "지식재산",
    "저작권",
    "특허",
    "양도",
    "하자",
    "검수",
    "이행",
    "지체",
    "면책",
    "개인정보",
    "불가항력",
    "통지",
    "위반",
    "벌금",
    "수수료",
    "보수",
    "임대",
    "임차",
    "용역",
    "도급",
    "하도급",
    "환불",
    "보험",
    "세금",
    "갑과",
    "을의",
];

/// Most labels that a refusal names.
const MAX_NAMED: usize = 2;

/// The reply of the role.
pub(super) fn reply(payload: &Payload<'_>) -> Value {
    let question = clean(payload.question, 4_000);
    let korean = question.chars().any(is_hangul);
    let say = |english: &'static str, hangul: &'static str| if korean { hangul } else { english };
    let outline = payload.outline();
    if let Some((english, hangul)) = in_scope(&question, &outline) {
        return json!({"in_scope": true, "reason": say(english, hangul), "refusal": ""});
    }
    let labels: Vec<String> =
        outline.iter().take(MAX_NAMED).map(|label| line(&clean(label, 200), 60)).collect();
    let labels = labels.join(", ");
    let refusal = match korean {
        false => format!(
            "I am sorry, but this question is outside the material I have, so I cannot answer it. I can answer \
             questions about its parts, for example {labels}."
        ),
        true => format!(
            "죄송합니다. 이 질문은 제가 가진 자료의 범위를 벗어나 답변드리기 어렵습니다. 자료의 내용(예: {labels})에 대해 물어봐 주세요."
        ),
    };
    let reason =
        say("the question has no word in common with the material", "질문에 자료와 겹치는 말이 없습니다");
    json!({"in_scope": false, "reason": reason, "refusal": refusal})
}

/// Why a question is in scope; `None` where it is not.
fn in_scope(question: &str, outline: &[&str]) -> Option<(&'static str, &'static str)> {
    if outline.is_empty() {
        return Some(("nothing says what the material is about", "자료의 범위가 정해져 있지 않습니다"));
    }
    if cues::small_talk(question).is_some() {
        return Some(("small talk is welcome", "인사는 언제나 괜찮습니다"));
    }
    if cues::names_an_article(question) {
        return Some(("the question names an article", "질문에 조항 번호가 있습니다"));
    }
    let asked = terms(question);
    if !asked.iter().any(|term| term.weight > 1) {
        return Some(("the question names nothing of its own", "질문에 주제가 드러나지 않습니다"));
    }
    if cues::refers(question) {
        return Some((
            "the question may go on from an earlier one",
            "앞선 질문에 이어지는 질문일 수 있습니다",
        ));
    }
    let mut material = Vocabulary::default();
    for label in outline {
        material.add(label);
    }
    for word in ENGLISH.iter().chain(KOREAN) {
        material.add(word);
    }
    // A Korean compound is about each of its parts: 계약금액, 손해배상액.
    let holds = KOREAN.iter().any(|word| question.contains(word)) || outline_in(question, outline);
    let shares = holds || asked.iter().any(|term| material.has(term));
    shares.then_some(("the question and the material share words", "질문과 자료에 겹치는 말이 있습니다"))
}

/// Whether the question's words hold a word of a label.
fn outline_in(question: &str, outline: &[&str]) -> bool {
    let nouns = outline.iter().flat_map(|label| terms(label));
    let mut nouns = nouns.filter(|term| term.is_dense() && term.text.chars().nth(1).is_some());
    nouns.any(|term| question.contains(&term.text))
}
