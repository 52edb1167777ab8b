//! What else may come of a run of `plan-then-execute`. All of it is made up.

use planwright::machine::FailureClass;

use super::{Story, answer, plan};

pub fn stories() -> Vec<Story> {
    vec![answered(), malformed_plan(), failing_tool(), failing_writer(), cut_answer(), cancelled()]
}

fn story(name: &'static str, question: &'static str) -> Story {
    Story::new("plan-then-execute", name, question).note("Made up.")
}

const SUM: &str = "345*872는 얼마인가요?";

fn sum() -> String {
    plan("곱셈을 계산한다.", &[("calc", "345*872"), ("final_answer", "계산 결과")])
}

fn answered() -> Story {
    story("answered", SUM)
        .reply(sum())
        .tool("calc", "345*872", "300840")
        .reply(answer("345 × 872 = 300,840입니다."))
}

fn malformed_plan() -> Story {
    story("malformed_plan", "What is a vending machine an example of?")
        .note("The planner forgets the last step, and this agent does not ask again.")
        .reply(plan("Find out.", &[("wiki", "vending machine")]))
}

fn failing_tool() -> Story {
    let search = "유한 상태 기계 최신 사례";
    let steps =
        [("wiki", "유한 상태 기계"), ("search", search), ("final_answer", "정의와 최신 사례 두 가지")];
    story("failing_tool", "유한 상태 기계가 무엇인지 최신 사례와 함께 설명해줘.")
        .note(
            "The search fails. The failure is a result like any other, and the writer proposes a plan \
               that does without it.",
        )
        .reply(plan("정의와 사례를 찾는다.", &steps))
        .tool(
            "wiki",
            "유한 상태 기계",
            "Page: 유한 상태 기계\nSummary: 한 번에 하나의 상태에만 있고, 입력에 \
               따라 다른 상태로 넘어가는 수학적 모델. 자판기, 엘리베이터, 신호등이 예이다.",
        )
        .failing_tool("search", search, ("http", "the server answered 503 Service Unavailable"))
        .reply(answer(
            "- 유한 상태 기계는 한 번에 하나의 상태에만 있고 입력에 따라 상태를 옮기는 모델입니다(위키백과 \
             «유한 상태 기계»). 자판기, 엘리베이터, 신호등이 예입니다.\n\
             - 최신 사례는 검색 서버가 응답하지 않아(503) 찾지 못했습니다.\n\
             - 고친 계획: 1) 위키백과에서 «신호등»과 «엘리베이터»를 찾는다. 2) 각각의 상태와 전이를 적는다.",
        ))
}

fn failing_writer() -> Story {
    story("failing_writer", SUM)
        .note("The writer answers in another form than `{\"final\": …}`, and this agent does not ask again.")
        .reply(sum())
        .tool("calc", "345*872", "300840")
        .reply(r#"{"answer": "300,840"}"#)
}

fn cut_answer() -> Story {
    story("cut_answer", SUM)
        .note("The answer is cut at the token limit: an answer that is no reply.")
        .reply(sum())
        .tool("calc", "345*872", "300840")
        .fails(FailureClass::Length, "the reply was cut at the token limit")
}

fn cancelled() -> Story {
    let steps = [
        ("calc", "25*365"),
        ("wiki", "resting heart rate"),
        ("final_answer", "the number and what it does for the heart"),
    ];
    story("cancelled", "How many push-ups a year are 25 a day, and what do they do for the heart?")
        .note("A person stops the run while the first tool is at work; the second is not called.")
        .reply(plan("Work the number out, then read about the heart.", &steps))
        .tool("calc", "25*365", "9125")
        .cancelled_meanwhile()
}
