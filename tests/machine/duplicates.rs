//! A step that repeats one that succeeded is left out, and the trace says so.

use planwright::spec::Spec;
use serde_json::{Value, json};

use crate::promise::{
    PARALLEL, Say, Steps, Told, asks, broken, calls, enough, found, plan, respond, role_agent, spec, text,
    verdict, with_agents,
};

fn skipping(more: &str) -> Spec {
    spec(&format!("duplicates = 'skip'\n{more}"))
}

/// Tells a plan its answers: this is what became of its steps, and these were skipped.
#[track_caller]
fn check(
    spec: Spec,
    steps: impl Into<Steps>,
    answers: &[(&str, Say)],
    results: &[&str],
    skips: &[(&str, &str)],
) {
    let mut told = Told::run(spec, [plan(steps)]);
    for (id, answer) in answers {
        told.answer(id, answer.clone());
    }
    assert_eq!(told.waits(), ["write.1.1"]);
    assert_eq!(told.results(), results);
    let lines = told.lines("SKIP");
    let told_of: Vec<(&Value, &Value)> = lines.iter().map(|line| (&line["step"], &line["same_as"])).collect();
    assert_eq!(json!(told_of), json!(skips));
    assert_eq!(told.spent().tool_calls as usize, answers.len());
}

#[test]
fn a_repeated_call_is_skipped_and_traced() {
    check(
        skipping(""),
        "find a; find b; find a; find a",
        &[("step.1.1.1", found("A")), ("step.1.2.1", found("B"))],
        &["step_1: completed: A", "step_2: completed: B", "step_3: skipped: -", "step_4: skipped: -"],
        &[("step_3", "step_1"), ("step_4", "step_1")],
    );
    check(
        spec(""),
        "find a; find a",
        &[("step.1.1.1", found("A")), ("step.1.2.1", found("B"))],
        &["step_1: completed: A", "step_2: completed: B"],
        &[],
    );
}

#[test]
fn a_repetition_in_the_same_batch_waits_for_the_first_and_is_skipped() {
    let mut told = Told::run(skipping(PARALLEL), [plan("find a; find a; find b")]);
    assert_eq!(told.waits(), ["step.1.1.1", "step.1.3.1"], "the repetition does not start beside it");
    told.answer("step.1.3.1", found("B")).answer("step.1.1.1", found("A"));
    assert_eq!(told.results(), ["step_1: completed: A", "step_2: skipped: -", "step_3: completed: B"]);
}

#[test]
fn what_failed_first_is_done_by_its_repetition() {
    for execution in ["", PARALLEL] {
        check(
            skipping(execution),
            "find a; find a; find a",
            &[("step.1.1.1", broken()), ("step.1.2.1", found("A"))],
            &["step_1: failed: ERROR: http: status 500", "step_2: completed: A", "step_3: skipped: -"],
            &[("step_3", "step_2")],
        );
    }
}

#[test]
fn the_order_of_keys_and_white_space_make_no_other_call_and_another_value_does() {
    check(
        skipping(""),
        r#"book {"day": "월", "people": 2}; book {"people":2,"day":"월"}; book {"people":3,"day":"월"}"#,
        &[("step.1.1.1", found("A")), ("step.1.3.1", found("B"))],
        &["step_1: completed: A", "step_2: skipped: -", "step_3: completed: B"],
        &[("step_2", "step_1")],
    );
}

#[test]
fn the_same_input_to_another_tool_is_another_call_and_so_is_another_task_on_it() {
    let blank = json!({"tool": "find", "input": "a "});
    check(
        skipping(""),
        json!([{"tool": "find", "input": "a"}, {"tool": "calc", "input": "a"}, blank]),
        &[("step.1.1.1", found("A")), ("step.1.2.1", found("B")), ("step.1.3.1", found("C"))],
        &["step_1: completed: A", "step_2: completed: B", "step_3: completed: C"],
        &[],
    );
    let critic = with_agents(skipping(""), [role_agent("critic")]);
    let step = |task: &str| json!({"agent": "critic", "task": task, "input": "이 글"});
    let told = Told::run(critic, [plan(json!([step("요약"), step("번역")])), text("요약함")]);
    assert_eq!(told.waits(), ["step.1.2.1"]);
}

