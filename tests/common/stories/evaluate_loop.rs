//! The scenarios of `evaluate-loop`: questions on a contract, round by round. The contracts, and all that
//! is said, are made up; two questions and an earlier turn are those of the design's example.

mod endings;

use planwright::contract::Source;
use serde_json::json;

use super::Story;

pub fn stories() -> Vec<Story> {
    let mut told = vec![
        out_of_scope(),
        no_tools_wanted(),
        article_five(),
        two_rounds(),
        four_rounds(),
        with_history(),
        history_not_needed(),
        all_skipped(),
        nothing_more(),
    ];
    told.extend(endings::stories());
    told
}

const OUTLINE: [&str; 8] = [
    "제1조 (목적)",
    "제2조 (계약 기간)",
    "제3조 (용역 대금)",
    "제4조 (검수)",
    "제5조 (비밀유지)",
    "제6조 (지식재산권)",
    "제7조 (계약의 해지)",
    "제8조 (손해배상)",
];

const ENGLISH_OUTLINE: [&str; 5] = [
    "Article 1 (Services)",
    "Article 2 (Fees)",
    "Article 3 (Term)",
    "Article 4 (Termination)",
    "Article 5 (Liability)",
];

fn story(name: &'static str, question: &'static str) -> Story {
    Story::new("evaluate-loop", name, question).note("Made up.").outline(&OUTLINE)
}

/// A part of the user's contract.
fn part(part: &str) -> Source {
    let document = Some("용역계약서.md".to_owned());
    Source { document, part: Some(part.to_owned()), ..Source::titled(part) }
}

/// A part of the standard contract, which is none of the outline's.
fn standard(title: &str) -> Source {
    Source { document: Some("표준계약서.md".to_owned()), ..Source::titled(title) }
}

fn found(contract: &str, part: &str, text: &str) -> String {
    json!({"contract": contract, "articles": [{"part": part, "text": text}]}).to_string()
}

fn in_scope() -> String {
    json!({"in_scope": true, "reason": "계약에 관한 질문이다.", "refusal": ""}).to_string()
}

fn recalls(need: bool, reason: &str) -> String {
    json!({"need_previous_context": need, "reason": reason}).to_string()
}

fn enough(reason: &str) -> String {
    json!({"sufficient": true, "missing_info": "", "reason": reason}).to_string()
}

fn lacks(missing_info: &str, reason: &str) -> String {
    json!({"sufficient": false, "missing_info": missing_info, "reason": reason}).to_string()
}

fn out_of_scope() -> Story {
    let refusal = "죄송하지만 저는 계약에 관한 질문만 도와드릴 수 있습니다. 계약서의 조항이나 위험에 대해 물어봐 주세요.";
    let said = json!({"in_scope": false, "reason": "점심 메뉴는 계약과 관계가 없다.", "refusal": refusal});
    story("out_of_scope", "오늘 점심 메뉴 추천해줘").note("Nothing else is asked.").reply(said.to_string())
}

fn no_tools_wanted() -> Story {
    story("no_tools_wanted", "계약서에서 «갑»과 «을»은 보통 누구를 가리키나요?")
        .note("The planner calls no tool: the answer is written at once, and the evaluator is not asked.")
        .reply(in_scope())
        .reply("일반적인 용어에 관한 질문이므로 조항을 찾을 필요가 없습니다.")
        .reply(
            "보통 «갑»은 일을 맡기는 쪽, «을»은 맡아서 하는 쪽을 가리킵니다. 이것은 일반적인 관행이며, 이 계약서에서 \
             확인한 내용은 아닙니다.",
        )
}

const FIVE: &str = "제5조 (비밀유지)";
const FIVE_SAYS: &str = "① 양 당사자는 이 계약의 이행 중 알게 된 상대방의 비밀을 제3자에게 알리지 않는다. ② 이 의무는 \
                         계약이 끝난 후 3년간 존속한다.";
const FIVE_ANSWER: &str = "제5조(비밀유지)는 두 가지를 정합니다(사용자 계약서).\n\
                           - 계약을 이행하면서 알게 된 상대방의 비밀을 제3자에게 알리지 않습니다.\n\
                           - 이 의무는 계약이 끝난 뒤에도 3년간 남습니다.\n\
                           출처: 제5조 (비밀유지)";

