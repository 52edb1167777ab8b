//! What the offline model says before a plan: scope, earlier turns, intent, and talk without tools.

use crate::offline_specs;

use offline_specs::{REACT, ROUNDS, WORKERS, ask, compiled, frame};
use planwright::contract::{Intent, PreviousContext, Scope};
use planwright::spec::RoleName;
use serde_json::{Value, json};

const OUTLINE: [&str; 3] = ["제3조 (업무의 범위)", "제5조 (비밀유지)", "제7조 (계약의 해지)"];

fn said(spec: &str, role: RoleName, payload: &Value) -> String {
    ask(&frame(&compiled(spec), role), payload, &[]).text
}

fn scope(question: &str, outline: &[&str]) -> Scope {
    let payload = json!({"user_question": question, "outline": outline});
    Scope::parse(&said(WORKERS, RoleName::Scope, &payload), 10_000).unwrap()
}

#[test]
fn what_shares_no_word_with_the_material_is_turned_away_in_the_questions_language() {
    for question in "비밀유지 의무는 언제까지인가요? | 제5조 내용이 뭐야? | 계약금액을 알려줘 | 손해배상액은 얼마야? | 업무 범위가 궁금해요
        안녕하세요 | 그럼 그건 어떻게 돼? | When can the contract be terminated? | What does article 5 say? | 고마워! |"
        .split(['|', '\n'])
    {
        assert!(scope(question, &OUTLINE).in_scope, "{question}");
    }
    let korean = scope("오늘 서울 날씨 어때?", &OUTLINE);
    assert!(!korean.in_scope && korean.refusal.starts_with("죄송합니다."), "{korean:?}");
    assert!(korean.refusal.contains("제3조 (업무의 범위)"), "{korean:?}");
    let english = scope("Who won the football game yesterday?", &OUTLINE);
    assert!(!english.in_scope && english.refusal.starts_with("I am sorry"), "{english:?}");
    assert!(!scope("김치찌개 레시피 알려줘", &OUTLINE).in_scope);
    // Where nothing says what the material is about, every question is in scope.
    assert!(scope("오늘 서울 날씨 어때?", &[]).in_scope);
}

