//! The shipped agents: every recorded run replays with no model and no tool, leaves the trace that
//! its snapshot shows, and costs exactly the calls it should. What is said of one agent is in its file
//! under `agents/`; here is what holds for all.

mod planners;
mod rounds;
mod teams;

use crate::stage;
use crate::stories;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use planwright::agents;
use planwright::driver::Agent;
use planwright::journal::{Exchange, Fixture};
use planwright::machine::{ErrorCode, FailureClass};
use planwright::ports::{ModelError, ScriptedModel};
use planwright::spec::Spec;
use serde_json::Value;

use stage::{Calls, accepted, echoing, plan, rejected, spec};

fn here(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn fixture(agent: &str, story: &str) -> Fixture {
    Fixture::load(here(format!("fixtures/{agent}/{story}.json"))).unwrap()
}

/// A shipped agent with no model and no tool.
fn bare(agent: &str) -> Agent {
    Agent::builder(agents::shipped(agent).unwrap()).build().unwrap()
}

/// How a recorded run should end.
enum Ends<'a> {
    /// DONE, with an answer that begins so.
    Done(&'a str),
    /// ERROR, said so.
    Error(&'a str),
    /// Neither: a person is asked this.
    Waits(&'a str),
}
use Ends::{Done, Error, Waits};

/// Replays a fixture with no model and no tool registered. The calls are those of all roles and of
/// nested agents.
#[track_caller]
fn replays(agent: &str, story: &str, model_calls: u32, tool_calls: u32, ends: Ends<'_>) {
    let fixture = fixture(agent, story);
    let run = bare(agent).replay(&fixture).unwrap();

    let asked = |exchange: &&Exchange| matches!(exchange, Exchange::Model { .. });
    let called = |exchange: &&Exchange| matches!(exchange, Exchange::Tool { .. });
    let of = |kind: &dyn Fn(&&Exchange) -> bool| fixture.exchanges.iter().filter(kind).count() as u32;
    assert_eq!((of(&asked), of(&called)), (model_calls, tool_calls), "model and tool calls");
    // The one thing that a cancelled run had asked for and did not wait for counts as asked for.
    let counted = (run.counters().model_calls, run.counters().tool_calls);
    if run.error().is_some_and(|error| error.code == ErrorCode::Cancelled) {
        let one_more = [(model_calls + 1, tool_calls), (model_calls, tool_calls + 1)];
        assert!(one_more.contains(&counted), "{counted:?} counted");
    } else {
        assert_eq!(counted, (model_calls, tool_calls), "counted and recorded");
    }
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
        Waits(question) => {
            assert_eq!(run.waiting().expect("it waits").question, question);
            assert_eq!((run.answer(), run.error()), (None, None));
        }
    }
    assert_eq!(run.outcome(), fixture.outcome);
    insta::with_settings!({snapshot_suffix => story, omit_expression => true}, {
        insta::assert_json_snapshot!(agent, run.trace());
    });
}

/// What was asked of one role in a recorded run.
fn payloads(agent: &str, story: &str, asked: &str) -> Vec<Value> {
    let payload = |exchange| match exchange {
        Exchange::Model { role, request, .. } if role == asked => Some(request),
        _ => None,
    };
    fixture(agent, story).exchanges.into_iter().filter_map(payload).collect()
}

const PTE: &str = "plan-then-execute";
/// How a run ends that a person stops.
const CANCELLED: &str = "CANCELLED: stopped by the user";

// What follows is all that a test of a user's own takes.
#[test]
fn users_test_is_three_lines() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::builder(agents::shipped("validated").expect("ships")).build()?;

    let fixture = Fixture::load("fixtures/validated/notebook.json")?;
    let run = agent.replay(&fixture)?;
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
fn every_fixture_has_a_snapshot_and_says_what_is_made_up() {
    for story in stories::all() {
        let snapshot =
            here(format!("tests/driver/snapshots/driver__agents__{}@{}.snap", story.agent, story.name));
        assert!(snapshot.exists(), "{} does not exist: is the story replayed?", snapshot.display());
        assert!(story.notes.iter().any(|note| note.contains("ade up")), "{}", story.path().display());
    }
}

#[test]
fn every_agent_has_a_story_in_korean_and_one_in_english() {
    for agent in agents::names() {
        let of_agent = stories::all().into_iter().filter(|story| story.agent == agent);
        let questions: Vec<String> = of_agent.map(|story| story.question).collect();
        let korean = |question: &&String| question.chars().any(|letter| ('가'..='힣').contains(&letter));
        let count = questions.iter().filter(korean).count();
        assert!(count > 0 && count < questions.len(), "{agent}: {questions:?}");
    }
}

#[test]
fn question_stands_in_every_recorded_request_as_it_was_asked() {
    for story in stories::all() {
        let (path, question) = (story.path(), story.question);
        for exchange in &Fixture::load(here(&path)).unwrap().exchanges {
            if let Exchange::Model { request, effect, role, .. } = exchange {
                // In a nested run the question is the step's task.
                let key = if role.contains('/') { "on_behalf_of" } else { "user_question" };
                assert_eq!(request[key], question, "{} {effect}", path.display());
            }
        }
    }
}

/// An agent whose own tools, and those of its agents, echo.
fn whole(spec: Spec, script: &Arc<ScriptedModel>) -> Agent {
    let inner: Vec<_> = spec.agents.iter().filter_map(|member| member.spec.as_ref()).collect();
    let contracts: Vec<_> = inner.into_iter().flat_map(|inner| inner.tools.clone()).collect();
    let calls = Calls::default();
    let builder = echoing(spec, script, &calls);
    contracts.into_iter().fold(builder, |builder, tool| builder.tool(calls.echo(tool))).build().unwrap()
}

/// The agents that ask for JSON before anything else.
const ASK_FOR_JSON: [&str; 6] =
    [PTE, "validated", "intent-first", "evaluate-loop", "orchestrated", "research-team"];

#[test]
fn first_reply_that_does_not_read_is_asked_for_again_or_not_as_the_toml_says() {
    for agent in ASK_FOR_JSON {
        for (on_bad_reply, asked) in [("fail", 1), ("repair", 2)] {
            let source = agents::source(agent).unwrap();
            let line = source.lines().find(|line| line.starts_with("on_bad_reply")).expect("says it");
            let text = source.replace(line, &format!("on_bad_reply = {on_bad_reply:?}"));
            let script = Arc::new(ScriptedModel::replies(["no plan", "no plan", "no plan"]));
            let run = whole(Spec::from_toml(&text).unwrap(), &script).run("q").unwrap();
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
fn failure_ends_it(spec: &Spec, replies: &[String], code: ErrorCode) {
    for class in FailureClass::ALL {
        let script = replies.iter().cloned().fold(ScriptedModel::new(), ScriptedModel::reply);
        let script =
            Arc::new(script.answer(Err(ModelError::failed(class, "그럴 수 없습니다"))).reply("never asked"));
        let run = whole(spec.clone(), &script).run("q").unwrap();
        assert_eq!(run.error().unwrap().to_string(), format!("{code}: {class}: 그럴 수 없습니다"));
        assert_eq!(script.remaining(), 1, "{} {class}: asked again", spec.name);
    }
}

#[test]
fn answer_that_is_no_reply_ends_the_run_with_the_code_of_its_phase() {
    let one = plan(&[("find", "x")]);
    for agent in agents::names() {
        failure_ends_it(&agents::shipped(agent).unwrap(), &[], ErrorCode::PlanError);
    }
    let (two, three) = (spec(PTE), spec("validated"));
    failure_ends_it(&two, std::slice::from_ref(&one), ErrorCode::WriteError);
    failure_ends_it(&three, std::slice::from_ref(&one), ErrorCode::ValidateError);
    failure_ends_it(&three, &[one.clone(), accepted()], ErrorCode::WriteError);
    failure_ends_it(&three, &[one, rejected("no", "hint")], ErrorCode::PlanError);
}