fn article_five() -> Story {
    story("article_five", "제5조 내용이 뭐야?")
        .note("The wording suggests a call; the planner is asked all the same, and takes it.")
        .reply(in_scope())
        .calls(&[("get_article_by_index", "제5조")])
        .tool_from("get_article_by_index", "제5조", &found("user", FIVE, FIVE_SAYS), &[part(FIVE)])
        .reply(enough("제5조 전문을 읽었다."))
        .reply(FIVE_ANSWER)
}

fn two_rounds() -> Story {
    let english = |title: &str| Source {
        document: Some("service.md".to_owned()),
        part: Some(title.to_owned()),
        ..Source::titled(title)
    };
    let (four, five) = ("Article 4 (Termination)", "Article 5 (Liability)");
    let yes = json!({"in_scope": true, "reason": "It asks about termination.", "refusal": ""}).to_string();
    let form = "Standard terms, Article 12 (Early termination)";
    let standard = Source { document: Some("standard.md".to_owned()), ..Source::titled(form) };
    Story::new("evaluate-loop", "two_rounds", "Can the client end the contract early, and is that usual?")
        .note("Made up.")
        .note("Two calls at once in the first round, of which the second is answered first; what is missing then is looked for in another.")
        .outline(&ENGLISH_OUTLINE)
        .reply(yes)
        .calls(&[("get_article_by_title", "Termination"), ("hybrid_search", "costs of ending the contract early")])
        .tool_from(
            "hybrid_search",
            "costs of ending the contract early",
            &found("user", five, "On early termination the client pays for all work done so far."),
            &[english(five)],
        )
        .tool_from(
            "get_article_by_title",
            "Termination",
            &found("user", four, "The client may terminate at any time on 30 days' notice."),
            &[english(four)],
        )
        .reply(lacks("what the standard contract says on early termination", "Nothing to compare with yet."))
        .calls(&[("lookup_standard_contract", "early termination")])
        .tool_from(
            "lookup_standard_contract",
            "early termination",
            &found("standard", form, "Either party may terminate on 60 days' notice."),
            &[standard],
        )
        .reply(enough("Both sides of the comparison are there."))
        .reply(
            "Yes. Under the user's contract the client may end it at any time on 30 days' notice (Article 4) and \
             pays for the work done so far (Article 5). The standard contract asks for 60 days from either party \
             (Article 12), so the notice here is shorter than usual.",
        )
}

fn four_rounds() -> Story {
    let (seven, eight, six) = ("제7조 (계약의 해지)", "제8조 (손해배상)", "제6조 (지식재산권)");
    story("four_rounds", "을이 납기를 어기면 지체상금은 얼마인가요?")
        .note("The evaluator never has enough. After four rounds the answer is written with what there is.")
        .note("The third round repeats a call of the first beside a new one: that one is skipped.")
        .reply(in_scope())
        .calls(&[("hybrid_search", "지체상금")])
        .tool_from("hybrid_search", "지체상금", &found("user", eight, "손해를 끼친 당사자는 이를 배상한다."), &[part(eight)])
        .reply(lacks("지체상금의 요율", "손해배상의 원칙만 있다."))
        .calls(&[("get_article_by_title", "계약의 해지")])
        .tool_from(
            "get_article_by_title",
            "계약의 해지",
            &found("user", seven, "납기를 14일 넘게 어기면 갑은 해지할 수 있다."),
            &[part(seven)],
        )
        .reply(lacks("지체상금의 요율", "해지권만 있고 금액이 없다."))
        .calls(&[("hybrid_search", "지체상금"), ("lookup_standard_contract", "지체상금")])
        .tool_from(
            "lookup_standard_contract",
            "지체상금",
            &found("standard", "제15조 (지체상금)", "지체 1일마다 대금의 1000분의 1.25."),
            &[standard("제15조 (지체상금)")],
        )
        .reply(lacks("사용자 계약서의 지체상금 조항", "표준계약서에만 있다."))
        .calls(&[("get_article_by_index", "제6조")])
        .tool_from("get_article_by_index", "제6조", &found("user", six, "결과물의 권리는 대금이 지급된 때 갑에게 넘어간다."), &[part(six)])
        .reply(lacks("사용자 계약서의 지체상금 조항", "제6조에도 없다."))
        .reply(
            "사용자 계약서에는 지체상금의 요율이 없습니다. 납기를 14일 넘게 어기면 해지할 수 있고(제7조), 손해는 \
             배상해야 합니다(제8조). 참고로 표준계약서는 지체 1일마다 대금의 1000분의 1.25를 정합니다(제15조).",
        )
}

