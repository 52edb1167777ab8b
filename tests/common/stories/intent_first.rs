//! The scenarios of `intent-first`: what is wanted is found out first. All words are made up but for the
//! questions, which are those of the scenarios where they have one.

mod endings;

use planwright::contract::Source;
use serde_json::{Value, json};

use super::{Story, page};

pub fn stories() -> Vec<Story> {
    let mut told = vec![
        weather(),
        thanks(),
        article_body(),
        follow_up(),
        chained(),
        three_tools(),
        rate_limited(),
        empty_plan(),
        broken_plan(),
        broken_intent(),
        forbidden_tool(),
        input_from_nowhere(),
        replans_used_up(),
    ];
    told.extend(endings::stories());
    told
}

fn story(name: &'static str, question: &'static str) -> Story {
    Story::new("intent-first", name, question).note("Made up.")
}

fn intent(kind: &str, rewritten_query: &str, needs_tool: bool, constraints: Option<&str>) -> String {
    json!({
        "intent": kind,
        "rewritten_query": rewritten_query,
        "needs_tool": needs_tool,
        "constraints": constraints,
    })
    .to_string()
}

fn step(id: &str, tool: &str, input: &str) -> Value {
    json!({"id": id, "tool": tool, "input": input, "input_from": null, "description": null})
}

/// A step that takes an earlier one's output.
fn from(id: &str, tool: &str, input_from: &str) -> Value {
    json!({"id": id, "tool": tool, "input": null, "input_from": input_from, "description": null})
}

/// A step that says why it is there.
fn because(mut step: Value, description: &str) -> Value {
    step["description"] = description.into();
    step
}

fn plan(steps: &[Value]) -> String {
    json!({"steps": steps}).to_string()
}

const WEATHER: &str = "서울 날씨 알려줘";

fn weather_intent() -> String {
    intent("new_question", "서울의 현재 날씨", true, None)
}

fn forecast() -> Source {
    page("서울 날씨 - 오늘의 예보", "https://example.org/weather/seoul")
}

fn weather() -> Story {
    story("weather", WEATHER)
        .reply(weather_intent())
        .reply(plan(&[step("step_1", "search", "서울 날씨")]))
        .tool_from(
            "search",
            "서울 날씨",
            r#"[{"title":"서울 날씨 - 오늘의 예보","url":"https://example.org/weather/seoul","content":"11월 20일 09시 현재 맑음, 15°C, 바람 2 m/s."}]"#,
            &[forecast()],
        )
        .reply("지금 서울은 맑고 15°C입니다. 바람은 초속 2 m로 약합니다.\n출처: 서울 날씨 - 오늘의 예보")
}

fn thanks() -> Story {
    story("thanks", "고마워!")
        .reply(intent("chitchat", "고마워!", false, None))
        .reply("별말씀을요! 더 궁금한 것이 있으면 언제든 말씀해 주세요.")
}

const ARTICLE: &str = "\
    오늘 서울시는 미세먼지 저감 대책의 일환으로 다음 달부터 도심 4대문 안에서 노후 경유차의 운행을 \
    제한한다고 밝혔다. 제한 대상은 배출가스 5등급 차량 약 2만 대이며, 위반하면 하루 10만 원의 과태료가 \
    부과된다. 시는 저공해 장치를 다는 차주에게 비용의 90%를 지원하기로 했다. 환경 단체는 환영하면서도 \
    물류 업계에 대한 유예 기간이 너무 길다고 지적했다.";

fn article_body() -> Story {
    story("article_body", ARTICLE)
        .note("A body of text and no question: the conversation role gets it word for word.")
        .reply(intent("new_question", "제공된 기사 본문의 분석", false, None))
        .reply(
            "뉴스 기사로 보입니다. 핵심은 다음과 같습니다.\n\
             - 다음 달부터 4대문 안에서 배출가스 5등급 경유차 약 2만 대의 운행이 제한됩니다.\n\
             - 위반하면 하루 10만 원의 과태료, 저공해 장치에는 비용의 90% 지원이 있습니다.\n\
             - 환경 단체는 물류 업계의 유예 기간이 길다고 봅니다.\n\
             요약, 영어 번역, 또는 찬반 논점 정리를 원하시면 말씀해 주세요.",
        )
}

