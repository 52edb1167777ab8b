//! Between the steps an orchestrator decides what becomes of the rest of the plan: what each decision
//! does to it, how far it may go, and what follows where there is none.

use planwright::spec::Spec;
use serde_json::{Value, json};

use crate::promise::{
    Say, Told, decision, found, go_on, plan, refuses_to_say, role_agent, spec, text, with_agents,
};

const LAST: &str = "[plan]\nfinal_step = 'required'";
const ONE_MORE: &str = "[limits]\nmax_added_steps = 1";

fn teams(more: &str) -> Spec {
    let policy = format!("orchestrate = 'each_step'\n{more}");
    with_agents(spec(&policy), ["search", "analysis", "document"].map(role_agent))
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
    plan("@search 찾기; @analysis 분석; @document 문서")
}

fn one() -> Say {
    plan("@search 찾기")
}

/// What agents say, with a decision to go on after each, and the answer.
fn rest(said: &[&str]) -> impl Iterator<Item = Say> {
    let said: Vec<Say> = said.iter().flat_map(|said| [text(*said), go_on()]).collect();
    said.into_iter().chain([text("답")])
}

/// Tells a run its answers; these were asked (`?` is the orchestrator), and this became of the steps.
#[track_caller]
fn check(spec: Spec, answers: impl IntoIterator<Item = Say>, asked: &str, results: &[&str]) -> Told {
    let told = Told::run(spec, answers);
    let names = told.asked.iter().map(|name| match name.as_str() {
        "orchestrator" => "?",
        other => other.strip_prefix("agent:").unwrap_or(other),
    });
    assert_eq!(names.collect::<Vec<_>>().join(" "), asked);
    assert_eq!(told.results(), results);
    told
}

#[test]
fn it_is_asked_before_the_first_step_and_after_every_one_the_last_included() {
    let told = check(
        teams(""),
        [three(), go_on()].into_iter().chain(rest(&["S", "A", "D"])),
        "planner ? search ? analysis ? document ? writer",
        &["step_1: completed: S", "step_2: completed: A", "step_3: completed: D"],
    );
    let after: Vec<Value> = told.lines("DECISION").iter().map(|line| line["after"].clone()).collect();
    assert_eq!(after, [0, 1, 2, 3]);
    assert_eq!(told.state.decisions().len(), 4, "decisions are kept");
    assert_eq!(told.spent().model_calls, 9);

    check(
        teams(""),
        [plan("find a; @analysis t < step_1"), go_on(), found("F"), go_on(), text("A"), go_on(), text("답")],
        "planner ? find ? analysis ? writer",
        &["step_1: completed: F", "step_2: completed: A"],
    );
}

#[test]
fn its_ids_count_decisions_and_askings() {
    let mut told = Told::run(teams(""), [three()]);
    assert_eq!(told.waits(), ["orchestrate.1.1.1"]);
    assert_eq!(told.tell([text("?")]).waits(), ["orchestrate.1.1.2"]);
    assert_eq!(told.tell([go_on(), text("S")]).waits(), ["orchestrate.1.2.1"]);
}

#[test]
fn skip_remaining_leaves_out_what_has_not_begun_and_goes_to_write() {
    let told = check(
        teams(""),
        [three(), go_on(), text("S"), skip(), text("답")],
        "planner ? search ? writer",
        &["step_1: completed: S", "step_2: skipped: -", "step_3: skipped: -"],
    );
    assert_eq!(told.phases(), ["PLAN", "DECISION", "DECISION", "EXECUTE", "WRITE"]);
    assert_eq!(told.lines("DECISION")[1]["decision"]["action"], json!("skip_remaining"));
    assert_eq!(told.line("EXECUTE")["num_results"], json!(1));
}

#[test]
fn skip_remaining_leaves_the_final_step_and_may_come_first() {
    check(
        teams(LAST),
        [plan("a = @search t; @analysis < a; final_answer after step_2"), skip(), text("답")],
        "planner ? writer",
        &["a: skipped: -", "step_2: skipped: -", "step_3: completed: (final step - no tool execution)"],
    );
    let nothing_to_decide_on = Told::run(teams(LAST), [plan("final_answer")]);
    assert_eq!(nothing_to_decide_on.waits(), ["write.1.1"]);
}

