//! A step that repeats one that succeeded is left out, and the trace says so.

use crate::promise;

use planwright::spec::Spec;
use promise::{Say, Told, asks, broken, calls, found, plan, spec, text};
use serde_json::{Value, json};

fn skipping(more: &str) -> Spec {
    spec(&format!("duplicates = 'skip'\n{more}"))
}

const PARALLEL: &str = "execution = { mode = 'parallel', width = 3 }";

/// Tells a plan its answers: this is what became of its steps, and these were skipped.
#[track_caller]
fn check(spec: Spec, steps: Value, answers: &[(&str, Say)], results: &[&str], skips: &[(&str, &str)]) {
    let mut told = Told::begin(spec);
    told.answer("plan.1.1", plan(steps));
    for (id, answer) in answers {
        told.answer(id, answer.clone());
    }
    assert_eq!(told.waits(), ["write.1.1"]);
    assert_eq!(told.results(), results);
    let lines: Vec<(String, String)> = told
        .trace()
        .iter()
        .filter(|line| line["phase"] == "SKIP")
        .map(|line| {
            let part = |key: &str| line[key].as_str().expect("a text").to_owned();
            (part("step"), part("same_as"))
        })
        .collect();
    let expected: Vec<(String, String)> =
        skips.iter().map(|(step, same)| ((*step).to_owned(), (*same).to_owned())).collect();
    assert_eq!(lines, expected);
    assert_eq!(told.state.task.counters.tool_calls as usize, answers.len());
    assert_eq!(told.state, told.folded());
}

fn find(input: &str) -> Value {
    json!({"tool": "find", "input": input})
}

#[test]
fn a_repeated_call_is_skipped_and_traced() {
    check(
        skipping(""),
        json!([find("a"), find("b"), find("a"), find("a")]),
        &[("step.1.1.1", found("A")), ("step.1.2.1", found("B"))],
        &["step_1: completed: A", "step_2: completed: B", "step_3: skipped: -", "step_4: skipped: -"],
        &[("step_3", "step_1"), ("step_4", "step_1")],
    );
}

#[test]
fn without_the_policy_every_call_runs() {
    check(
        spec(""),
        json!([find("a"), find("a")]),
        &[("step.1.1.1", found("A")), ("step.1.2.1", found("B"))],
        &["step_1: completed: A", "step_2: completed: B"],
        &[],
    );
}

#[test]
fn a_repetition_in_the_same_batch_waits_for_the_first_and_is_skipped() {
    let mut told = Told::run(skipping(PARALLEL), [plan(json!([find("a"), find("a"), find("b")]))]);
    assert_eq!(told.waits(), ["step.1.1.1", "step.1.3.1"], "the repetition does not start beside it");
    told.answer("step.1.3.1", found("B")).answer("step.1.1.1", found("A"));
    assert_eq!(told.results(), ["step_1: completed: A", "step_2: skipped: -", "step_3: completed: B"]);
}

#[test]
fn what_failed_first_is_done_by_its_repetition() {
    for execution in ["", PARALLEL] {
        check(
            skipping(execution),
            json!([find("a"), find("a"), find("a")]),
            &[("step.1.1.1", broken()), ("step.1.2.1", found("A"))],
            &["step_1: failed: ERROR: http: status 500", "step_2: completed: A", "step_3: skipped: -"],
            &[("step_3", "step_2")],
        );
    }
}

