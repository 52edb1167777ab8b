//! Replay: byte for byte what was recorded, or a drift that says of what kind, against which
//! recording, and where the two first differ.

use crate::stage;
use crate::stories;

use std::path::Path;

use planwright::agents;
use planwright::driver::{Agent, Stopped};
use planwright::journal::{Difference, Drift, Exchange, Fixture, ModelAnswer, Outcome};
use planwright::machine::{EffectId, ModelReply, TraceLine};
use planwright::spec::{OnFailure, RoleName, Spec, Validate};

use stage::{Calls, Conductor, answer, asked, echoing, model, parallel, plan};

pub fn fixture(agent: &str, story: &str) -> Fixture {
    let path = format!("{}/fixtures/{agent}/{story}.json", env!("CARGO_MANIFEST_DIR"));
    Fixture::load(path).unwrap()
}

pub fn bare(spec: Spec) -> Agent {
    Agent::builder(spec).build().unwrap()
}

fn id(text: &str) -> EffectId {
    text.parse().unwrap()
}

/// How a fixture drifts under a spec.
#[track_caller]
pub fn drifts(spec: Spec, fixture: &Fixture) -> Vec<Drift> {
    match bare(spec).replay(fixture) {
        Err(Stopped::Drifted(drifts)) => drifts,
        other => panic!("expected drift, found {other:?}"),
    }
}

/// The one drift of a shipped agent's story under a changed spec.
#[track_caller]
pub fn drift(story: &str, change: impl FnOnce(&mut Spec)) -> Drift {
    drift_of("validated", story, change)
}