#[test]
fn an_added_agent_runs_next_with_its_task_though_it_has_run_before() {
    let added = [three(), go_on(), text("S"), add("search", "다른 낱말로"), text("S2"), go_on()];
    let told = check(
        teams(""),
        added.into_iter().chain(rest(&["A", "D"])),
        "planner ? search ? search ? analysis ? document ? writer",
        &["step_1: completed: S", "added_2_1: completed: S2", "step_2: completed: A", "step_3: completed: D"],
    );
    assert_eq!(told.lines("DECISION")[1]["remaining"], json!(["search", "analysis", "document"]));
    assert_eq!(told.spent().added_steps, 1);
    assert_eq!(told.step(1).step.task.as_deref(), Some("다른 낱말로"));

    let after_the_last = [one(), go_on(), text("S"), add("document", "써")];
    check(
        teams(""),
        after_the_last.into_iter().chain(rest(&["D"])),
        "planner ? search ? document ? writer",
        &["step_1: completed: S", "added_2_1: completed: D"],
    );
    let added = decision(json!({"action": "add_agent", "next_agent": "search"}));
    let told = Told::run(teams(""), [three(), added]);
    assert_eq!(told.payload()["task"], json!("왜?"), "without a task it is told the question");
}

#[test]
fn names_and_references_of_moved_steps_stay_right() {
    let steps = "@search 찾기; b = @search 더; @analysis 분석 < step_1; @document 문서 < step_3 after b";
    let mut told = Told::run(teams(""), [plan(steps), go_on(), text("S1"), add("document", "먼저")]);
    assert_eq!(told.waits(), ["step.1.2.1"]);
    told.tell([text("D0"), go_on(), text("S2"), go_on()]);
    assert_eq!(told.payload()["input"], json!("S1"), "step_3 reads what step_1 said");
    told.tell([text("A"), go_on()]);
    assert_eq!(told.payload()["input"], json!("A"), "step_4 reads what step_3 said");
    told.ends(rest(&["D"]), "답");
    let results = [
        "step_1: completed: S1",
        "added_2_1: completed: D0",
        "b: completed: S2",
        "step_3: completed: A",
        "step_4: completed: D",
    ];
    assert_eq!(told.results(), results);
}

#[test]
fn collaborating_runs_the_primary_next_on_what_the_supporting_agent_has_found() {
    let mut told = Told::run(teams(""), [three(), go_on(), text("S"), collaborate("document", "search")]);
    assert_eq!(told.payload()["input"], json!("S"));
    assert_eq!(told.payload()["task"], json!("문서"), "the planned step is brought forward with its task");
    told.ends(rest(&["D", "A"]), "답");
    assert_eq!(told.results(), ["step_1: completed: S", "step_3: completed: D", "step_2: completed: A"]);
    assert_eq!(told.spent().added_steps, 0);
    assert_eq!(told.lines("DECISION")[1]["remaining"], json!(["document", "analysis"]));
    let plan = &told.state.decisions()[1].decision.collaboration_needed;
    assert_eq!(plan.as_ref().expect("kept").primary_agent, "document");

    let twice = [three(), go_on(), text("S1"), add("search", "더"), text("S2")];
    let told = Told::run(teams(""), twice.into_iter().chain([collaborate("analysis", "search")]));
    assert_eq!(told.payload()["input"], json!("S2"), "its most recent output is taken");
}

#[test]
fn the_supporting_agent_runs_first_only_if_it_has_found_nothing_yet() {
    let mut told = Told::run(teams(""), [three(), collaborate("analysis", "document")]);
    assert_eq!(told.payload()["task"], json!("문서"));
    assert_eq!(told.tell([text("D"), go_on()]).payload()["input"], json!("D"));
    told.ends(rest(&["A", "S"]), "답");
    assert_eq!(told.results(), ["step_3: completed: D", "step_2: completed: A", "step_1: completed: S"]);
}

#[test]
fn agents_that_the_plan_lacks_are_added_for_a_collaboration() {
    let mut told = Told::run(teams(""), [one(), collaborate("document", "analysis"), text("A"), go_on()]);
    assert_eq!(told.payload()["input"], json!("A"));
    assert_eq!(told.payload()["task"], json!("함께"));
    told.ends(rest(&["D", "S"]), "답");
    let results = ["added_1_1: completed: A", "added_1_2: completed: D", "step_1: completed: S"];
    assert_eq!((told.results(), told.spent().added_steps), (results.map(str::to_owned).to_vec(), 2));
}

