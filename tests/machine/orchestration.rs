//! Between the steps an orchestrator decides what becomes of the rest of the plan: what each decision
//! does to it, how far it may go, and what follows where there is none.

use crate::promise;

use planwright::machine::FailureClass;
use planwright::spec::Spec;
use promise::{Say, Told, decision, found, go_on, plan, role_agent, spec, text, with_agents};
use serde_json::{Value, json};

const EACH_STEP: &str = "orchestrate = 'each_step'";

fn teams(policy: &str) -> Spec {
    with_agents(spec(policy), ["search", "analysis", "document"].map(role_agent))
}

fn add(agent: &str, task: &str) -> Say {
    decision(json!({"action": "add_agent", "next_agent": agent, "task": task}))
}

fn collaborate(primary: &str, supporting: &str) -> Say {
    let both =
        json!({"primary_agent": primary, "supporting_agent": supporting, "collaboration_type": "함께"});
    decision(json!({"action": "collaborate", "collaboration_needed": both}))
}

fn skip() -> Say {
    decision(json!({"action": "skip_remaining", "reasoning": "충분"}))
}

fn three() -> Say {
    plan(json!([
        {"agent": "search", "task": "찾기"}, {"agent": "analysis", "task": "분석"}, {"agent": "document", "task": "문서"},
    ]))
}

/// Tells a run its answers; these were asked, and this became of the steps.
#[track_caller]
fn check(spec: Spec, answers: Vec<Say>, asked: &[&str], results: &[&str]) -> Told {
    let told = Told::run(spec, answers);
    let names: Vec<&str> = told
        .asked
        .iter()
        .map(|name| match name.as_str() {
            "orchestrator" => "?",
            other => other.strip_prefix("agent:").unwrap_or(other),
        })
        .collect();
    assert_eq!(names, asked);
    assert_eq!(told.results(), results);
    assert_eq!(told.state, told.folded());
    told
}

fn decisions(told: &Told) -> Vec<Value> {
    told.trace().into_iter().filter(|line| line["phase"] == "DECISION").collect()
}

#[test]
fn it_is_asked_before_the_first_step_and_after_every_one_the_last_included() {
    let told = check(
        teams(EACH_STEP),
        vec![three(), go_on(), text("S"), go_on(), text("A"), go_on(), text("D"), go_on(), text("답")],
        &["planner", "?", "search", "?", "analysis", "?", "document", "?", "writer"],
        &["step_1: completed: S", "step_2: completed: A", "step_3: completed: D"],
    );
    let after: Vec<Value> = decisions(&told).iter().map(|line| line["after"].clone()).collect();
    assert_eq!(after, [0, 1, 2, 3]);
    assert_eq!(told.state.task.decisions.len(), 4, "decisions are kept");
    assert_eq!(told.state.task.counters.model_calls, 9);
}

#[test]
fn its_ids_count_decisions_and_askings() {
    let mut told = Told::run(teams(EACH_STEP), [three()]);
    assert_eq!(told.waits(), ["orchestrate.1.1.1"]);
    told.tell([text("?")]);
    assert_eq!(told.waits(), ["orchestrate.1.1.2"]);
    told.tell([go_on(), text("S")]);
    assert_eq!(told.waits(), ["orchestrate.1.2.1"]);
    for (late, said) in [
        ("orchestrate.1.1.1", "AlreadyAnswered"),
        ("orchestrate.1.1.2", "AlreadyAnswered"),
        ("orchestrate.1.1.3", "NeverAsked"),
        ("orchestrate.1.2.2", "NeverAsked"),
        ("orchestrate.1.3.1", "NeverAsked"),
        ("orchestrate.2.1.1", "NeverAsked"),
        ("step.1.1.1", "AlreadyAnswered"),
        ("step.1.2.1", "NeverAsked"),
    ] {
        let refusal = format!("{:?}", told.refusal(late, go_on()));
        assert!(refusal.starts_with(said), "{late}: {refusal}");
    }
}

