//! Stories of `research-team`: a plan as a graph, roles as steps, and a critic of the written answer. All
//! of it is made up.

mod endings;

use serde_json::{Value, json};

use super::{Story, page, verdict};

pub fn stories() -> Vec<Story> {
    let mut told = vec![accepted(), rejected_once(), failing_source()];
    told.extend(endings::stories());
    told
}

fn story(name: &'static str, question: &'static str) -> Story {
    Story::new("research-team", name, question).note("Made up.")
}

fn call(id: &str, tool: &str, input: &str) -> Value {
    json!({"id": id, "tool": tool, "task": null, "input": input, "input_from": null, "depends_on": []})
}

fn task(id: &str, agent: &str, task: &str, depends_on: &[&str]) -> Value {
    json!({"id": id, "tool": agent, "task": task, "input": null, "input_from": null, "depends_on": depends_on})
}

fn plan(goal: &str, steps: &[Value]) -> String {
    json!({"goal": goal, "steps": steps}).to_string()
}

const HEAT: &str = "히트펌프와 가스보일러 중 어느 쪽이 난방비가 덜 드나요?";
const PUMP: &str = "히트펌프 효율과 난방비";
const BOILER: &str = "가스보일러";
const PUMP_TASK: &str = "히트펌프의 효율과 비용을 정리한다.";
const BOILER_TASK: &str = "가스보일러의 효율과 비용을 정리한다.";
const WRITES: &str = "두 방식의 난방비를 비교해 답한다.";
const PUMP_FOUND: &str = r#"[{"title":"히트펌프 난방비","url":"https://example.org/pump","content":"성능 계수 3.5, 연 62만 원."}]"#;
const BOILER_FOUND: &str =
    "Page: 가스보일러\nSummary: 콘덴싱 보일러의 효율은 90% 안팎, 연료비는 연 80만 원가량.";
const PUMP_FACTS: &str = "- 성능 계수 3.5, 연 62만 원 (히트펌프 난방비)";
const BOILER_FACTS: &str = "- 효율 90%, 연 80만 원 (가스보일러)";
const COMPARED: &str = "같은 집이라면 히트펌프가 덜 듭니다: 연 62만 원 대 80만 원. 히트펌프는 전기 1로 열 3.5를 내고, \
                        가스보일러의 효율은 90% 안팎이기 때문입니다.\n출처: 히트펌프 난방비, 가스보일러";

fn graph() -> String {
    plan(
        "두 난방의 비용을 비교한다.",
        &[
            call("pump", "search", PUMP),
            call("boiler", "wiki", BOILER),
            task("pump_facts", "research", PUMP_TASK, &["pump"]),
            task("boiler_facts", "research", BOILER_TASK, &["boiler"]),
            task("answer", "writer", WRITES, &["pump_facts", "boiler_facts"]),
        ],
    )
}

fn accepted() -> Story {
    story("accepted", HEAT)
        .note("Two branches run side by side, and here the second is ahead of the first.")
        .reply(graph())
        .tool_from("wiki", BOILER, BOILER_FOUND, &[page("가스보일러", "https://example.org/boiler")])
        .reply_to(BOILER_TASK, BOILER_FACTS)
        .tool_from("search", PUMP, PUMP_FOUND, &[page("히트펌프 난방비", "https://example.org/pump")])
        .reply_to(PUMP_TASK, PUMP_FACTS)
        .reply_to(WRITES, COMPARED)
        .reply(verdict(true, "두 방식의 비용이 근거와 함께 비교되었습니다.", ""))
}

fn rejected_once() -> Story {
    let facts = "What a heat pump saves.";
    let writes = "Say whether a heat pump pays off.";
    let again = "Say after how many years a heat pump pays off, and on what that depends.";
    let saved = r#"[{"title":"Heating costs","url":"https://example.org/costs","content":"A heat pump saves about 180 euros a year."}]"#;
    let price = r#"[{"title":"Prices","url":"https://example.org/prices","content":"A heat pump costs 2,700 euros more than a boiler."}]"#;
    story("rejected_once", "Does a heat pump pay off?")
        .note("The critic reads the written answer and finds half of it missing. The second plan runs whole.")
        .reply(plan(
            "Find what it saves.",
            &[
                call("costs", "search", "heat pump heating costs"),
                task("facts", "research", facts, &["costs"]),
                task("answer", "writer", writes, &["facts"]),
            ],
        ))
        .tool_from("search", "heat pump heating costs", saved, &[page("Heating costs", "https://example.org/costs")])
        .reply_to(facts, "- It saves about 180 euros a year (Heating costs).")
        .reply_to(writes, "Yes: it saves about 180 euros a year.\nSource: Heating costs")
        .reply(verdict(
            false,
            "The answer names what is saved and not what it costs, so it does not say whether it pays off.",
            "Find out what a heat pump costs more, and put the two together.",
        ))
        .reply(plan(
            "Set the price against the savings.",
            &[
                call("costs", "search", "heat pump heating costs"),
                call("prices", "search", "heat pump price compared with boiler"),
                call("years", "calc", "2700/180"),
                task("answer", "writer", again, &["costs", "prices", "years"]),
            ],
        ))
        .tool_from("search", "heat pump heating costs", saved, &[page("Heating costs", "https://example.org/costs")])
        .tool_from(
            "search",
            "heat pump price compared with boiler",
            price,
            &[page("Prices", "https://example.org/prices")],
        )
        .tool("calc", "2700/180", "15")
        .reply_to(
            again,
            "After about 15 years: it costs 2,700 euros more and saves about 180 a year. With dearer gas it is \
             sooner.\nSources: Heating costs, Prices",
        )
        .reply(verdict(true, "Price and savings are set against one another.", ""))
}

fn failing_source() -> Story {
    let writes = "가스보일러의 난방비를 답하고, 히트펌프는 찾지 못했다고 밝힌다.";
    story("failing_source", HEAT)
        .note("One search fails, so the steps that depend on it are not run, and no answer is written.")
        .note("There is nothing for the critic to judge, so the run goes back to PLAN at once; the second plan does without.")
        .reply(graph())
        .failing_tool("search", PUMP, ("http", "the server answered 503 Service Unavailable"))
        .tool("wiki", BOILER, BOILER_FOUND)
        .reply_to(BOILER_TASK, BOILER_FACTS)
        .reply(plan(
            "백과사전으로 답한다.",
            &[call("boiler", "wiki", BOILER), task("answer", "writer", writes, &["boiler"])],
        ))
        .tool("wiki", BOILER, BOILER_FOUND)
        .reply_to(writes, "가스보일러는 연 80만 원가량 듭니다. 히트펌프의 비용은 검색이 되지 않아 찾지 못했습니다.\n출처: 가스보일러")
        .reply(verdict(true, "찾은 것과 찾지 못한 것을 밝혔습니다.", ""))
}
