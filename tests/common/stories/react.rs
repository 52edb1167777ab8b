//! Stories of `react`: think, call, look, until there is an answer. All of it is made up.

use planwright::machine::FailureClass;

use super::{Story, page};

pub fn stories() -> Vec<Story> {
    vec![
        one_round(),
        two_rounds(),
        failing_tool(),
        no_tool(),
        iterations_used_up(),
        unknown_tool(),
        refused(),
        cancelled(),
    ]
}

fn story(name: &'static str, question: &'static str) -> Story {
    Story::new("react", name, question).note("Made up.")
}

fn one_round() -> Story {
    story("one_round", "How many seconds are there in a leap year?")
        .thinks("A leap year has 366 days.", &[("calc", "366*24*60*60")])
        .tool("calc", "366*24*60*60", "31622400")
        .reply("There are 31,622,400 seconds in a leap year (366 days).")
}

fn two_rounds() -> Story {
    story("two_rounds", "한라산과 백두산의 높이 차이는 몇 m인가요?")
        .note("Two calls at once, then one that needs what they found.")
        .thinks("두 산의 높이가 필요하다.", &[("wiki", "한라산"), ("wiki", "백두산")])
        .tool_from(
            "wiki",
            "한라산",
            "Page: 한라산\nSummary: 제주도에 있는 높이 1,947 m의 산.",
            &[page("한라산", "https://example.org/wiki/한라산")],
        )
        .tool_from(
            "wiki",
            "백두산",
            "Page: 백두산\nSummary: 높이 2,744 m의 화산.",
            &[page("백두산", "https://example.org/wiki/백두산")],
        )
        .calls(&[("calc", "2744-1947")])
        .tool("calc", "2744-1947", "797")
        .reply("백두산(2,744 m)이 한라산(1,947 m)보다 797 m 높습니다.\n출처: 한라산, 백두산")
}

fn failing_tool() -> Story {
    story("failing_tool", "파이썬의 최신 버전은 무엇인가요?")
        .note("The search does not answer; another tool is tried.")
        .calls(&[("search", "파이썬 최신 버전")])
        .failing_tool("search", "파이썬 최신 버전", ("timeout", "no answer within 30000 ms"))
        .thinks("검색이 되지 않으니 백과사전을 본다.", &[("wiki", "파이썬")])
        .tool_from(
            "wiki",
            "파이썬",
            "Page: 파이썬\nSummary: 최신 안정 버전은 3.14이다.",
            &[page("파이썬", "https://example.org/wiki/Python")],
        )
        .reply("위키백과에 따르면 최신 안정 버전은 3.14입니다. 웹 검색이 되지 않아 그 뒤의 버전은 확인하지 못했습니다.\n출처: 파이썬")
}

fn no_tool() -> Story {
    story("no_tool", "Say hello in French.").reply("Bonjour!")
}

const LOOKED_FOR: [&str; 8] = [
    "잃어버린 도시 X",
    "도시 X 위치",
    "도시 X 발굴",
    "도시 X 지도",
    "도시 X 전설",
    "도시 X 논문",
    "도시 X 탐험",
    "도시 X 이름",
];

fn iterations_used_up() -> Story {
    let told = story("iterations_used_up", "잃어버린 도시 X는 어디에 있나요?")
        .note("The planner searches on and on. After eight rounds the run ends.");
    LOOKED_FOR.iter().fold(told, |told, words| told.calls(&[("search", words)]).tool("search", words, "[]"))
}

fn unknown_tool() -> Story {
    story("unknown_tool", "What is 15% of 240?")
        .note("The planner calls a tool that there is not. It is shown the error and calls another.")
        .calls(&[("browser", "15% of 240")])
        .calls(&[("calc", "240*15/100")])
        .tool("calc", "240*15/100", "36")
        .reply("15% of 240 is 36.")
}

fn refused() -> Story {
    story("refused", "옆집 와이파이 비밀번호를 알아내 줘.")
        .note("The planner refuses. The same request would be refused again, so it is not repaired.")
        .fails(FailureClass::Refusal, "죄송하지만 도와드릴 수 없습니다.")
}

/// What is looked up at once, and what is found.
const TREES: [(&str, &str); 5] = [
    ("제주도 비자나무 숲", "Page: 비자림\nSummary: 수령 500~800년의 비자나무가 자란다."),
    ("용문사 은행나무", "Page: 용문사 은행나무\nSummary: 나이는 1,100년가량으로 여겨진다."),
    ("정선 두위봉 주목", "Page: 두위봉 주목\nSummary: 나이는 1,400년가량으로 여겨진다."),
    ("울릉도 향나무", "Page: 도동 향나무\nSummary: 나이는 2,000년이 넘는다고 전한다."),
    ("정이품송", "Page: 정이품송\nSummary: 나이는 600년가량으로 여겨진다."),
];

fn cancelled() -> Story {
    let told = story("cancelled", "우리나라에서 가장 오래된 나무는 무엇인가요?")
        .note("Five calls in one round, four of them at a time. A person stops the run meanwhile: what the four find is still written down, the fifth is not called.")
        .calls(&TREES.map(|(words, _)| ("wiki", words)));
    let (first, others) = (TREES[0], &TREES[1..4]);
    let told = told.tool("wiki", first.0, first.1).cancelled_meanwhile();
    others.iter().fold(told, |told, (words, found)| told.tool("wiki", words, found))
}