#[test]
fn the_order_of_keys_and_white_space_make_no_other_call_and_another_value_does() {
    let book = |text: &str| {
        let input: Value = serde_json::from_str(text).expect("JSON");
        json!({"tool": "book", "input": input})
    };
    check(
        skipping(""),
        json!([
            book(r#"{"day": "월", "people": 2}"#),
            book(r#"{"people":2,"day":"월"}"#),
            book(r#"{"people":3,"day":"월"}"#),
        ]),
        &[("step.1.1.1", found("A")), ("step.1.3.1", found("B"))],
        &["step_1: completed: A", "step_2: skipped: -", "step_3: completed: B"],
        &[("step_2", "step_1")],
    );
}

#[test]
fn the_same_input_to_another_tool_is_another_call() {
    check(
        skipping(""),
        json!([find("a"), {"tool": "calc", "input": "a"}, find("a ")]),
        &[("step.1.1.1", found("A")), ("step.1.2.1", found("B")), ("step.1.3.1", found("C"))],
        &["step_1: completed: A", "step_2: completed: B", "step_3: completed: C"],
        &[],
    );
}

#[test]
fn a_step_that_reads_from_a_skipped_one_gets_what_the_first_said() {
    for execution in ["", PARALLEL] {
        let steps = json!([find("a"), find("a"), {"tool": "calc", "input_from": "step_2"}]);
        let mut told = Told::run(skipping(execution), [plan(steps), found("A")]);
        assert_eq!(told.waits(), ["step.1.3.1"]);
        assert_eq!(told.input("step.1.3.1"), json!("A"));
        told.tell([found("1"), text("답")]);
        assert_eq!(told.said(), "답");
    }
}

#[test]
fn the_same_output_of_one_step_handed_on_twice_is_one_call() {
    check(
        skipping(""),
        json!([find("a"), {"tool": "calc", "input_from": "step_1"}, {"tool": "calc", "input_from": "step_1"}]),
        &[("step.1.1.1", found("A")), ("step.1.2.1", found("B"))],
        &["step_1: completed: A", "step_2: completed: B", "step_3: skipped: -"],
        &[("step_3", "step_2")],
    );
}

#[test]
fn a_final_step_and_a_persons_word_are_never_repetitions() {
    let hitl = json!({"tool": "hitl", "hitl_question": "괜찮아요?"});
    let spec = skipping("approval = 'steps'\n[plan]\nfinal_step = 'required'");
    let last = json!({"tool": "final_answer", "input": "x"});
    let told = Told::run(
        spec,
        [plan(json!([hitl, hitl, last])), promise::respond("네"), promise::respond("네"), text("답")],
    );
    assert_eq!(told.asked, ["planner", "human", "human", "writer"]);
}

#[test]
fn rounds_of_nothing_but_repetitions_go_to_validate() {
    let policy = "planner = 'tool_calls'\nhorizon = 'next'\nvalidate = 'sufficiency'\n\
        plan = { min_steps = 0 }\n[limits]\nmax_iterations = 3";
    let mut told = Told::begin(skipping(policy));
    let enough = |ok: bool| text(json!({"sufficient": ok, "missing_info": "m", "reason": "r"}).to_string());
    told.tell([asks(&[("find", "a")]), found("A"), enough(false)]);
    told.tell([calls(&[("find", json!({"query": "a"})), ("find", json!({"input": "a"}))])]);
    assert_eq!(told.waits(), ["validate.2.1"]);
    assert_eq!(
        told.phases(),
        ["PLAN", "EXECUTE", "VALIDATE", "PLAN", "SKIP", "SKIP", "EXECUTE"],
        "no call was made, and the trace says why"
    );
    assert_eq!(told.trace()[6]["num_results"], json!(0));
    told.tell([enough(true), text("답")]);
    assert_eq!(told.state.task.counters.tool_calls, 1);
}

#[test]
fn a_call_of_an_earlier_draft_counts_only_where_its_steps_are_kept() {
    let policy = |keep: &str| format!("on_replan = '{keep}'\nvalidate = 'verdict'");
    let no = || promise::verdict(false, "다름", "다시");
    let once = || plan(json!([find("a")]));
    let kept = Told::run(skipping(&policy("keep")), [once(), found("A"), no(), once()]);
    assert_eq!(kept.waits(), ["validate.2.1"]);
    assert_eq!(kept.results(), ["step_1: completed: A", "step_2: skipped: -"]);
    let anew = Told::run(skipping(&policy("restart")), [once(), found("A"), no(), once()]);
    assert_eq!(anew.waits(), ["step.2.1.1"]);
}

/// Every order of the answers.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in permutations(count - 1) {
        for at in 0..=shorter.len() {
            let mut longer = shorter.clone();
            longer.insert(at, count - 1);
            all.push(longer);
        }
    }
    all
}

#[test]
fn the_order_of_answers_shows_nowhere_once_execute_is_left() {
    let steps = json!([
        find("a"), find("b"), find("a"), {"tool": "calc", "input_from": "step_3"},
        find("b"), {"tool": "store", "input": "c"},
    ]);
    let answers: &[(&str, Say)] = &[
        ("step.1.1.1", found("A")),
        ("step.1.2.1", broken()),
        ("step.1.4.1", found("2")),
        ("step.1.5.1", found("B")),
        ("step.1.6.1", found("C")),
    ];
    let mut ends = Vec::new();
    for order in permutations(answers.len()) {
        let mut told =
            Told::run(skipping("execution = { mode = 'parallel', width = 6 }"), [plan(steps.clone())]);
        let mut left: Vec<usize> = order;
        while !left.is_empty() {
            let waits = told.waits();
            let at = left.iter().position(|&nth| waits.contains(&answers[nth].0.to_owned()));
            let (id, answer) = &answers[left.remove(at.expect("one of them is asked"))];
            told.answer(id, answer.clone());
        }
        assert_eq!(told.waits(), ["write.1.1"]);
        ends.push((serde_json::to_string(&told.state).expect("written"), told.trace()));
    }
    ends.dedup();
    assert_eq!(ends.len(), 1, "one state and one trace");
}

#[test]
fn another_task_on_the_same_input_is_another_call() {
    let critic = promise::with_agents(skipping(""), [promise::role_agent("critic")]);
    let step = |task: &str| json!({"agent": "critic", "task": task, "input": "이 글"});
    let told = Told::run(critic, [plan(json!([step("요약"), step("번역")])), text("요약함")]);
    assert_eq!(told.waits(), ["step.1.2.1"]);
}

#[test]
fn a_repetition_that_failed_hides_no_call_that_succeeded() {
    let mut told = Told::begin(skipping("validate = 'verdict'\non_replan = 'keep'"));
    let again = json!({"tool": "calc", "input": "1", "depends_on": ["step_2"]});
    told.tell([
        plan(json!([{"tool": "calc", "input": "1"}, {"tool": "find", "input": "a"}, again])),
        found("1"),
        broken(),
        promise::verdict(false, "r", "h"),
        plan(json!([{"tool": "calc", "input": "1"}])),
    ]);
    assert_eq!(told.waits(), ["validate.2.1"], "nothing is called again");
    assert_eq!(told.results().last().map(String::as_str), Some("step_4: skipped: -"));
}