#[test]
fn a_step_that_reads_from_a_skipped_one_gets_what_the_first_said() {
    for execution in ["", PARALLEL] {
        let mut told = Told::run(skipping(execution), [plan("find a; find a; calc < step_2"), found("A")]);
        assert_eq!((told.waits(), told.input("step.1.3.1")), (vec!["step.1.3.1".into()], json!("A")));
        told.ends([found("1"), text("답")], "답");
    }
}

#[test]
fn the_same_output_of_one_step_handed_on_twice_is_one_call() {
    check(
        skipping(""),
        "find a; calc < step_1; calc < step_1",
        &[("step.1.1.1", found("A")), ("step.1.2.1", found("B"))],
        &["step_1: completed: A", "step_2: completed: B", "step_3: skipped: -"],
        &[("step_3", "step_2")],
    );
}

#[test]
fn a_final_step_and_a_persons_word_are_never_repetitions() {
    let spec = skipping("approval = 'steps'\n[plan]\nfinal_step = 'required'");
    let steps = plan("? 괜찮아요?; ? 괜찮아요?; final_answer x");
    let told = Told::run(spec, [steps, respond("네"), respond("네"), text("답")]);
    assert_eq!(told.asked, ["planner", "human", "human", "writer"]);
}

#[test]
fn rounds_of_nothing_but_repetitions_go_to_validate() {
    let policy = "planner = 'tool_calls'\nhorizon = 'next'\nvalidate = 'sufficiency'\n\
        plan = { min_steps = 0 }\n[limits]\nmax_iterations = 3";
    let mut told = Told::run(skipping(policy), [asks(&[("find", "a")]), found("A"), enough(false)]);
    told.tell([calls(&[("find", json!({"query": "a"})), ("find", json!({"input": "a"}))])]);
    assert_eq!(told.waits(), ["validate.2.1"]);
    let phases = ["PLAN", "EXECUTE", "VALIDATE", "PLAN", "SKIP", "SKIP", "EXECUTE"];
    assert_eq!(told.phases(), phases, "no call was made, and the trace says why");
    assert_eq!(told.trace()[6]["num_results"], json!(0));
    told.ends([enough(true), text("답")], "답");
    assert_eq!(told.spent().tool_calls, 1);
}

#[test]
fn a_call_of_an_earlier_draft_counts_only_where_its_steps_are_kept() {
    let again = |keep: &str| {
        let policy = format!("on_replan = '{keep}'\nvalidate = 'verdict'");
        let no = verdict(false, "다름", "다시");
        Told::run(skipping(&policy), [plan("find a"), found("A"), no, plan("find a")])
    };
    assert_eq!(again("keep").waits(), ["validate.2.1"]);
    assert_eq!(again("keep").results(), ["step_1: completed: A", "step_2: skipped: -"]);
    assert_eq!(again("restart").waits(), ["step.2.1.1"]);
}

/// Every order of the answers.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
    let with_last = |shorter: Vec<usize>| {
        (0..=shorter.len()).map(move |at| [&shorter[..at], &[last], &shorter[at..]].concat())
    };
    permutations(last).into_iter().flat_map(with_last).collect()
}

#[test]
fn the_order_of_answers_shows_nowhere_once_execute_is_left() {
    let answers: &[(&str, Say)] = &[
        ("step.1.1.1", found("A")),
        ("step.1.2.1", broken()),
        ("step.1.4.1", found("2")),
        ("step.1.5.1", found("B")),
        ("step.1.6.1", found("C")),
    ];
    let mut ends = Vec::new();
    for mut left in permutations(answers.len()) {
        let wide = skipping("execution = { mode = 'parallel', width = 6 }");
        let mut told = Told::run(wide, [plan("find a; find b; find a; calc < step_3; find b; store c")]);
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
fn a_repetition_that_failed_hides_no_call_that_succeeded() {
    let first = plan("calc 1; find a; calc 1 after step_2");
    let rejected = [first, found("1"), broken(), verdict(false, "r", "h"), plan("calc 1")];
    let told = Told::run(skipping("validate = 'verdict'\non_replan = 'keep'"), rejected);
    assert_eq!(told.waits(), ["validate.2.1"], "nothing is called again");
    assert_eq!(told.results().last().map(String::as_str), Some("step_4: skipped: -"));
}