fn follow_up() -> Story {
    let query = "영등포 견과류 알레르기 안전한 다른 맛집 추천";
    story("follow_up", "더 있어?")
        .note("The place and the allergy come from the turn before; the planner works from the rewritten query.")
        .after(
            "영등포 견과류 알레르기 안전한 맛집 추천해줘",
            "A식당(한식)과 B식당(샤부샤부)을 추천드립니다. 두 곳 모두 견과류를 쓰지 않습니다.",
        )
        .reply(intent("follow_up", query, true, Some("위치(영등포), 제약사항(견과류 알레르기)")))
        .reply(plan(&[step("step_1", "search", "영등포 맛집 견과류 없는 메뉴")]))
        .tool_from(
            "search",
            "영등포 맛집 견과류 없는 메뉴",
            r#"[{"title":"영등포 알레르기 안심 식당","url":"https://example.org/ydp","content":"C국수: 견과류를 쓰지 않으며 알레르기 표를 붙여 둔다."}]"#,
            &[page("영등포 알레르기 안심 식당", "https://example.org/ydp")],
        )
        .reply(
            "네, 영등포의 C국수도 있습니다. 견과류를 쓰지 않고 알레르기 표를 붙여 둡니다. 그래도 주문할 때 \
             한 번 더 확인하세요.\n출처: 영등포 알레르기 안심 식당",
        )
}

const LANGGRAPH: &str = "LangGraph is a library for building stateful agents as graphs.";

fn chained() -> Story {
    story("chained", "LangGraph가 뭔지 검색하고, 내 문서에서 관련된 것까지 찾아 요약해줘")
        .note("What the first step finds is the second one's input.")
        .reply(intent(
            "new_question",
            "LangGraph가 무엇인지 검색하고, 사용자의 문서에서 관련된 내용을 찾아 요약",
            true,
            None,
        ))
        .reply(plan(&[step("step_1", "search", "LangGraph"), from("step_2", "docs", "step_1")]))
        .tool_from("search", "LangGraph", LANGGRAPH, &[page("LangGraph", "https://example.org/langgraph")])
        .tool_from(
            "docs",
            LANGGRAPH,
            "notes/agents.md: 우리 팀은 그래프로 된 에이전트를 2025년부터 쓴다.",
            &[Source { document: Some("notes/agents.md".to_owned()), ..Source::titled("에이전트 노트") }],
        )
        .reply(
            "LangGraph는 상태를 가진 에이전트를 그래프로 짜는 라이브러리입니다. 노트에 따르면 팀은 2025년부터 \
             그래프로 된 에이전트를 쓰고 있습니다.\n출처: LangGraph, 에이전트 노트",
        )
}

fn three_tools() -> Story {
    let question =
        "What is a marathon, what is the men's world record, and what speed is 42.195 km in 2 hours?";
    story("three_tools", question)
        .note("Three tools are called, and still only three models are asked.")
        .reply(intent("new_question", question, true, None))
        .reply(plan(&[
            step("step_1", "wiki", "marathon"),
            step("step_2", "search", "men's marathon world record"),
            step("step_3", "calc", "42.195/2"),
        ]))
        .tool_from(
            "wiki",
            "marathon",
            "Page: Marathon\nSummary: A long-distance foot race over 42.195 kilometres.",
            &[page("Marathon", "https://example.org/wiki/Marathon")],
        )
        .tool_from(
            "search",
            "men's marathon world record",
            r#"[{"title":"World records","url":"https://example.org/records","content":"Men's marathon: 2:00:35, Kelvin Kiptum, Chicago 2023."}]"#,
            &[page("World records", "https://example.org/records")],
        )
        .tool("calc", "42.195/2", "21.0975")
        .reply(
            "A marathon is a foot race over 42.195 km. The men's world record is 2:00:35 (Kelvin Kiptum, Chicago \
             2023). Running it in two hours takes about 21.1 km/h.\nSources: Marathon, World records",
        )
}

const LIMITED: (&str, &str) = ("rate_limit", "API rate limit exceeded");

