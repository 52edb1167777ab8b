//! What else may come of a run of `validated`. All of it is made up.

use planwright::machine::FailureClass;

use super::{Story, plan, verdict};

pub fn stories() -> Vec<Story> {
    vec![
        accepted_at_once(),
        replanned_without_a_hint(),
        replanned_twice(),
        replans_used_up(),
        malformed_plan(),
        malformed_plan_twice(),
        fenced_plan(),
        malformed_verdict(),
        failing_tool(),
        failing_writer(),
        refusing_writer(),
        cancelled(),
        in_english(),
        broken_verdict(),
    ]
}

fn story(name: &'static str, question: &'static str) -> Story {
    Story::new("validated", name, question).note("Made up.")
}

const EVERYDAY: &str = "유한 상태 기계의 일상 속 예를 세 가지만 알려줘.";
const MACHINE: &str = "유한 상태 기계";
const FOUND: &str = "Page: 유한 상태 기계\nSummary: 한 번에 하나의 상태에만 있고, 입력에 따라 다른 상태로 넘어가는 \
                     수학적 모델. 자판기, 엘리베이터, 신호등이 예이다.";
const EXAMPLES: &str = "1. 자판기: 동전을 넣으면 «대기»에서 «선택»으로 넘어갑니다.\n\
                        2. 엘리베이터: 층 단추를 누르면 «정지»에서 «이동»으로 넘어갑니다.\n\
                        3. 신호등: 시간이 지나면 «초록»에서 «노랑»으로 넘어갑니다.\n\
                        출처: 위키백과 «유한 상태 기계»";

fn everyday_plan() -> String {
    plan("일상 속 예를 찾는다.", &[("wiki", MACHINE), ("final_answer", "예 세 가지와 각각의 상태 전이")])
}

fn accepted_at_once() -> Story {
    story("accepted_at_once", EVERYDAY)
        .reply(everyday_plan())
        .tool("wiki", MACHINE, FOUND)
        .reply(verdict(true, "예로 쓸 자료가 있습니다.", ""))
        .reply(EXAMPLES)
}

fn replanned_without_a_hint() -> Story {
    story("replanned_without_a_hint", EVERYDAY)
        .note("The validator sends the plan back and has no hint, so the planner plans again, not the re-planner.")
        .reply(plan("예를 찾는다.", &[("wiki", "기계"), ("final_answer", "예 세 가지")]))
        .tool("wiki", "기계", "Page: 기계\nSummary: 동력을 써서 움직이거나 일을 하는 장치.")
        .reply(verdict(false, "찾은 것은 일반적인 기계에 관한 글입니다.", ""))
        .reply(everyday_plan())
        .tool("wiki", MACHINE, FOUND)
        .reply(verdict(true, "예로 쓸 자료가 있습니다.", ""))
        .reply(EXAMPLES)
}

const PATTERN: &str = "Plan-Then-Execute와 ReAct의 차이를 로봇의 예로 설명해줘.";
const NO_ARTICLE: &str = "Page: Query plan\nSummary: A sequence of steps used to access data in a database.";

/// Two rejections: a wrong topic, then no example.
fn rejected_twice(name: &'static str) -> Story {
    let first = [("wiki", "plan then execute"), ("final_answer", "두 방식의 차이")];
    let second =
        [("search", "Plan-Then-Execute vs ReAct agents"), ("final_answer", "두 방식의 차이와 로봇의 예")];
    story(name, PATTERN)
        .reply(plan("두 방식을 비교한다.", &first))
        .tool("wiki", "plan then execute", NO_ARTICLE)
        .reply(verdict(false, "데이터베이스의 질의 계획에 관한 글입니다.", "백과사전 대신 웹에서 에이전트 방식을 찾으세요."))
        .reply(plan("웹에서 두 방식을 찾는다.", &second))
        .tool(
            "search",
            "Plan-Then-Execute vs ReAct agents",
            r#"[{"title":"Agent patterns","url":"https://example.org/patterns","content":"One plans whole and then carries out; the other thinks and acts in turn."}]"#,
        )
        .reply(verdict(false, "로봇의 예로 쓸 자료가 없습니다.", "로봇이 물체를 옮기는 작업의 단계를 찾으세요."))
        .reply(plan(
            "로봇의 예를 찾는다.",
            &[("search", "robot pick and place states"), ("wiki", MACHINE), ("final_answer", "로봇의 예로 두 방식의 차이")],
        ))
        .tool(
            "search",
            "robot pick and place states",
            r#"[{"title":"Pick and place","url":"https://example.org/robot","content":"Wait, move, grip, release."}]"#,
        )
        .tool("wiki", MACHINE, FOUND)
}

fn replanned_twice() -> Story {
    rejected_twice("replanned_twice").reply(verdict(true, "로봇의 예를 쓸 수 있습니다.", "")).reply(
        "물체를 옮기는 로봇을 생각해 봅시다. 상태는 «대기», «이동», «집기», «놓기»입니다.\n\
         - Plan-Then-Execute: 이동 → 집기 → 이동 → 놓기를 모두 계획한 다음 그대로 실행합니다.\n\
         - ReAct: 한 동작을 하고 결과를 본 다음에 다음 동작을 정합니다.\n\
         출처: Agent patterns, Pick and place",
    )
}

fn replans_used_up() -> Story {
    rejected_twice("replans_used_up")
        .note("With two replans three plans are drafted; the third rejection ends the run.")
        .reply(verdict(false, "두 방식을 비교한 자료가 여전히 없습니다.", "비교한 글을 찾으세요."))
}