fn drift_of(agent: &str, story: &str, change: impl FnOnce(&mut Spec)) -> Drift {
    let mut spec = agents::shipped(agent).unwrap();
    change(&mut spec);
    let mut found = drifts(spec, &fixture(agent, story));
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

#[track_caller]
fn is_difference(difference: &Difference, path: &str, recorded: &str, new: &str) {
    assert_eq!(difference.path, path);
    assert!(difference.recorded.contains(recorded) && difference.now.contains(new), "{difference}");
}

/// That a drift is one of a request, whose it is, and where it first differs.
#[track_caller]
fn is_request(drift: &Drift, wanted: (&str, &str), path: &str, recorded: &str, new: &str) {
    let Drift::Request { effect, asked, nearest, difference, .. } = drift else { panic!("{drift:#?}") };
    assert_eq!(drift.kind(), "request");
    assert_eq!((*effect, asked.as_str()), (id(wanted.0), wanted.1));
    assert_eq!(*nearest, id(wanted.0), "the nearest recording");
    is_difference(difference, path, recorded, new);
    let said = drift.to_string();
    assert!(said.starts_with(&format!("request drift: {} asks {}", wanted.0, wanted.1)), "{said}");
    assert!(said.contains(&format!("nearest is {}, at {path}", wanted.0)), "{said}");
}

#[test]
fn changed_prompt_is_request_drift_at_the_line_that_changed() {
    let drift = drift("replanned_twice", |spec| {
        let prompt = &mut spec.roles.get_mut(&RoleName::Replanner).unwrap().prompt;
        *prompt = prompt.replace("Follow the hint", "Mind the hint");
    });
    let path = "replanner frame.system[5]";
    is_request(&drift, ("plan.2.1", "replanner"), path, "- Follow the hint", "- Mind the hint");
}

#[test]
fn changed_question_is_request_drift_in_the_payload() {
    let fixture = fixture("validated", "accepted_at_once");
    let mut input = fixture.input.clone();
    input.question = input.question.replace("세 가지", "네 가지");
    let agent = bare(agents::shipped("validated").unwrap());
    let Err(Stopped::Drifted(drifts)) = agent.job(input).replay(fixture).run() else { panic!("no drift") };
    assert_eq!(drifts.len(), 1);
    is_request(&drifts[0], ("plan.1.1", "planner"), "$.user_question", "예를 세 가지만", "예를 네 가지만");
}

#[test]
fn changed_setting_is_request_drift_in_the_frame_or_in_the_digest_alone() {
    let check = |change: &dyn Fn(&mut Spec), wanted, path: &str, recorded, new| {
        is_request(&drift("notebook", change), wanted, path, recorded, new);
    };
    let (planner, validator) = (("plan.1.1", "planner"), ("validate.1.1", "validator"));
    let warmer = |spec: &mut Spec| spec.roles.get_mut(&RoleName::Validator).unwrap().temperature = Some(0.5);
    check(&warmer, validator, "validator frame.temperature", "0.0", "0.5");
    let other =
        |spec: &mut Spec| spec.roles.get_mut(&RoleName::Writer).unwrap().model = Some("another".to_owned());
    check(&other, ("write.2.1", "writer"), "writer frame.model", "(nothing)", "another");
    let schema = |spec: &mut Spec| spec.policy.plan.max_steps = 2;
    check(&schema, planner, "planner frame.schema.properties.steps.maxItems", "6", "2");
}

#[test]
fn changed_input_of_a_tool_is_request_drift_at_the_tool() {
    let mut fixture = fixture("plan-then-execute", "answered");
    let Exchange::Model { answer: ModelAnswer::Reply(reply), .. } = &mut fixture.exchanges[0] else {
        panic!()
    };
    reply.text = reply.text.replace("345*872", "345*873");
    let trace = serde_json::to_string(&fixture.trace).unwrap().replace("345*872", "345*873");
    fixture.trace = serde_json::from_str(&trace).unwrap();
    let found = drifts(fixture.spec.clone(), &fixture);
    is_request(&found[0], ("step.1.1.1", "calc"), "$", "345*872", "345*873");
}

#[test]
fn unwrap_and_assert_replays_show_the_difference() {
    let mut spec = agents::shipped("validated").unwrap();
    spec.roles.get_mut(&RoleName::Planner).unwrap().prompt.push_str("\nBe brief.");
    let agent = bare(spec);
    let path = "fixtures/validated/replanned_twice.json";
    let stopped = agent.replay(&Fixture::load(path).unwrap()).unwrap_err();
    let shown = stopped.to_string();
    assert!(shown.contains("- recorded: ") && shown.contains("Be brief."), "{shown}");
    assert_eq!(format!("{stopped:?}"), shown);
    let Stopped::Drifted(drifts) = &stopped else { panic!("{stopped}") };
    assert_eq!(format!("{:?}", drifts[0]), drifts[0].to_string());
    let replay = || planwright::assert_replays!(path, agent);
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(replay)).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().ends_with(&shown));
    let missing = Fixture::load("fixtures/validated/none.json").unwrap_err();
    assert_eq!(format!("{missing:?}"), missing.to_string());
}

#[track_caller]
fn is_transition(drift: &Drift, path: &str, recorded: &str, new: &str) {
    let Drift::Transition { what, difference: Some(difference) } = drift else { panic!("{drift:#?}") };
    assert_eq!(drift.kind(), "transition");
    assert!(what.starts_with("the run left another trace line "), "{what}");
    is_difference(difference, path, recorded, new);
    assert_eq!(drift.difference(), Some(difference));
}

#[test]
fn changed_policy_is_transition_drift_at_the_line_that_is_missing_new_or_another() {
    let replans = |most| drift_of("intent-first", "replans_used_up", |spec| spec.limits.max_replans = most);
    is_transition(&replans(0), "trace line 4", "REPLAN_TRIGGER", "null");
    is_transition(&replans(3), "trace line 10", "null", "REPLAN_TRIGGER");
    let unjudged = drift("accepted_at_once", |spec| {
        spec.policy.validate = Validate::Off;
        spec.roles.retain(|role, _| !matches!(role, RoleName::Validator | RoleName::Replanner));
    });
    is_transition(&unjudged, "trace line 3.phase", "VALIDATE", "WRITE");
}