fn rate_limited() -> Story {
    let climate = "Page: 서울특별시\nSummary: 11월의 평균 기온은 7°C이다.";
    let notes =
        |title: &str, document: &str| Source { document: Some(document.to_owned()), ..Source::titled(title) };
    story("rate_limited", WEATHER)
        .note("The search is rate limited. The re-planner goes round it: what is done stays and is referred to, what had not begun is dropped, ids go on.")
        .reply(weather_intent())
        .reply(plan(&[
            step("step_1", "wiki", "서울의 기후"),
            step("step_2", "search", "서울 날씨"),
            step("step_3", "docs", "야외 일정"),
        ]))
        .tool_from("wiki", "서울의 기후", climate, &[page("서울특별시", "https://example.org/wiki/Seoul")])
        .failing_tool("search", "서울 날씨", LIMITED)
        .reply(plan(&[
            because(
                step("step_4", "docs", "오늘 서울 날씨"),
                "검색이 호출 한도에 걸렸으므로 사용자의 문서에 저장된 예보를 찾는다.",
            ),
            from("step_5", "docs", "step_1"),
        ]))
        .tool_from("docs", "오늘 서울 날씨", "예보.txt: 11월 20일 서울 맑음, 15°C.", &[notes("예보", "예보.txt")])
        .tool_from("docs", climate, "기록.txt: 작년 이날 서울은 6°C.", &[notes("날씨 기록", "기록.txt")])
        .reply(
            "저장된 예보에 따르면 오늘 서울은 맑고 15°C입니다. 11월 평균(7°C)이나 작년 이날(6°C)보다 높습니다.\n출처: \
             예보, 서울특별시, 날씨 기록",
        )
}

fn empty_plan() -> Story {
    story("empty_plan", "내일 회의를 어떻게 시작하면 좋을까?")
        .note("The intent says that a tool is needed, the planner finds that none can help.")
        .reply(intent("new_question", "내일 회의를 시작하는 방법", true, None))
        .reply(plan(&[]))
        .reply("회의의 목적과 끝나는 시각을 먼저 말하고, 한 사람씩 1분 안에 상황을 나누며 시작해 보세요.")
}

fn broken_plan() -> Story {
    story("broken_plan", "우리 회사 3년 치 매출과 경쟁사 자료를 모두 모아 비교해줘")
        .note("The planner's JSON breaks off. Nothing is run and nobody is asked again.")
        .reply(intent("new_question", "우리 회사와 경쟁사의 3년 매출 비교", true, None))
        .reply(r#"{"steps": [{"id": "step_1", "tool": "search", "input": "3년 매출"#)
}

fn broken_intent() -> Story {
    story("broken_intent", WEATHER)
        .note("Fail closed holds for the intake as well: one call and an error.")
        .reply("의도: 새 질문입니다. 날씨 도구가 필요합니다.")
}

fn forbidden_tool() -> Story {
    story("forbidden_tool", WEATHER)
        .note("The second step names a tool that the agent does not have: the first is not run either.")
        .reply(weather_intent())
        .reply(plan(&[step("step_1", "wiki", "서울"), step("step_2", "get_weather", "서울")]))
}

fn input_from_nowhere() -> Story {
    story("input_from_nowhere", WEATHER)
        .note("The second step wants the output of one that there is not: nothing is run.")
        .reply(weather_intent())
        .reply(plan(&[step("step_1", "search", "서울 날씨"), from("step_2", "docs", "step_9")]))
}

fn replans_used_up() -> Story {
    story("replans_used_up", WEATHER)
        .note("Three plans fail, each at its first step; with two replans there is no fourth.")
        .reply(weather_intent())
        .reply(plan(&[step("step_1", "search", "서울 날씨")]))
        .failing_tool("search", "서울 날씨", LIMITED)
        .reply(plan(&[because(step("step_2", "wiki", "서울 날씨"), "검색이 한도에 걸려 백과사전을 찾는다.")]))
        .failing_tool("wiki", "서울 날씨", ("not_found", "no article was found"))
        .reply(plan(&[because(step("step_3", "docs", "서울 날씨"), "백과사전에 없어 문서를 찾는다.")]))
        .failing_tool("docs", "서울 날씨", ("not_found", "no document has these words"))
}