fn history(turns: &[(&str, &str)]) -> Value {
    turns.iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

#[test]
fn a_word_that_refers_asks_for_the_earlier_turns() {
    let earlier = history(&[("user", "계약 기간은?"), ("assistant", "1년입니다.")]);
    let check = |question: &str, history: &Value, expected: bool| {
        let payload = json!({"user_question": question, "history": history});
        let reply = said(WORKERS, RoleName::PreviousContext, &payload);
        let read = PreviousContext::parse(&reply, 10_000).unwrap();
        assert_eq!(read.need_previous_context, expected, "{question}");
        assert!(!read.reason.is_empty());
    };
    for question in "그럼 연장은 어떻게 해? | 그것은 누가 정하나요? | 아까 말한 조항을 보여줘 | 더 있어? | 왜? | 갱신은?
        Then who decides? | What about the notice period? | Is it renewed automatically? | Tell me more about renewal | Why?"
        .split(['|', '\n'])
    {
        check(question.trim(), &earlier, true);
        check(question.trim(), &json!([]), false);
    }
    for question in "위약금은 얼마인가요? | How long is the notice period? | 고마워! | thanks! | What is a lease and how does it end?
        Are more than three parties allowed?"
        .split(['|', '\n'])
    {
        check(question.trim(), &earlier, false);
    }
}

/// The intent in its query form.
fn intent(question: &str, turns: &[(&str, &str)]) -> Intent {
    let payload = json!({"user_question": question, "history": history(turns)});
    compiled(ROUNDS).parse_intent(&said(ROUNDS, RoleName::Intent, &payload)).unwrap()
}

const ARTICLE: &str = "오늘 서울시는 미세먼지 저감 대책의 일환으로 노후 경유차의 도심 운행을 제한한다고 밝혔다. \
    제한 구역은 사대문 안이며 위반하면 과태료 십만 원을 낸다. 서울시는 미세먼지 농도가 지난해보다 높아졌다고 설명했다. \
    시민 단체는 운행 제한만으로는 미세먼지를 줄이기 어렵다고 지적했다. 대중교통 요금 할인도 함께 시행된다.";

#[test]
fn thanks_and_texts_need_no_tool_and_questions_do() {
    for text in ["고마워!", "안녕하세요", "ㅋㅋㅋ", "Thank you very much!", "hi there"] {
        let found = intent(text, &[]);
        assert_eq!((found.intent.as_str(), found.needs_tool), ("chitchat", false), "{text}");
    }
    for text in [ARTICLE.to_owned(), format!("다음 기사를 요약해줘:\n{ARTICLE}")] {
        let found = intent(&text, &[]);
        assert_eq!((found.intent.as_str(), found.needs_tool), ("new_question", false));
    }
    for text in ["서울 날씨 알려줘", "What is a finite state machine?", "345*872"] {
        let found = intent(text, &[("user", "안녕"), ("assistant", "안녕하세요!")]);
        assert_eq!((found.intent.as_str(), found.needs_tool), ("new_question", true), "{text}");
        assert_eq!(found.rewritten_query.as_deref(), Some(text));
    }
}

#[test]
fn a_follow_up_keeps_what_the_earlier_turn_demanded() {
    let turns = [
        ("user", "영등포 견과류 알레르기 안전한 맛집 추천해줘"),
        ("assistant", "A식당, B식당을 추천드립니다."),
    ];
    let found = intent("더 있어?", &turns);
    assert_eq!((found.intent.as_str(), found.needs_tool), ("follow_up", true));
    let query = found.rewritten_query.unwrap();
    for word in ["영등포", "견과류", "알레르기", "맛집"] {
        assert!(query.contains(word), "{query}");
    }
    assert!(found.constraints.unwrap().contains("알레르기"));

    // The turn that stands alone is gone back to, past the follow-ups.
    let mut longer = turns.to_vec();
    longer.extend([
        ("user", "더 있어?"),
        ("assistant", "C식당입니다."),
        ("user", "고마워"),
        ("assistant", "네!"),
    ]);
    assert!(intent("다른 건?", &longer).rewritten_query.unwrap().contains("견과류"));

    let turns = [("user", "Find vegan restaurants in Busan without nuts"), ("assistant", "A and B.")];
    let found = intent("Any others near it?", &turns);
    let query = found.rewritten_query.unwrap();
    assert!(query.contains("Busan") && query.contains("nuts"), "{query}");
    assert!(found.constraints.unwrap().contains("without nuts"));
    assert_eq!(
        intent("무슨 말이야?", &[("user", "광합성이 뭐야?"), ("assistant", "…")]).intent,
        "clarification"
    );
}

#[test]
fn a_kind_is_one_of_the_schemas() {
    let check = |question: &str, expected: &str| {
        let compiled = compiled(WORKERS);
        let reply = said(WORKERS, RoleName::Intent, &json!({"user_question": question}));
        let found = compiled.parse_intent(&reply).unwrap();
        assert_eq!(found.intent, expected, "{question}");
        assert!(found.confidence.is_some());
    };
    check("강남 아파트 시세 알려줘", "search");
    check("강남과 서초의 아파트 시세를 비교해줘", "analysis");
    check("매출 추세를 분석해줘", "analysis");
    check("매출 보고서 써줘", "document");
    check("매출을 분석하고 보고서를 써줘", "comprehensive");
    check("음", "unclear");
    check("???", "unclear");
    check("Analyse the sales of the last quarter", "analysis");
    check("Draft a report on our sales", "document");
}

#[test]
fn in_words_the_intent_is_the_work_and_its_subject() {
    let phrase = |question: &str| said(REACT, RoleName::Intent, &json!({"user_question": question}));
    assert_eq!(phrase("지난 분기 매출 분석 후 보고서 작성"), "지난 분기 매출 후에 대한 분석, 보고서 작성");
    assert_eq!(phrase("Compare solar and wind power"), "comparison on solar wind power");
    assert_eq!(phrase("3*4는?"), "계산: 3*4");
    assert_eq!(phrase("고마워"), "인사나 잡담");
    assert_eq!(phrase("???"), "an unclear request");
}

fn talk(message: &str) -> String {
    said(WORKERS, RoleName::Conversation, &json!({"user_question": message}))
}

#[test]
fn small_talk_is_answered_in_its_language() {
    assert_eq!(talk("고마워!"), "별말씀을요! 더 궁금한 것이 있으면 말씀해 주세요.");
    assert_eq!(talk("안녕하세요"), "안녕하세요! 무엇을 도와드릴까요?");
    assert_eq!(talk("Hello!"), "Hello! What can I do for you?");
    assert_eq!(talk("thanks a lot"), "You are welcome! If there is anything else, just ask.");
    assert!(talk("음").contains("자세히 말씀해 주세요"));
    // The writer answers so, too, where nothing was planned.
    let payload = json!({"user_question": "고마워!", "intent": "chitchat"});
    assert_eq!(said(ROUNDS, RoleName::Writer, &payload), talk("고마워!"));
}

#[test]
fn a_text_alone_is_shown_by_its_key_sentences_with_an_offer() {
    let answer = talk(ARTICLE);
    assert!(answer.starts_with("이 글의 핵심 문장입니다."), "{answer}");
    assert!(answer.contains("오늘 서울시는 미세먼지 저감 대책의 일환으로"), "{answer}");
    assert_eq!(answer.lines().filter(|line| line.starts_with("- ")).count(), 3, "{answer}");
    assert!(answer.contains("요약") && answer.contains("번역"), "{answer}");
    let code = "fn main() {\n    let x = 1;\n    println!(\"{x}\");\n}\n";
    assert!(talk(code).starts_with("This is code, 4 lines long."), "{}", talk(code));
    let data = "city,people\nSeoul,9\nBusan,3\nDaegu,2";
    assert!(talk(data).starts_with("This is data, 4 lines long."), "{}", talk(data));
}

#[test]
fn a_summary_is_extracted_and_a_translation_is_not_pretended() {
    let summary = talk(&format!("다음 기사를 요약해줘:\n{ARTICLE}"));
    assert!(summary.starts_with("이 글의 핵심 문장입니다.") && !summary.contains("다음으로"), "{summary}");
    let translation = talk(&format!("Translate this: {ARTICLE}"));
    assert!(translation.contains("번역은 할 수 없습니다"), "{translation}");
    let text = "Rust is a language. It has no collector. Memory is owned by one name at a time.";
    assert!(talk(&format!("Summarize this text:\n{text}")).contains("- Rust is a language."));
}
