//! The shipped agents: every recorded run replays with no model and no tool, leaves the trace that
//! its snapshot shows, and costs exactly the calls it should.

mod stage;
mod stories;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planwright::agents;
use planwright::driver::{Agent, ModelError};
use planwright::journal::{Exchange, Fixture, Outcome};
use planwright::machine::{ErrorCode, FailureClass};
use planwright::model::ScriptedModel;
use planwright::spec::{OnExhausted, RoleName};

use stage::{Calls, accepted, answer, echoing, model, plan, rejected, spec};

fn here(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// How a recorded run should end.
enum Ends<'a> {
    /// DONE, with an answer that begins so.
    Done(&'a str),
    /// ERROR, said so.
    Error(&'a str),
}
use Ends::{Done, Error};

/// Replays a fixture with no model and no tool registered.
#[track_caller]
fn replays(agent: &str, story: &str, model_calls: u32, tool_calls: u32, ends: Ends<'_>) {
    let fixture = Fixture::load(here(format!("fixtures/{agent}/{story}.json"))).unwrap();
    let bare = Agent::builder(agents::shipped(agent).unwrap()).build().unwrap();
    let run = fixture.replay(&bare).unwrap();

    let asked = |exchange: &&Exchange| matches!(exchange, Exchange::Model { .. });
    let called = |exchange: &&Exchange| matches!(exchange, Exchange::Tool { .. });
    let of = |kind: &dyn Fn(&&Exchange) -> bool| fixture.exchanges.iter().filter(kind).count() as u32;
    assert_eq!((of(&asked), of(&called)), (model_calls, tool_calls), "model and tool calls");
    // What a cancelled run had asked for and not been given counts as asked for.
    let stopped = run.error().is_some_and(|error| error.code == ErrorCode::Cancelled);
    let counted = (run.counters().model_calls, run.counters().tool_calls - u32::from(stopped));
    assert_eq!(counted, (model_calls, tool_calls), "counted and recorded");
    match ends {
        Done(beginning) => {
            let answer = run.answer().expect("an answer");
            assert!(answer.starts_with(beginning), "{answer}");
            assert!(run.error().is_none());
        }
        Error(said) => {
            assert_eq!(run.error().expect("an error").to_string(), said);
            assert_eq!(run.answer(), None);
        }
    }
    assert_eq!(run.outcome(), fixture.outcome);
    insta::with_settings!({snapshot_suffix => story, omit_expression => true}, {
        insta::assert_json_snapshot!(agent, run.trace());
    });
}

const PTE: &str = "plan-then-execute";

#[test]
fn plan_then_execute_answers_with_two_calls() {
    replays(PTE, "answered", 2, 1, Done("345 × 872 = 300,840"));
}

#[test]
fn plan_then_execute_repeats_the_notebook() {
    replays(PTE, "notebook", 2, 3, Done("The Plan-Then-Execute pattern and the ReAct pattern are"));
}

#[test]
fn plan_then_execute_runs_nothing_of_a_malformed_plan() {
    let said =
        "PLAN_ERROR: contract: $.steps[0].tool: expected \"final_answer\" as the last step, found \"wiki\"";
    replays(PTE, "malformed_plan", 1, 0, Error(said));
}

#[test]
fn plan_then_execute_hands_a_failed_result_to_the_writer() {
    replays(PTE, "failing_tool", 2, 2, Done("- 유한 상태 기계는"));
}

#[test]
fn plan_then_execute_ends_where_the_answer_has_another_form() {
    replays(PTE, "failing_writer", 2, 1, Error("WRITE_ERROR: contract: $: missing field `final`"));
}

#[test]
fn plan_then_execute_ends_where_the_answer_is_cut() {
    replays(PTE, "cut_answer", 2, 1, Error("WRITE_ERROR: length: the reply was cut at the token limit"));
}

#[test]
fn validated_answers_with_three_calls_where_the_first_plan_will_do() {
    replays("validated", "accepted_at_once", 3, 1, Done("1. 자판기"));
}

#[test]
fn validated_repeats_the_notebook_with_five_calls() {
    replays("validated", "notebook", 5, 3, Done("1) **정의**: Plan-Then-Execute 모델은"));
}

#[test]
fn validated_asks_the_planner_again_where_there_is_no_hint() {
    replays("validated", "replanned_without_a_hint", 5, 2, Done("1. 자판기"));
}

#[test]
fn validated_replans_twice_with_seven_calls() {
    replays("validated", "replanned_twice", 7, 4, Done("물체를 옮기는 로봇"));
}

#[test]
fn validated_gives_up_with_six_calls_when_the_replans_are_used_up() {
    let said = "VALIDATION_FAILED_MAX_REPLANS: 두 방식을 비교한 자료가 여전히 없습니다.";
    replays("validated", "replans_used_up", 6, 4, Error(said));
}

#[test]
fn validated_has_a_malformed_plan_mended_with_one_call_more() {
    replays("validated", "malformed_plan", 4, 1, Done("1. 자판기"));
}

#[test]
fn validated_ends_where_the_mended_plan_is_malformed_too() {
    let said = "PLAN_ERROR: contract: $: expected a whole JSON object, found one that is cut off: \
                \"{\\\"goal\\\": \\\"일상 속 예를 찾는다.\\\", \\\"steps\\\": [{\\\"tool\\\": \\\"wiki\\\", \
                \\\"input\\\":…\"";
    replays("validated", "malformed_plan_twice", 2, 0, Error(said));
}

#[test]
fn validated_reads_a_plan_out_of_prose_and_fences() {
    replays("validated", "fenced_plan", 3, 1, Done("1. 자판기"));
}

#[test]
fn validated_has_a_malformed_verdict_mended_with_one_call_more() {
    replays("validated", "malformed_verdict", 4, 1, Done("1. 자판기"));
}

#[test]
fn validated_lets_the_validator_judge_a_failed_result() {
    replays("validated", "failing_tool", 3, 2, Done("1. 자판기"));
}

#[test]
fn validated_ends_where_the_writer_says_nothing_twice() {
    replays(
        "validated",
        "failing_writer",
        4,
        1,
        Error("WRITE_ERROR: contract: $: expected an answer, found nothing"),
    );
}

#[test]
fn validated_does_not_ask_again_after_a_refusal() {
    replays(
        "validated",
        "refusing_writer",
        3,
        1,
        Error("WRITE_ERROR: refusal: 죄송하지만 도와드릴 수 없습니다."),
    );
}

#[test]
fn validated_ends_where_a_person_stops_it() {
    replays("validated", "cancelled", 1, 1, Error("CANCELLED: stopped by the user"));
}

// What follows is all that a test of a user's own takes.
#[test]
fn users_test_is_three_lines() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::builder(agents::shipped("validated").expect("ships")).build()?;

    let fixture = Fixture::load("fixtures/validated/notebook.json")?;
    let run = fixture.replay(&agent)?;
    insta::assert_json_snapshot!(run.trace());
    Ok(())
}

#[test]
fn fixtures_are_what_their_stories_record() {
    for story in stories::all() {
        let path = story.path();
        let there = std::fs::read_to_string(here(&path)).unwrap();
        let told = story.record().unwrap().to_json();
        assert!(there == told, "{}: stale; run `cargo run --example record_fixtures`", path.display());
    }
}

#[test]
fn every_fixture_has_a_story_and_a_snapshot_and_says_what_is_made_up() {
    let mut told = BTreeSet::new();
    for story in stories::all() {
        assert!(told.insert(story.path()), "{} is told twice", story.path().display());
        let snapshot = here(format!("tests/snapshots/agents__{}@{}.snap", story.agent, story.name));
        assert!(snapshot.exists(), "{} does not exist: is the story replayed?", snapshot.display());
        assert!(story.notes.iter().any(|note| note.contains("ade up")), "{}", story.path().display());
    }
    let mut found = BTreeSet::new();
    for agent in agents::names() {
        for file in std::fs::read_dir(here("fixtures").join(agent)).unwrap() {
            found.insert(Path::new("fixtures").join(agent).join(file.unwrap().file_name()));
        }
    }
    assert_eq!(found, told);
}

#[test]
fn question_stands_in_every_recorded_request_as_it_was_asked() {
    for story in stories::all() {
        let (path, question) = (story.path(), story.question);
        for exchange in &Fixture::load(here(&path)).unwrap().exchanges {
            if let Exchange::Model { request, effect, .. } = exchange {
                assert_eq!(request["user_question"], question, "{} {effect}", path.display());
            }
        }
    }
}

/// Runs `validated` with a validator that never accepts. Returns the calls and how it ended.
fn never_accepted(max_replans: u32, on_exhausted: OnExhausted) -> (u32, usize, Outcome) {
    let mut spec = spec("validated");
    spec.limits.max_replans = max_replans;
    spec.policy.on_exhausted = on_exhausted;
    let mut script = ScriptedModel::new().reply_as(RoleName::Writer, "with what there is");
    for _ in 0..=max_replans {
        script = script.reply(plan(&[("find", "x")])).reply(rejected("자료가 없습니다", "다시"));
    }
    let (script, calls) = (Arc::new(script), Calls::default());
    let run = echoing(spec, &script, &calls).build().unwrap().run("q").unwrap();
    assert_eq!(script.asked(), run.counters().model_calls as usize);
    (run.counters().model_calls, calls.count(), run.outcome())
}

#[test]
fn n_replans_allow_n_and_one_plans_and_the_next_rejection_ends_the_run() {
    for replans in 0..=3 {
        let (asked, called, outcome) = never_accepted(replans, OnExhausted::Fail);
        assert_eq!((asked, called), (2 * (replans + 1), replans as usize + 1));
        let Outcome::Error(error) = outcome else { panic!("{outcome:?}") };
        assert_eq!(error.to_string(), "VALIDATION_FAILED_MAX_REPLANS: 자료가 없습니다");
    }
}

#[test]
fn policy_may_say_to_write_with_what_there_is_when_replans_are_used_up() {
    let (asked, called, outcome) = never_accepted(2, OnExhausted::Write);
    assert_eq!((asked, called), (7, 3));
    assert_eq!(outcome, Outcome::Answer("with what there is".to_owned()));
}

/// A shipped agent as a user writes it down, with either `on_bad_reply`.
fn from_toml(agent: &str, on_bad_reply: &str) -> Agent {
    let source = agents::source(agent).unwrap();
    let line = source.lines().find(|line| line.starts_with("on_bad_reply")).expect("says it");
    let text = source.replace(line, &format!("on_bad_reply = {on_bad_reply:?}"));
    let script = ScriptedModel::replies(["no plan", "no plan", "no plan"]);
    let mut spec = agents::load(&text).unwrap();
    spec.tools = stage::contracts();
    echoing(spec, &Arc::new(script), &Calls::default()).build().unwrap()
}

#[test]
fn both_agents_run_with_either_answer_to_a_bad_reply_from_a_users_toml() {
    for agent in agents::names() {
        for (on_bad_reply, asked) in [("fail", 1), ("repair", 2)] {
            let run = from_toml(agent, on_bad_reply).run("q").unwrap();
            assert_eq!(run.counters().model_calls, asked, "{agent} {on_bad_reply}");
            let error = run.error().expect("no plan came");
            assert_eq!(error.code, ErrorCode::PlanError);
            let said = "PLAN_ERROR: contract: $: expected a JSON object, found text that begins \"no plan\"";
            assert_eq!(error.to_string(), said, "{agent} {on_bad_reply}");
        }
    }
}

/// Runs an agent whose model fails with this class after `replies`.
#[track_caller]
fn failure_ends_it(agent: &str, replies: &[String], code: ErrorCode) {
    for class in FailureClass::ALL {
        let script = replies.iter().cloned().fold(ScriptedModel::new(), ScriptedModel::reply);
        let script =
            Arc::new(script.answer(Err(ModelError::failed(class, "그럴 수 없습니다"))).reply("never asked"));
        let run = echoing(spec(agent), &script, &Calls::default()).build().unwrap().run("q").unwrap();
        assert_eq!(run.error().unwrap().to_string(), format!("{code}: {class}: 그럴 수 없습니다"));
        assert_eq!(script.remaining(), 1, "{agent} {class}: asked again");
    }
}

#[test]
fn answer_that_is_no_reply_ends_the_run_with_the_code_of_its_phase() {
    let one = plan(&[("find", "x")]);
    for agent in agents::names() {
        failure_ends_it(agent, &[], ErrorCode::PlanError);
    }
    failure_ends_it(PTE, std::slice::from_ref(&one), ErrorCode::WriteError);
    failure_ends_it("validated", std::slice::from_ref(&one), ErrorCode::ValidateError);
    failure_ends_it("validated", &[one.clone(), accepted()], ErrorCode::WriteError);
    failure_ends_it("validated", &[one, rejected("no", "hint")], ErrorCode::PlanError);
}

#[test]
fn plan_of_a_last_step_alone_is_answered_without_a_tool() {
    let (script, calls) = (model([plan(&[]), answer("안녕하세요")]), Calls::default());
    let run = echoing(spec(PTE), &script, &calls).build().unwrap().run("안녕?").unwrap();
    assert_eq!((run.answer(), calls.count(), script.asked()), (Some("안녕하세요"), 0, 2));
}