const TERM: (&str, &str) = ("계약 기간은?", "계약 기간은 1년입니다.");

fn with_history() -> Story {
    let two = "제2조 (계약 기간)";
    story("with_history", "그럼 그 기간이 끝나면 자동으로 연장되나요?")
        .note("The question refers back: one call more, and the writer is shown the earlier turn.")
        .after(TERM.0, TERM.1)
        .reply(in_scope())
        .reply(recalls(true, "«그 기간»은 앞에서 말한 계약 기간을 가리킨다."))
        .calls(&[("get_article_by_title", "계약 기간")])
        .tool_from(
            "get_article_by_title",
            "계약 기간",
            &found("user", two, "계약 기간은 1년으로 하며, 만료 30일 전까지 이의가 없으면 1년씩 연장된다."),
            &[part(two)],
        )
        .reply(enough("자동 연장 조항을 읽었다."))
        .reply("네. 1년의 기간이 끝나기 30일 전까지 이의가 없으면 1년씩 자동으로 연장됩니다(사용자 계약서 제2조).")
}

fn history_not_needed() -> Story {
    story("history_not_needed", "제5조 내용이 뭐야?")
        .note("Question and earlier turn are the design's. The question stands alone, so the writer is not shown the turn.")
        .after(TERM.0, TERM.1)
        .reply(in_scope())
        .reply(recalls(false, "질문이 그 자체로 뚜렷하다."))
        .calls(&[("get_article_by_index", "제5조")])
        .tool_from("get_article_by_index", "제5조", &found("user", FIVE, FIVE_SAYS), &[part(FIVE)])
        .reply(enough("제5조 전문을 읽었다."))
        .reply(FIVE_ANSWER)
}

fn all_skipped() -> Story {
    let seven = "제7조 (계약의 해지)";
    let call = ("get_article_by_title", "계약의 해지");
    story("all_skipped", "계약을 해지할 수 있는 경우를 모두 알려주세요.")
        .note("The second round asks for nothing new. It is skipped whole, and the evaluator is asked again.")
        .reply(in_scope())
        .calls(&[call])
        .tool_from(call.0, call.1, &found("user", seven, "납기를 14일 넘게 어기거나 파산한 때 해지할 수 있다."), &[part(seven)])
        .reply(lacks("그 밖의 해지 사유", "다른 조항에도 있을 수 있다."))
        .calls(&[call])
        .reply(enough("더 찾을 것이 없다."))
        .reply("해지할 수 있는 경우는 두 가지입니다. 납기를 14일 넘게 어긴 때와 파산한 때입니다(사용자 계약서 제7조).")
}

fn nothing_more() -> Story {
    let three = "제3조 (용역 대금)";
    story("nothing_more", "대금은 언제까지 지급하나요?")
        .note("The evaluator wants more and the planner knows of nothing more: the answer is written.")
        .reply(in_scope())
        .calls(&[("get_article_by_title", "용역 대금")])
        .tool_from(
            "get_article_by_title",
            "용역 대금",
            &found("user", three, "갑은 검수가 끝난 후 대금을 지급한다."),
            &[part(three)],
        )
        .reply(lacks("지급 기한", "며칠 안에 지급하는지 없다."))
        .reply("지급 기한을 정한 조항은 더 없습니다.")
        .reply(
            "검수가 끝난 후 지급한다고만 되어 있고(사용자 계약서 제3조), 며칠 안인지는 정해져 있지 않습니다.",
        )
}