#[test]
fn skip_remaining_leaves_out_what_has_not_begun_and_goes_to_write() {
    let told = check(
        teams(EACH_STEP),
        vec![three(), go_on(), text("S"), skip(), text("답")],
        &["planner", "?", "search", "?", "writer"],
        &["step_1: completed: S", "step_2: skipped: -", "step_3: skipped: -"],
    );
    assert_eq!(told.phases(), ["PLAN", "DECISION", "DECISION", "EXECUTE", "WRITE"]);
    assert_eq!(decisions(&told)[1]["decision"]["action"], json!("skip_remaining"));
    assert_eq!(told.line("EXECUTE")["num_results"], json!(1));
}

#[test]
fn skip_remaining_leaves_the_final_step_and_may_come_first() {
    let last = "orchestrate = 'each_step'\n[plan]\nfinal_step = 'required'";
    let steps = json!([{"agent": "search", "task": "t", "id": "a"}, {"agent": "analysis", "input_from": "a"}, {"tool": "final_answer", "depends_on": ["step_2"]}]);
    check(
        teams(last),
        vec![plan(steps), skip(), text("답")],
        &["planner", "?", "writer"],
        &["a: skipped: -", "step_2: skipped: -", "step_3: completed: (final step - no tool execution)"],
    );
}

#[test]
fn a_plan_of_only_the_final_step_is_nothing_to_decide_on() {
    let last = "orchestrate = 'each_step'\n[plan]\nfinal_step = 'required'";
    let told = Told::run(teams(last), [plan(json!([{"tool": "final_answer"}]))]);
    assert_eq!(told.waits(), ["write.1.1"]);
}

#[test]
fn an_added_agent_runs_next_with_its_task_though_it_has_run_before() {
    let told = check(
        teams(EACH_STEP),
        vec![
            three(),
            go_on(),
            text("S"),
            add("search", "다른 낱말로"),
            text("S2"),
            go_on(),
            text("A"),
            go_on(),
            text("D"),
            go_on(),
            text("답"),
        ],
        &["planner", "?", "search", "?", "search", "?", "analysis", "?", "document", "?", "writer"],
        &["step_1: completed: S", "added_2_1: completed: S2", "step_2: completed: A", "step_3: completed: D"],
    );
    assert_eq!(decisions(&told)[1]["remaining"], json!(["search", "analysis", "document"]));
    assert_eq!(told.state.task.counters.added_steps, 1);
    let progress = told.state.task.progress.as_ref().expect("a plan");
    assert_eq!(progress.plan.steps[1].task.as_deref(), Some("다른 낱말로"));
}

#[test]
fn an_agent_may_be_added_after_the_last_step() {
    check(
        teams(EACH_STEP),
        vec![
            plan(json!([{"agent": "search", "task": "찾기"}])),
            go_on(),
            text("S"),
            add("document", "써"),
            text("D"),
            go_on(),
            text("답"),
        ],
        &["planner", "?", "search", "?", "document", "?", "writer"],
        &["step_1: completed: S", "added_2_1: completed: D"],
    );
}

#[test]
fn an_added_agent_without_a_task_is_told_the_question() {
    let added = decision(json!({"action": "add_agent", "next_agent": "search"}));
    let told = Told::run(teams(EACH_STEP), [three(), added]);
    assert_eq!(told.payload()["task"], json!("왜?"));
}

#[test]
fn names_and_references_of_moved_steps_stay_right() {
    let steps = json!([
        {"agent": "search", "task": "찾기"}, {"agent": "search", "task": "더", "id": "b"},
        {"agent": "analysis", "task": "분석", "input_from": "step_1"},
        {"agent": "document", "task": "문서", "input_from": "step_3", "depends_on": ["b"]},
    ]);
    let mut told = Told::run(teams(EACH_STEP), [plan(steps), go_on(), text("S1"), add("document", "먼저")]);
    assert_eq!(told.waits(), ["step.1.2.1"]);
    told.tell([text("D0"), go_on(), text("S2"), go_on()]);
    assert_eq!(told.payload()["input"], json!("S1"), "step_3 reads what step_1 said");
    told.tell([text("A"), go_on()]);
    assert_eq!(told.payload()["input"], json!("A"), "step_4 reads what step_3 said");
    told.tell([text("D"), go_on(), text("답")]);
    assert_eq!(
        told.results(),
        [
            "step_1: completed: S1",
            "added_2_1: completed: D0",
            "b: completed: S2",
            "step_3: completed: A",
            "step_4: completed: D",
        ]
    );
}

