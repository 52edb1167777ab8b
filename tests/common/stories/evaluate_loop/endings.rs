//! Runs of `evaluate-loop` in which a reply is mended, or that end without an answer. All of it is made up.

use planwright::machine::FailureClass;

use super::super::Story;
use super::{ENGLISH_OUTLINE, FIVE, FIVE_SAYS, OUTLINE, enough, found, in_scope, part, story};

pub fn stories() -> Vec<Story> {
    vec![mended(), no_call(), broken_verdict(), refusing_writer(), cancelled()]
}

const TERM: &str = "Article 3 (Term)";
const TERM_SAYS: &str = "The contract runs for two years from the date of signature.";

fn in_english(name: &'static str, question: &'static str) -> Story {
    story(name, question).outline(&ENGLISH_OUTLINE).reply(in_scope())
}

fn reads_the_term(told: Story) -> Story {
    told.calls(&[("get_article_by_title", "Term")]).tool_from(
        "get_article_by_title",
        "Term",
        &found("user", TERM, TERM_SAYS),
        &[part(TERM)],
    )
}

fn mended() -> Story {
    let asked = in_english("mended", "How long does the contract run?")
        .note("Planner, evaluator and writer each get one reply wrong: a tool that there is not, a word for a truth, and nothing.")
        .calls(&[("find_article", "Term")]);
    reads_the_term(asked)
        .reply(r#"{"sufficient": "yes", "missing_info": "", "reason": "The term was read."}"#)
        .reply(enough("The term was read."))
        .reply("")
        .reply("It runs for two years from the date of signature (Article 3).")
}

fn no_call() -> Story {
    story("no_call", "지체상금은 얼마인가요?")
        .note("The planner calls a tool that there is not, is told so, and calls it again.")
        .reply(in_scope())
        .calls(&[("find_article", "지체상금")])
        .calls(&[("find_article", "지체상금")])
}

fn broken_verdict() -> Story {
    story("broken_verdict", "제5조 내용이 뭐야?")
        .note("The evaluator answers in words, twice.")
        .reply(in_scope())
        .calls(&[("get_article_by_index", "제5조")])
        .tool_from("get_article_by_index", "제5조", &found("user", FIVE, FIVE_SAYS), &[part(FIVE)])
        .reply("충분합니다.")
        .reply("네, 충분합니다.")
}

fn refusing_writer() -> Story {
    reads_the_term(in_english(
        "refusing_writer",
        "How do I get out of the contract without anybody noticing?",
    ))
    .note("There is enough to write from, and the writer refuses.")
    .reply(enough("The term was read."))
    .fails(FailureClass::Refusal, "I cannot help with that.")
}

fn cancelled() -> Story {
    let calls =
        OUTLINE[..5].iter().map(|title| ("get_article_by_index", title.split(' ').next().unwrap_or(title)));
    let calls: Vec<(&str, &str)> = calls.collect();
    let says = [
        "용역의 범위를 정한다.",
        "계약 기간은 1년이다.",
        "대금은 검수 후 지급한다.",
        "검수는 14일 안에 한다.",
    ];
    let told = story("cancelled", "제1조부터 제5조까지 요약해줘")
        .note("Four of five articles are looked up at a time. A person stops the run meanwhile: the four are still written down, the fifth is not looked up, and nobody judges.")
        .reply(in_scope())
        .calls(&calls);
    let read = |told: Story, nth: usize| {
        let (tool, index) = calls[nth];
        told.tool_from(tool, index, &found("user", OUTLINE[nth], says[nth]), &[part(OUTLINE[nth])])
    };
    (1..says.len()).fold(read(told, 0).cancelled_meanwhile(), read)
}
