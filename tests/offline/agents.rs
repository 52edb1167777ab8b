//! Plans with agents that do steps, the decisions between their steps, and their work.

use std::sync::Arc;

use crate::offline_specs;

use offline_specs::{RESEARCH, WORKERS, agent_frame, ask, compiled, frame, result};
use planwright::contract::schema::Schema;
use planwright::contract::{Action, Before, Decision, Plan};
use planwright::machine::FailureClass;
use planwright::ports::{Model, ModelError};
use planwright::prompt::ModelRequest;
use planwright::spec::RoleName;
use planwright_offline::Offline;
use serde_json::{Value, json};

fn plan(spec: &str, payload: &Value) -> Arc<Plan> {
    let compiled = compiled(spec);
    let frame = frame(&compiled, RoleName::Planner);
    let reply = ask(&frame, payload, &[]).text;
    let value: Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(Schema::new(frame.schema.as_ref().unwrap()).unwrap().check(&value), Ok(()), "{reply}");
    compiled
        .plan()
        .parse(Before::NOTHING, &reply, 100_000)
        .unwrap_or_else(|error| panic!("{error}: {reply}"))
        .plan
}

/// The steps as `who: what it is told`.
fn check(spec: &str, question: &str, expected: &[&str]) {
    let plan = plan(spec, &json!({"user_question": question}));
    let steps: Vec<String> =
        plan.steps.iter().map(|step| format!("{}: {}", step.tool, step.instruction())).collect();
    assert_eq!(steps, expected, "{question}");
}

#[test]
fn who_searches_comes_first_and_others_where_their_work_is_asked_for() {
    check(WORKERS, "강남 아파트 시세 알려줘", &["search_team: 강남 아파트 시세"]);
    check(
        WORKERS,
        "강남 아파트 시세를 분석해줘",
        &["search_team: 강남 아파트 시세", "analysis_team: 강남 아파트 시세 분석"],
    );
    check(
        WORKERS,
        "Analyse the sales of Acme and write a report",
        &[
            "search_team: sales Acme",
            "analysis_team: analysis on sales Acme",
            "document_team: report on sales Acme",
        ],
    );
    check(WORKERS, "안녕하세요", &[]);
}

#[test]
fn a_later_step_works_on_what_was_found() {
    let plan = plan(WORKERS, &json!({"user_question": "매출을 분석하고 보고서를 써줘"}));
    assert!(plan.goal.is_some() && plan.reasoning.is_some() && plan.strategy.is_some());
    let from: Vec<Option<&str>> = plan.steps.iter().map(|step| step.input_from.as_deref()).collect();
    assert_eq!(from, [None, Some("step_1"), Some("step_2")]);
    assert!(plan.steps.iter().all(|step| step.description.is_some()));
}

#[test]
fn a_person_is_asked_only_where_the_question_wants_it() {
    check(
        WORKERS,
        "매출을 분석해줘. 보고서 쓰기 전에 내가 확인할게",
        &[
            "search_team: 매출",
            "analysis_team: 매출 분석",
            "hitl: 지금까지의 결과로 계속 진행할까요?",
            "document_team: 매출 보고서 작성",
        ],
    );
    let plan =
        plan(WORKERS, &json!({"user_question": "Search for Acme's sales, ask me, then draft a report"}));
    let who: Vec<&str> = plan.steps.iter().map(|step| step.tool.as_str()).collect();
    assert_eq!(who, ["search_team", "hitl", "document_team"]);
    assert_eq!(plan.steps[2].input_from.as_deref(), Some("step_1"));
    assert_eq!(plan.steps[2].depends_on, ["step_1", "step_2"]);
}

#[test]
fn tools_look_up_side_by_side_and_the_writer_comes_last() {
    let plan = plan(RESEARCH, &json!({"user_question": "What is ReAct and what is a state machine?"}));
    let steps: Vec<String> =
        plan.steps.iter().map(|step| format!("{}: {}", step.tool, step.instruction())).collect();
    assert_eq!(
        steps,
        [
            "wiki: ReAct",
            "wiki: state machine",
            "writer: write the answer: What is ReAct and what is a state machine?",
        ]
    );
    assert!(plan.steps[..2].iter().all(|step| step.depends_on.is_empty()));
    assert_eq!(plan.steps[2].depends_on, ["step_1", "step_2"]);
}

#[test]
fn a_rejected_plan_is_worded_differently() {
    for spec in [WORKERS, RESEARCH] {
        let mut payload = json!({"user_question": "비밀유지 의무 위반을 분석해줘"});
        let first = plan(spec, &payload);
        payload["rejected_plan"] = serde_json::to_value(&first).unwrap();
        payload["rejected_because"] = json!("not about it");
        let second = plan(spec, &payload);
        assert_ne!(first.steps, second.steps);
    }
}

fn decision(payload: &Value) -> Decision {
    let compiled = compiled(WORKERS);
    let reply = ask(&frame(&compiled, RoleName::Orchestrator), payload, &[]).text;
    compiled.parse_decision(&reply).unwrap()
}

#[test]
fn a_search_that_found_nothing_is_repeated_once_in_other_words() {
    let remaining = json!([{"agent": "analysis_team", "task": "분석"}]);
    let done = |results: u32| json!([{"agent": "search_team", "status": "completed", "results": results}]);
    let mut payload = json!({"user_question": "강남 아파트 시세를 분석해줘", "remaining_steps": remaining,
        "completed_teams": ["search_team"], "situation_summary": done(0), "decisions": []});
    let found = decision(&payload);
    assert_eq!((found.action, found.next_agent.as_deref()), (Action::AddAgent, Some("search_team")));
    assert_eq!(found.task.as_deref(), Some("강남 아파트 개요"));
    payload["decisions"] = json!([found]);
    assert_eq!(decision(&payload).action, Action::Continue);
    payload["decisions"] = json!([]);
    payload["situation_summary"] = done(5);
    assert_eq!(decision(&payload).action, Action::Continue);
}