fn malformed_plan() -> Story {
    let unknown = [("browser", MACHINE), ("final_answer", "예 세 가지")];
    story("malformed_plan", EVERYDAY)
        .note("The first plan names a tool that does not exist. The planner is shown the error and mends it.")
        .reply(plan("일상 속 예를 찾는다.", &unknown))
        .reply(everyday_plan())
        .tool("wiki", MACHINE, FOUND)
        .reply(verdict(true, "예로 쓸 자료가 있습니다.", ""))
        .reply(EXAMPLES)
}

fn malformed_plan_twice() -> Story {
    story("malformed_plan_twice", EVERYDAY)
        .note("One repair is allowed. The second reply does not read either, and nothing is run.")
        .reply("먼저 위키백과를 찾아보겠습니다.")
        .reply(r#"{"goal": "일상 속 예를 찾는다.", "steps": [{"tool": "wiki", "input": "유한 상태"#)
}

fn fenced_plan() -> Story {
    story("fenced_plan", EVERYDAY)
        .note("The planner wraps its plan in prose and a code fence. It reads all the same.")
        .reply(format!("계획은 다음과 같습니다.\n```json\n{}\n```\n이대로 진행할까요?", everyday_plan()))
        .tool("wiki", MACHINE, FOUND)
        .reply(verdict(true, "예로 쓸 자료가 있습니다.", ""))
        .reply(EXAMPLES)
}

fn malformed_verdict() -> Story {
    story("malformed_verdict", EVERYDAY)
        .note("The validator says `ok` in words. It is shown the error and mends it.")
        .reply(everyday_plan())
        .tool("wiki", MACHINE, FOUND)
        .reply(r#"{"ok": "예", "reason": "자료가 있습니다.", "fix_hint": ""}"#)
        .reply(verdict(true, "자료가 있습니다.", ""))
        .reply(EXAMPLES)
}

fn failing_tool() -> Story {
    let steps = [("wiki", MACHINE), ("lookup", "신호등"), ("final_answer", "예 세 가지")];
    story("failing_tool", EVERYDAY)
        .note("One tool does not answer in time. What the other found is enough.")
        .reply(plan("정의와 예를 찾는다.", &steps))
        .tool("wiki", MACHINE, FOUND)
        .failing_tool("lookup", "신호등", ("timeout", "no answer within 30000 ms"))
        .reply(verdict(true, "한 자료를 읽지 못했지만 예 세 가지는 쓸 수 있습니다.", ""))
        .reply(EXAMPLES)
}

fn failing_writer() -> Story {
    story("failing_writer", EVERYDAY)
        .note("The writer says nothing, twice.")
        .reply(everyday_plan())
        .tool("wiki", MACHINE, FOUND)
        .reply(verdict(true, "예로 쓸 자료가 있습니다.", ""))
        .reply("")
        .reply(" \n")
}

fn refusing_writer() -> Story {
    story("refusing_writer", EVERYDAY)
        .note("A refusal is an answer: the same request would get it again, so it is not repaired.")
        .reply(everyday_plan())
        .tool("wiki", MACHINE, FOUND)
        .reply(verdict(true, "예로 쓸 자료가 있습니다.", ""))
        .fails(FailureClass::Refusal, "죄송하지만 도와드릴 수 없습니다.")
}

fn cancelled() -> Story {
    let steps = [("wiki", MACHINE), ("search", "신호등의 상태"), ("final_answer", "예 세 가지")];
    story("cancelled", EVERYDAY)
        .note(
            "A person stops the run while the first tool is at work. Its answer is still written down; the \
               second tool is not called.",
        )
        .reply(plan("예를 찾는다.", &steps))
        .tool("wiki", MACHINE, FOUND)
        .cancelled_meanwhile()
}

fn in_english() -> Story {
    let first = [("wiki", "rate limiting"), ("final_answer", "what a token bucket is, with an example")];
    let second =
        [("wiki", "token bucket"), ("final_answer", "what a token bucket is, with an example in numbers")];
    story("in_english", "What is a token bucket? Give an example with numbers.")
        .reply(plan("Explain token buckets.", &first))
        .tool("wiki", "rate limiting", "Page: Rate limiting\nSummary: Controls how many requests are let through.")
        .reply(verdict(
            false,
            "The article does not say how a token bucket works.",
            "Look for the token bucket itself.",
        ))
        .reply(plan("Explain token buckets from their own article.", &second))
        .tool(
            "wiki",
            "token bucket",
            "Page: Token bucket\nSummary: Tokens are added at a fixed rate, up to a limit; a request takes one out.",
        )
        .reply(verdict(true, "The article explains it.", ""))
        .reply(
            "A token bucket lets a request through only if it can take a token out. With 5 tokens a second and room \
             for 10, ten requests at once all pass, the eleventh waits for 0.2 s.\nSource: Token bucket",
        )
}

fn broken_verdict() -> Story {
    story("broken_verdict", "What is a leaky bucket?")
        .note("The validator passes its verdict in words, twice. Nothing is written that nobody has judged.")
        .reply(plan(
            "Explain leaky buckets.",
            &[("wiki", "leaky bucket"), ("final_answer", "what a leaky bucket is")],
        ))
        .tool(
            "wiki",
            "leaky bucket",
            "Page: Leaky bucket\nSummary: What is poured in leaves at a fixed rate; the rest overflows.",
        )
        .reply("Looks good to me.")
        .reply("Yes, the results are enough.")
}