#[test]
fn additions_beyond_the_limit_fall_back_to_continue_and_are_traced_as_that() {
    let told = check(
        teams(ONE_MORE),
        [one(), add("search", "a"), text("1"), add("search", "b"), text("2"), add("search", "c"), text("답")],
        "planner ? search ? search ? writer",
        &["added_1_1: completed: 1", "step_1: completed: 2"],
    );
    let lines = told.lines("DECISION");
    assert_eq!(lines[0].get("fallback"), None);
    for line in &lines[1..] {
        assert_eq!(line["decision"]["action"], json!("continue"));
        assert_eq!(line["fallback"], json!("1 more steps were wanted, 0 of 1 may be added"));
        assert_eq!(line.get("remaining"), None);
    }
    let fallbacks: Vec<bool> = told.state.decisions().iter().map(|one| one.fallback).collect();
    assert_eq!((fallbacks, told.spent().added_steps), (vec![false, true, true], 1));

    let told = Told::run(teams(ONE_MORE), [one(), collaborate("document", "analysis"), text("S")]);
    assert_eq!(told.results(), ["step_1: completed: S"], "of two that are wanted not only one is added");
    assert_eq!(told.spent().added_steps, 0);
}

#[test]
fn nonsense_is_repaired_or_falls_back_as_its_role_says() {
    let fallback = "[roles.orchestrator]\non_failure = { fallback = '{\"action\": \"continue\"}' }";
    for nonsense in [
        text("잘 모르겠어요"),
        add("chef", "요리"),
        decision(json!({"action": "add_agent"})),
        decision(json!({"action": "collaborate"})),
        decision(json!({"action": "dance"})),
        refuses_to_say(),
    ] {
        let mut told = Told::run(teams(fallback), [three(), nonsense.clone()]);
        assert_eq!(told.waits(), ["step.1.1.1"], "{nonsense:?}");
        let line = told.line("DECISION");
        assert_eq!(line["decision"]["action"], json!("continue"));
        assert!(line["fallback"].is_string(), "{line}");
        assert!(told.state.decisions()[0].fallback);
        assert_eq!(told.spent().model_calls, 3, "the plan, the decision, the first step");
        told.ends([text("S"), skip(), text("답")], "답");
    }
    let told = Told::run(teams(""), [three(), add("chef", "요리"), skip(), text("답")]);
    assert_eq!(told.phases(), ["PLAN", "REPAIR", "DECISION", "EXECUTE", "WRITE"]);
    Told::fails(teams(""), [three(), text("?"), text("?")], "EXECUTE_ERROR: contract: ");
}

#[test]
fn it_is_shown_the_situation() {
    let mut told = Told::run(teams(""), [three()]);
    let payload = told.payload();
    assert_eq!(payload["completed_teams"], json!([]));
    assert_eq!(payload["remaining_steps"][0], json!({"agent": "search", "task": "찾기"}));
    let payload = told.tell([go_on(), text("- 하나\n- 둘")]).payload();
    assert_eq!(payload["completed_teams"], json!(["search"]));
    assert_eq!(payload["situation_summary"][0]["results"], json!(2));
    assert_eq!(payload["remaining_steps"].as_array().map(Vec::len), Some(2));
    assert_eq!(payload["decisions"][0]["action"], json!("continue"));
}

#[test]
fn an_agent_can_be_added_after_a_failed_step_that_a_later_one_waits_for() {
    let steps = plan("@search 찾기; @analysis 분석 < step_1");
    let mut told = Told::run(teams(""), [steps, go_on(), refuses_to_say(), add("search", "다시")]);
    assert_eq!(told.waits(), ["step.1.2.1"], "{:?}", told.line("DECISION"));
    assert_eq!(told.payload()["task"], json!("다시"));
    told.ends(rest(&["S2"]), "답");
    let results = told.results();
    assert_eq!(results[1], "added_2_1: completed: S2");
    assert!(results[2].starts_with("step_2: failed: ERROR: dependency: step_1 failed"), "{results:?}");
}

#[test]
fn planned_repetitions_are_still_skipped_after_an_agent_was_added() {
    let steps = plan("find a; find a; calc 1");
    let answers = [steps, go_on(), found("A"), add("search", "더"), text("S"), go_on()];
    let mut told = Told::run(teams("duplicates = 'skip'"), answers);
    assert_eq!(told.waits(), ["step.1.4.1"]);
    told.ends([found("1"), go_on(), text("답")], "답");
    assert_eq!(told.results()[2], "step_2: skipped: -");
}
