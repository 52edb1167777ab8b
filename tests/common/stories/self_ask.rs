//! Stories of `self-ask`: every follow-up question is searched for. All of it is made up.

use planwright::contract::Source;
use serde_json::json;

use super::{Story, page};

pub fn stories() -> Vec<Story> {
    vec![two_follow_ups(), side_by_side(), unsearched(), never_searched()]
}

fn story(name: &'static str, question: &'static str) -> Story {
    Story::new("self-ask", name, question).note("Made up.")
}

fn hit(title: &str, content: &str) -> (String, [Source; 1]) {
    let url = "https://example.org/found";
    (json!([{"title": title, "url": url, "content": content}]).to_string(), [page(title, url)])
}

const AGENTS: &str = "2026년 기준으로 AI 에이전트가 무엇인지, 요즘 무엇이 달라졌는지 알려줘.";
const FIRST: &str = "AI 에이전트 정의 2026";
const SECOND: &str = "AI 에이전트 최신 경향 2026";
const ANSWER: &str = "Follow-up 1: AI 에이전트란 무엇인가?\n\
    Intermediate answer 1:\n\
    - 목표를 받아 스스로 계획하고 도구를 부르는 프로그램이다.\n\
    - 언어 모델이 판단을 맡는다.\n\
    Sources: 에이전트 입문\n\
    \n\
    Follow-up 2: 2026년에 무엇이 달라졌는가?\n\
    Intermediate answer 2:\n\
    - 실행 흐름을 상태 기계가 통제하는 방식이 늘었다.\n\
    - 계획을 먼저 세우고 검증한다.\n\
    Sources: 2026 에이전트 동향\n\
    \n\
    Final answer: AI 에이전트는 목표를 받아 계획하고 도구를 부르는 프로그램이며, 요즘은 상태 기계가 흐름을 통제합니다.";

fn two_follow_ups() -> Story {
    let (first, from_first) = hit("에이전트 입문", "목표를 받아 스스로 계획하고 도구를 부르는 프로그램.");
    let (second, from_second) = hit("2026 에이전트 동향", "상태 기계가 흐름을 통제하고 계획을 검증한다.");
    story("two_follow_ups", AGENTS)
        .note("One follow-up after the other, each with a search of its own.")
        .calls(&[("search", FIRST)])
        .tool_from("search", FIRST, &first, &from_first)
        .calls(&[("search", SECOND)])
        .tool_from("search", SECOND, &second, &from_second)
        .reply(ANSWER)
}

fn side_by_side() -> Story {
    let (korea, from_korea) = hit("Population of Korea", "51.7 million in 2025.");
    let (japan, from_japan) = hit("Population of Japan", "123.4 million in 2025.");
    story("side_by_side", "Which has more people, Korea or Japan, and by how much?")
        .note("Follow-ups that do not depend on one another are searched for at once.")
        .calls(&[("search", "population of Korea 2025"), ("search", "population of Japan 2025")])
        .tool_from("search", "population of Korea 2025", &korea, &from_korea)
        .tool_from("search", "population of Japan 2025", &japan, &from_japan)
        .reply(
            "Follow-up 1: How many people live in Korea?\nIntermediate answer 1:\n- 51.7 million in 2025.\n- The \
             figure is for the whole year.\nSources: Population of Korea\n\nFollow-up 2: How many people live in \
             Japan?\nIntermediate answer 2:\n- 123.4 million in 2025.\n- More than twice as many.\nSources: \
             Population of Japan\n\nFinal answer: Japan, by about 71.7 million.",
        )
}

fn unsearched() -> Story {
    let (first, from_first) = hit("에이전트 입문", "목표를 받아 스스로 계획하고 도구를 부르는 프로그램.");
    let (second, from_second) = hit("2026 에이전트 동향", "상태 기계가 흐름을 통제하고 계획을 검증한다.");
    story("unsearched", AGENTS)
        .note("Two follow-ups are answered after one search. The reply is sent back, and the other is searched for.")
        .calls(&[("search", FIRST)])
        .tool_from("search", FIRST, &first, &from_first)
        .reply(ANSWER)
        .calls(&[("search", SECOND)])
        .tool_from("search", SECOND, &second, &from_second)
        .reply(ANSWER)
}

fn never_searched() -> Story {
    let told = "Follow-up 1: How long is the Han River?\nIntermediate answer 1:\n- About 494 km.\n- It rises in \
                Gangwon.\nSources: General knowledge\n\nFinal answer: The Han River is about 494 km long.";
    story("never_searched", "How long is the Han River?")
        .note(
            "The planner answers from memory, is told which call is missing, and answers from memory again.",
        )
        .reply(told)
        .reply(told)
}