#[test]
fn another_ending_is_transition_drift() {
    let mut fixture = fixture("validated", "accepted_at_once");
    let mut other = fixture.clone();
    other.outcome = Outcome::Answer("자판기".to_owned());
    let found = drifts(other.spec.clone(), &other);
    assert_eq!(found.len(), 1);
    assert!(found[0].to_string().starts_with("transition drift: the run ended otherwise, at outcome.answer"));
    fixture.exchanges.truncate(3);
    fixture.trace.truncate(3);
    let found = drifts(fixture.spec.clone(), &fixture);
    let said = "transition drift: the run asks writer (write.1.1), the fixture ends after 3 exchanges";
    assert_eq!(found.iter().map(Drift::to_string).collect::<Vec<_>>(), [said]);
}

#[test]
fn recording_answers_only_effects_of_its_kind() {
    let mut fixture = fixture("validated", "accepted_at_once");
    let (_, planners) = fixture.exchanges[0].key().unwrap();
    fixture.exchanges.remove(0);
    let Exchange::Tool { digest, .. } = &mut fixture.exchanges[0] else { panic!("the tool comes second") };
    *digest = planners;
    let found = drifts(fixture.spec.clone(), &fixture);
    let said = "transition drift: exchange 1 asks planner (plan.1.1), the fixture holds wiki";
    assert_eq!(found[0].to_string(), said);
}

#[track_caller]
fn is_contract(drift: &Drift, line: usize, path: &str, recorded: &str, new: &str) {
    let Drift::Contract { line: found, difference } = drift else { panic!("{drift:#?}") };
    assert_eq!((drift.kind(), *found), ("contract", line));
    is_difference(difference, path, recorded, new);
}

#[test]
fn recorded_plan_that_no_longer_reads_is_contract_drift() {
    let repaired = drift("notebook", |spec| spec.limits.max_input_bytes = 100);
    is_contract(&repaired, 1, "trace line 1.phase", "PLAN", "REPAIR");
    let ended = drift("notebook", |spec| {
        (spec.limits.max_input_bytes, spec.policy.on_bad_reply) = (100, OnFailure::Fail);
    });
    is_contract(&ended, 1, "trace line 1.ok", "true", "false");
}