#[test]
fn everything_else_goes_on_as_planned() {
    for payload in [
        json!({"user_question": "강남 시세"}),
        json!({"user_question": "강남 시세", "situation_summary": [], "remaining_steps": [{"agent": "search_team"}]}),
        json!({"user_question": "강남 시세", "situation_summary": [{"agent": "analysis_team", "results": 0}]}),
    ] {
        let found = decision(&payload);
        assert_eq!(found.action, Action::Continue);
        assert!(!found.reasoning.is_empty() && found.confidence.is_some());
    }
}

fn work(agent: &str, payload: &Value) -> String {
    ask(&agent_frame(&compiled(WORKERS), agent), payload, &[]).text
}

fn docs(text: &str) -> Value {
    let output = json!([{"source": "시세.md#강남", "text": text}]).to_string();
    json!({"step_index": 0, "tool": "docs", "input": "x", "status": "completed", "output": output})
}

#[test]
fn an_agent_without_material_has_no_result() {
    #[track_caller]
    fn check(agent: &str, payload: Value, said: &str) {
        let frame = agent_frame(&compiled(WORKERS), agent);
        let request =
            ModelRequest { frame, payload: payload.to_string(), conversation: Vec::new(), trace: None };
        let error = Offline::new().ask(&request, None).unwrap_err();
        assert_eq!(error, ModelError::failed(FailureClass::NothingFound, said));
    }
    let payload = json!({"user_question": "강남 시세 분석", "task": "강남 시세 분석", "tool_results": []});
    check("analysis_team", payload, "이 작업에 쓸 자료가 없습니다: 강남 시세 분석");
    let failed = result("search_team", "sales", "failed", "ERROR: timeout: no answer in 10 s");
    let payload = json!({"user_question": "sales", "task": "Search for sales", "tool_results": [failed]});
    check("search_team", payload, "There is no material to work on for this task: Search for sales");
}

#[test]
fn an_agent_extracts_what_answers_its_task_with_its_source() {
    let text = "강남 아파트의 평균 시세는 20억 원이다. 부산에는 바다가 있다.";
    let payload = json!({"user_question": "강남 시세를 분석해줘", "task": "강남 시세 분석", "tool_results": [docs(text)]});
    let found = work("analysis_team", &payload);
    assert_eq!(
        found,
        "강남 아파트의 평균 시세는 20억 원이다. 부산에는 바다가 있다. [1]\n\n출처:\n[1] 시세.md#강남"
    );

    // A task that holds the question is about it, and not about what else it says.
    for (question, task) in [
        ("강남 시세는 얼마인가?", "답변 작성: 강남 시세는 얼마인가?"),
        ("What is 강남 시세?", "write the answer: What is 강남 시세? (in other words)"),
    ] {
        let payload = json!({"user_question": question, "task": task, "tool_results": [docs(text)]});
        let answer = work("document_team", &payload);
        assert!(answer.starts_with("강남 아파트의 평균 시세는 20억 원이다."), "{answer}");
    }

    // The next one works on that, and the source goes along.
    let result = json!({"step_index": 1, "tool": "analysis_team", "status": "completed", "output": found});
    let payload = json!({"user_question": "강남 시세 보고서", "task": "강남 시세 보고서 작성", "input": found,
        "tool_results": [result]});
    let report = work("document_team", &payload);
    assert_eq!(
        report,
        "# 강남 시세 보고서 작성\n\n강남 아파트의 평균 시세는 20억 원이다. 부산에는 바다가 있다. [1]\n\n출처:\n[1] 시세.md#강남"
    );
    let payload = json!({"user_question": "강남 시세는?", "plan": {}, "tool_results": [result_of(&report)]});
    let answer = ask(&frame(&compiled(WORKERS), RoleName::Writer), &payload, &[]).text;
    assert!(answer.ends_with("[1] 시세.md#강남"), "{answer}");
}

fn result_of(output: &str) -> Value {
    json!({"step_index": 2, "tool": "document_team", "status": "completed", "output": output})
}

#[test]
fn an_input_alone_is_material_and_a_check_says_what_is_missing() {
    let payload = json!({"user_question": "q", "task": "validation of the sales of Acme",
        "input": "Acme made sales of 3 million in May."});
    let found = work("analysis_team", &payload);
    assert!(found.starts_with("Checked by words: the results speak of \"sales\", \"Acme\""), "{found}");
    assert!(found.contains("Acme made sales of 3 million in May. [1]"), "{found}");
}

#[test]
fn a_written_answer_is_judged_by_what_it_speaks_of() {
    let judge = |answer: &str| {
        let payload =
            json!({"user_question": "비밀유지 의무는?", "plan": {}, "tool_results": [], "answer": answer});
        let reply = ask(&frame(&compiled(WORKERS), RoleName::Validator), &payload, &[]).text;
        planwright::contract::Validate::Verdict.parse(&reply, 10_000).unwrap()
    };
    assert!(judge("비밀유지 의무는 3년이다.").ok);
    let empty = judge(" ");
    assert!(!empty.ok && empty.reason.contains("비어"), "{empty:?}");
    let other = judge("날씨가 좋다.");
    assert!(!other.ok && other.fix_hint.contains("비밀유지"), "{other:?}");
}