#[test]
fn collaborating_runs_the_primary_next_on_what_the_supporting_agent_has_found() {
    let mut told =
        Told::run(teams(EACH_STEP), [three(), go_on(), text("S"), collaborate("document", "search")]);
    assert_eq!(told.payload()["input"], json!("S"));
    assert_eq!(told.payload()["task"], json!("문서"), "the planned step is brought forward with its task");
    told.tell([text("D"), go_on(), text("A"), go_on(), text("답")]);
    assert_eq!(told.results(), ["step_1: completed: S", "step_3: completed: D", "step_2: completed: A"]);
    assert_eq!(told.state.task.counters.added_steps, 0);
    assert_eq!(decisions(&told)[1]["remaining"], json!(["document", "analysis"]));
    let plan = &told.state.task.decisions[1].decision.collaboration_needed;
    assert_eq!(plan.as_ref().expect("kept").primary_agent, "document");
}

#[test]
fn the_supporting_agent_runs_first_only_if_it_has_found_nothing_yet() {
    let mut told = Told::run(teams(EACH_STEP), [three(), collaborate("analysis", "document")]);
    assert_eq!(told.payload()["task"], json!("문서"));
    told.tell([text("D"), go_on()]);
    assert_eq!(told.payload()["input"], json!("D"));
    told.tell([text("A"), go_on(), text("S"), go_on(), text("답")]);
    assert_eq!(told.results(), ["step_3: completed: D", "step_2: completed: A", "step_1: completed: S"]);
}

#[test]
fn agents_that_the_plan_lacks_are_added_for_a_collaboration() {
    let one = || plan(json!([{"agent": "search", "task": "찾기"}]));
    let mut told =
        Told::run(teams(EACH_STEP), [one(), collaborate("document", "analysis"), text("A"), go_on()]);
    assert_eq!(told.payload()["input"], json!("A"));
    assert_eq!(told.payload()["task"], json!("함께"));
    told.tell([text("D"), go_on(), text("S"), go_on(), text("답")]);
    assert_eq!(
        told.results(),
        ["added_1_1: completed: A", "added_1_2: completed: D", "step_1: completed: S"]
    );
    assert_eq!(told.state.task.counters.added_steps, 2);
}

#[test]
fn the_most_recent_output_of_the_supporting_agent_is_taken() {
    let told = Told::run(
        teams(EACH_STEP),
        [three(), go_on(), text("S1"), add("search", "더"), text("S2"), collaborate("analysis", "search")],
    );
    assert_eq!(told.payload()["input"], json!("S2"));
}

#[test]
fn additions_beyond_the_limit_fall_back_to_continue_and_are_traced_as_that() {
    let limited = format!("{EACH_STEP}\n[limits]\nmax_added_steps = 1");
    let one = plan(json!([{"agent": "search", "task": "찾기"}]));
    let told = check(
        teams(&limited),
        vec![
            one,
            add("search", "a"),
            text("1"),
            add("search", "b"),
            text("2"),
            add("search", "c"),
            text("답"),
        ],
        &["planner", "?", "search", "?", "search", "?", "writer"],
        &["added_1_1: completed: 1", "step_1: completed: 2"],
    );
    let lines = decisions(&told);
    assert_eq!(lines[0].get("fallback"), None);
    for line in &lines[1..] {
        assert_eq!(line["decision"]["action"], json!("continue"));
        assert_eq!(line["fallback"], json!("1 more steps were wanted, 0 of 1 may be added"));
        assert_eq!(line.get("remaining"), None);
    }
    let fallbacks: Vec<bool> = told.state.task.decisions.iter().map(|one| one.fallback).collect();
    assert_eq!(fallbacks, [false, true, true]);
    assert_eq!(told.state.task.counters.added_steps, 1);
}

#[test]
fn a_collaboration_of_which_only_a_part_may_be_added_changes_nothing() {
    let limited = format!("{EACH_STEP}\n[limits]\nmax_added_steps = 1");
    let one = plan(json!([{"agent": "search", "task": "찾기"}]));
    let told = Told::run(teams(&limited), [one, collaborate("document", "analysis"), text("S")]);
    assert_eq!(told.results(), ["step_1: completed: S"]);
    assert_eq!(told.state.task.counters.added_steps, 0);
}