#[test]
fn reply_that_reads_again_is_contract_drift_too() {
    let mut fixture = fixture("plan-then-execute", "failing_writer");
    let Some(Exchange::Model { answer, .. }) = fixture.exchanges.last_mut() else {
        panic!("the writer is last")
    };
    *answer = ModelAnswer::Reply(ModelReply::text(r#"{"final": "300,840"}"#));
    let found = drifts(fixture.spec.clone(), &fixture);
    is_contract(&found[0], 3, "trace line 3.ok", "false", "true");
}

#[test]
fn same_calls_in_another_order_are_order_drift() {
    let mut fixture = fixture("validated", "failing_tool");
    fixture.exchanges.swap(1, 2);
    let found = drifts(fixture.spec.clone(), &fixture);
    let wanted = Drift::Order { exchange: 2, recorded: id("step.1.2.1"), now: id("step.1.1.1") };
    assert_eq!(found, std::slice::from_ref(&wanted));
    let said = "order drift: exchange 2 is step.1.2.1 in the recording and step.1.1.1 in the replay";
    assert_eq!(wanted.to_string(), said);
}

#[test]
fn recordings_that_are_never_asked_for_are_an_unused_tail() {
    let mut fixture = fixture("validated", "accepted_at_once");
    let (last, planner) = (fixture.exchanges.len(), fixture.exchanges[0].clone());
    fixture.exchanges.extend([planner.clone(), planner]);
    let found = drifts(fixture.spec.clone(), &fixture);
    let wanted = Drift::Unused { count: 2, exchange: last + 1, asked: "planner".to_owned() };
    assert_eq!(found, std::slice::from_ref(&wanted));
    let said = "unused drift: 2 recorded exchanges were never asked for, the first is exchange 5 (planner)";
    assert_eq!(wanted.to_string(), said);
}

#[test]
fn replay_repeats_every_fixture_byte_for_byte() {
    for story in stories::all() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(story.path());
        let recorded = Fixture::load(&path).unwrap();
        let mut again = recorded.replay_as_recorded().unwrap().fixture().unwrap();
        again.notes.clone_from(&recorded.notes);
        assert!(again.to_json() == std::fs::read_to_string(&path).unwrap(), "{}", path.display());
    }
}

/// Runs a plan whose three steps wait for nothing and are answered in this order. Returns the run
/// and its fixture.
fn answered_in(order: [&str; 3], inputs: [&str; 3]) -> (planwright::driver::Run, Fixture) {
    let spec = parallel("plan-then-execute", 3);
    let steps = inputs.map(|input| ("calc", input));
    let script = model([plan(&steps), answer("끝")]);
    let (calls, conductor) = (Calls::default(), Conductor::new(&order));
    let turns = conductor.clone();
    let contract = spec.tools[0].clone();
    let agent = echoing(spec, &script, &calls).tool(calls.tool(contract, move |call| {
        // Which step it is, told by the key: the inputs may all be the same.
        let step = call.idempotency_key.rsplit('.').nth(1).expect("<run>/step.<draft>.<step>.<try>");
        turns.wait(step);
        Ok(format!("result of step {step}"))
    }));
    let run = agent.build().unwrap().job(asked("병렬?")).observer(&*conductor).run().unwrap();
    let fixture = run.fixture().unwrap();
    (run, fixture)
}

const ORDERS: [[&str; 3]; 6] =
    [["1", "2", "3"], ["1", "3", "2"], ["2", "1", "3"], ["2", "3", "1"], ["3", "1", "2"], ["3", "2", "1"]];

#[track_caller]
fn repeats(order: [&str; 3], inputs: [&str; 3]) -> Vec<TraceLine> {
    let (run, fixture) = answered_in(order, inputs);
    let answered: Vec<String> =
        fixture.exchanges[1..4].iter().map(|it| it.key().unwrap().0.to_string()).collect();
    assert_eq!(
        answered,
        order.map(|step| format!("step.1.{step}.1")),
        "the order of the answers is recorded"
    );

    let written = Fixture::parse(&fixture.to_json()).unwrap();
    let again = written.replay_as_recorded().unwrap();
    assert_eq!(again.fixture().unwrap().to_json(), fixture.to_json());
    assert_eq!(again.state(), run.state());
    run.trace().to_vec()
}

#[test]
fn steps_side_by_side_replay_byte_for_byte_in_whatever_order_they_were_answered() {
    let traces: Vec<_> = ORDERS.iter().map(|order| repeats(*order, ["a", "b", "c"])).collect();
    assert!(traces.iter().all(|trace| *trace == traces[0]), "the trace does not tell the order");
    // Of requests that are equal each gets its own answer again.
    for order in ORDERS {
        repeats(order, ["same", "same", "same"]);
        let (_, fixture) = answered_in(order, ["same", "same", "same"]);
        let nth = fixture.exchanges.iter().filter_map(|exchange| match exchange {
            Exchange::Tool { occurrence, .. } => Some(*occurrence),
            _ => None,
        });
        assert!(nth.eq([1, 2, 3]));
    }
}

#[test]
fn parallel_replay_may_not_mind_the_order_of_steps_and_one_by_one_does() {
    let (_, mut swapped) = answered_in(["1", "2", "3"], ["a", "b", "c"]);
    swapped.exchanges.swap(1, 3);
    assert_eq!(swapped.replay_as_recorded().unwrap().answer(), Some("끝"));
    let (recorded, fixture) = answered_in(["3", "1", "2"], ["a", "b", "c"]);
    // With room for two, the third step cannot be the first to be answered.
    let run = bare(parallel("plan-then-execute", 2)).replay(&fixture).unwrap();
    assert_eq!(run.trace(), recorded.trace());
    let found = drifts(stage::spec("plan-then-execute"), &fixture);
    let wanted = Drift::Order { exchange: 2, recorded: id("step.1.3.1"), now: id("step.1.1.1") };
    assert_eq!(found, [wanted]);
}
