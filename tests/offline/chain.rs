//! Plans whose steps work on each other's outputs, and plans that go on from what was done.

use std::sync::Arc;

use crate::offline_specs;

use offline_specs::{CHAIN, ask, compiled, frame};
use planwright::agents;
use planwright::contract::Before;
use planwright::contract::{Plan, PlanStep};
use planwright::driver::Agent;
use planwright::ports::FnTool;
use planwright::spec::{RoleName, Spec};
use planwright_offline::Offline;
use serde_json::{Value, json};

fn plan(role: RoleName, payload: &Value, before: &[PlanStep]) -> Arc<Plan> {
    let compiled = compiled(CHAIN);
    let reply = ask(&frame(&compiled, role), payload, &[]).text;
    let before = Before { steps: before, done: &|_| true };
    compiled.plan().parse(before, &reply, 100_000).unwrap_or_else(|error| panic!("{error}: {reply}")).plan
}

fn steps(plan: &Plan) -> Vec<String> {
    let text = |step: &PlanStep| match (&step.input, &step.input_from) {
        (Some(input), None) => format!("{}: {}", step.tool, input.as_str().unwrap()),
        (None, Some(from)) => format!("{} < {from}", step.tool),
        other => panic!("{other:?}"),
    };
    plan.steps.iter().map(text).collect()
}

#[test]
fn a_summary_works_on_what_was_found() {
    let check = |question: &str, expected: &[&str]| {
        let found = plan(RoleName::Planner, &json!({"user_question": question}), &[]);
        assert_eq!(steps(&found), expected, "{question}");
    };
    check("LangGraph가 뭔지 검색하고 요약해줘", &["wiki: LangGraph", "summarize < step_1"]);
    check("Search for solar power and summarise it", &["wiki: solar power", "summarize < step_1"]);
    check("LangGraph가 뭐야?", &["wiki: LangGraph"]);
    check("고마워!", &[]);
}

#[test]
fn the_question_made_to_stand_alone_is_planned_for() {
    let payload =
        json!({"user_question": "더 있어?", "rewritten_query": "영등포 견과류 알레르기 맛집: 더 있어?"});
    assert_eq!(steps(&plan(RoleName::Planner, &payload, &[])), ["wiki: 영등포 견과류 알레르기 맛집"]);
}

#[test]
fn a_new_plan_keeps_what_was_done_and_numbers_on() {
    let done = PlanStep {
        id: Some("step_1".to_owned()),
        tool: "wiki".to_owned(),
        input: Some("저널".into()),
        ..PlanStep::default()
    };
    let failed = json!({"step_index": 1, "tool": "wiki", "input": "픽스처", "status": "failed", "output": "ERROR: rate limited"});
    let past = json!([{"step_index": 0, "tool": "wiki", "input": "저널", "status": "completed", "output": "x"}, failed]);
    let payload = json!({"user_question": "저널은 뭐고 픽스처는 뭐야?", "past_steps": past, "failed_steps": [failed],
        "rejected_because": "step 2 failed",
        "rejected_plan": {"goal": "g", "steps": [{"tool": "wiki", "input": "저널"}, {"tool": "wiki", "input": "픽스처"}]}});
    let before = [
        done,
        PlanStep {
            id: Some("step_2".to_owned()),
            tool: "wiki".to_owned(),
            input: Some("픽스처".into()),
            ..PlanStep::default()
        },
    ];
    let found = plan(RoleName::Replanner, &payload, &before);
    assert!(!found.steps.is_empty() && steps(&found) != ["wiki: 픽스처"], "{:?}", found.steps);
    assert!(!steps(&found).contains(&"wiki: 저널".to_owned()), "{:?}", found.steps);
    assert_eq!(found.steps[0].id.as_deref(), Some("step_3"));
}

#[test]
fn summary_is_a_step_by_its_name() {
    let source = agents::source("intent-first").unwrap();
    let named = source.replacen("\ntools = ", "\nagents = [\"summarize\"]\ntools = ", 1);
    let spec = Spec::from_toml(&named).unwrap().with_tools(|tool| tool.name == "docs");
    let passage = "Solar power turns sunlight into electricity.";
    let passages = json!([{"source": "solar.md", "text": passage}]).to_string();
    let docs = FnTool::new(agents::tool("docs").unwrap(), move |_| Ok(passages.clone()));
    let agent = Agent::builder(spec).model(Offline::new()).tool(docs).build().unwrap();
    let run = agent.run("Search for solar power and summarise it").unwrap();
    assert_eq!(run.error(), None);
    let steps: Vec<_> = run
        .state()
        .steps()
        .map(|step| (&*step.step.tool, step.step.input_from.as_deref(), step.status))
        .collect();
    assert_eq!(steps, [("docs", None, "completed"), ("summarize", Some("step_1"), "completed")]);
    assert!(run.state().steps().last().unwrap().output.unwrap().contains(passage));
    assert!(run.answer().unwrap().contains(passage), "{:?}", run.answer());

    let error = Spec::from_toml(&named.replace("summarize", "summarise")).unwrap_err().to_string();
    assert!(error.contains("expected an agent or one of summarize, found \"summarise\""), "{error}");
}