#[test]
fn nonsense_is_repaired_or_falls_back_as_its_role_says() {
    let fallback = format!(
        "{EACH_STEP}\n[roles.orchestrator]\non_failure = {{ fallback = '{{\"action\": \"continue\"}}' }}"
    );
    for nonsense in [
        text("잘 모르겠어요"),
        add("chef", "요리"),
        decision(json!({"action": "add_agent"})),
        decision(json!({"action": "collaborate"})),
        decision(json!({"action": "dance"})),
        Say::Class(FailureClass::Refusal),
    ] {
        let mut told = Told::run(teams(&fallback), [three(), nonsense.clone()]);
        assert_eq!(told.waits(), ["step.1.1.1"], "{nonsense:?}");
        let line = told.line("DECISION");
        assert_eq!(line["decision"]["action"], json!("continue"));
        assert!(line["fallback"].is_string(), "{line}");
        assert!(told.state.task.decisions[0].fallback);
        assert_eq!(told.state.task.counters.model_calls, 3, "the plan, the decision, the first step");
        told.tell([text("S"), skip(), text("답")]);
        assert_eq!(told.said(), "답");
    }
    let told = Told::run(teams(EACH_STEP), [three(), add("chef", "요리"), skip(), text("답")]);
    assert_eq!(told.phases(), ["PLAN", "REPAIR", "DECISION", "EXECUTE", "WRITE"]);
    let told = Told::run(teams(EACH_STEP), [three(), text("?"), text("?")]);
    assert!(told.error().starts_with("EXECUTE_ERROR: contract: "), "{}", told.error());
}

#[test]
fn it_is_shown_the_situation() {
    let mut told = Told::run(teams(EACH_STEP), [three()]);
    let payload = told.payload();
    assert_eq!(payload["completed_teams"], json!([]));
    assert_eq!(payload["remaining_steps"][0], json!({"agent": "search", "task": "찾기"}));
    told.tell([go_on(), text("- 하나\n- 둘")]);
    let payload = told.payload();
    assert_eq!(payload["completed_teams"], json!(["search"]));
    assert_eq!(payload["situation_summary"][0]["results"], json!(2));
    assert_eq!(payload["remaining_steps"].as_array().map(Vec::len), Some(2));
    assert_eq!(payload["decisions"][0]["action"], json!("continue"));
}

#[test]
fn tools_and_agents_may_stand_in_one_plan_and_it_is_asked_after_each() {
    let steps =
        json!([{"tool": "find", "input": "a"}, {"agent": "analysis", "input_from": "step_1", "task": "t"}]);
    check(
        teams(EACH_STEP),
        vec![plan(steps), go_on(), found("F"), go_on(), text("A"), go_on(), text("답")],
        &["planner", "?", "find", "?", "analysis", "?", "writer"],
        &["step_1: completed: F", "step_2: completed: A"],
    );
}

#[test]
fn an_agent_can_be_added_after_a_failed_step_that_a_later_one_waits_for() {
    let steps = json!([{"agent": "search", "task": "찾기"}, {"agent": "analysis", "task": "분석", "input_from": "step_1"}]);
    let mut told = Told::run(
        teams(EACH_STEP),
        [plan(steps), go_on(), Say::Class(FailureClass::Refusal), add("search", "다시")],
    );
    assert_eq!(told.waits(), ["step.1.2.1"], "{:?}", told.line("DECISION"));
    assert_eq!(told.payload()["task"], json!("다시"));
    told.tell([text("S2"), go_on(), text("답")]);
    let results = told.results();
    assert_eq!(results[1], "added_2_1: completed: S2");
    assert!(results[2].starts_with("step_2: failed: ERROR: dependency: step_1 failed"), "{results:?}");
}

#[test]
fn planned_repetitions_are_still_skipped_after_an_agent_was_added() {
    let skips = "orchestrate = 'each_step'\nduplicates = 'skip'";
    let steps = json!([{"tool": "find", "input": "a"}, {"tool": "find", "input": "a"}, {"tool": "calc", "input": "1"}]);
    let mut told =
        Told::run(teams(skips), [plan(steps), go_on(), found("A"), add("search", "더"), text("S"), go_on()]);
    assert_eq!(told.waits(), ["step.1.4.1"]);
    told.tell([found("1"), go_on(), text("답")]);
    assert_eq!(told.results()[2], "step_2: skipped: -");
}
