//! No key is written down: what can be said without it is, and what cannot is refused, naming the place and
//! not the key.

use crate::holes;
use crate::record::{place, read};
use crate::stage;

use std::sync::Arc;

use planwright::contract::ToolContract;
use planwright::driver::{
    Agent, AgentBuilder, Changed, RecordMode, Resolution, Run, Stopped, Threads, token,
};
use planwright::journal::{
    FileJournal, Fixture, Journal, MemoryJournal, MemoryStore, Outcome, Query, Record, ThreadId,
};
use planwright::machine::{FailureClass, ModelReply};
use planwright::ports::{
    Cause, Model, ModelError, ScriptedModel, Secret, TokenSink, Tool, ToolCall, ToolError, ToolOutput,
};
use planwright::prompt::ModelRequest;
use planwright::spec::{Approval, RoleName, Spec};
use serde_json::json;

use stage::{Calls, accepted, answer, asked, echoing, model, output, plan, rejected, spec};

/// A key with everything in it that JSON escapes, and Korean.
const KEY: &str = "sk-열쇠\"\\/-0123456789abcdef";

/// A model with a key.
struct Keyed(ScriptedModel);

impl Model for Keyed {
    fn name(&self) -> &str {
        "keyed"
    }
    fn ask(&self, request: &ModelRequest, tokens: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        self.0.ask(request, tokens)
    }
    fn secrets(&self) -> Vec<Secret> {
        vec![Secret::new(KEY)]
    }
}

/// No part of the key that could be one stands in a text, escaped or not.
#[track_caller]
fn keyless(what: &str, text: &str) {
    for part in ["열쇠", "0123456789abcdef", "01234567", "89abcdef"] {
        assert!(!text.contains(part), "{what} holds {part:?} of the key: {text}");
    }
}

/// Runs `agent` into a journal file and a fixture, and looks for the key in all that is left.
#[track_caller]
fn keeps_no_key(agent: &Agent, question: &str) -> (Result<Run, Stopped>, Option<Fixture>) {
    let (folder, path) = place();
    let log = folder.path().join("run.jsonl");
    let mut journal = FileJournal::create(&log).unwrap();
    let job = agent.job(asked(question)).journal(&mut journal);
    let run = job.record(&path, RecordMode::Once).run();
    keyless("the journal", &read(&log));
    keyless("the fixture", &read(&path));
    match &run {
        Ok(run) => {
            keyless("the trace", &serde_json::to_string(run.trace()).unwrap());
            keyless("the answer", run.answer().unwrap_or_default());
            keyless("the error", &run.error().map(ToString::to_string).unwrap_or_default());
            keyless("Debug", &format!("{run:?}"));
        }
        Err(stopped) => {
            keyless("the error", &stopped.to_string());
            keyless("Debug", &format!("{stopped:?}"));
        }
    }
    (run, Fixture::load(&path).ok())
}

fn keyed(spec: Spec, script: ScriptedModel, calls: &Calls) -> AgentBuilder {
    let contracts = spec.tools.clone();
    let builder = Agent::builder(spec).model(Keyed(script));
    contracts.into_iter().fold(builder, |builder, contract| builder.tool(calls.echo(contract)))
}

#[test]
fn key_in_question_reply_output_and_failure_is_kept_nowhere() {
    let calls = Calls::default();
    let contracts = stage::contracts();
    let script = ScriptedModel::new()
        .reply(format!("{KEY}만으로는 계획이 안 됩니다"))
        .reply(plan(&[("calc", KEY), ("find", "x"), ("store", "y")]))
        .reply(rejected(&format!("{KEY} 때문에"), &format!("{KEY} 없이")))
        .reply(plan(&[("calc", "z")]))
        .reply(accepted())
        .reply(format!("답은 {KEY}입니다."));
    let agent = keyed(spec("validated"), script, &calls)
        .tool(calls.tool(contracts[0].clone(), |call| Ok(format!("{{\"key\": {}, {KEY}}}", call.input))))
        .tool(calls.tool(contracts[1].clone(), |_| Err(ToolError::new(KEY, format!("401 for {KEY}")))))
        .tool(calls.tool(contracts[3].clone(), |_| panic!("{KEY}")))
        .build()
        .unwrap();
    let (run, fixture) = keeps_no_key(&agent, &format!("{KEY}는 무엇인가요?"));
    let run = run.unwrap();
    assert_eq!(run.answer(), Some("답은 [redacted]입니다."));
    assert_eq!(run.state().input().question, "[redacted]는 무엇인가요?");
    assert_eq!(calls.names()[0], "calc:[redacted]", "what the model was not shown it cannot plan with");
    let steps: Vec<_> = run.state().steps().map(|step| step.output).collect();
    assert_eq!(steps[1], Some("ERROR: [redacted]: 401 for [redacted]"));
    assert_eq!(steps[2], Some("ERROR: panic: [redacted]"));

    let bare = Agent::builder(spec("validated")).build().unwrap();
    let again = bare.replay(&fixture.unwrap()).unwrap();
    assert_eq!(again.state(), run.state(), "the fixture replays without the key");
}

#[test]
fn key_in_a_failure_of_the_model_or_the_transport_is_kept_nowhere() {
    let fails = |error| {
        let script = ScriptedModel::new().answer(Err(error));
        let agent = keyed(spec("validated"), script, &Calls::default()).build().unwrap();
        keeps_no_key(&agent, "질문?")
    };
    let (run, _) = fails(ModelError::failed(FailureClass::BadRequest, format!("bad key {KEY}")));
    assert_eq!(run.unwrap().error().unwrap().to_string(), "PLAN_ERROR: bad_request: bad key [redacted]");
    let gone = ModelError::unanswered(Cause::Authentication, format!("{KEY} is not accepted"));
    let (run, fixture) = fails(gone);
    let said = "authentication: [redacted] is not accepted";
    assert_eq!(run.unwrap_err().to_string(), format!("interrupted at plan.1.1 (PLAN): {said}"));
    assert_eq!(fixture.unwrap().outcome, Outcome::Interrupted(said.to_owned()));
}

#[test]
fn output_cut_in_the_middle_of_a_key_keeps_no_half_of_it() {
    let calls = Calls::default();
    for most in 1..=KEY.len() as u32 + 8 {
        let mut spec = spec("plan-then-execute");
        spec.tools[0].max_output_bytes = most;
        spec.tools[1].max_output_bytes = most;
        let contracts = spec.tools.clone();
        let script = ScriptedModel::replies([plan(&[("calc", "x"), ("find", "y")]), answer("끝")]);
        let agent = keyed(spec, script, &calls)
            .tool(calls.tool(contracts[0].clone(), |_| Ok(format!("앞 {KEY} 뒤"))))
            .tool(calls.tool(contracts[1].clone(), |_| Err(ToolError::new("http", format!("앞 {KEY} 뒤")))))
            .build()
            .unwrap();
        keeps_no_key(&agent, "질문?").0.unwrap();
    }
}

#[test]
fn keys_of_tools_and_further_keys_are_kept_out_as_well() {
    struct Guarded;
    impl Tool for Guarded {
        fn contract(&self) -> ToolContract {
            stage::contracts().remove(0)
        }
        fn call(&self, _: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
            Ok(format!("{KEY} and another-long-key").into())
        }
        fn secrets(&self) -> Vec<Secret> {
            vec![Secret::new(KEY)]
        }
    }
    let script = model([plan(&[("calc", "x")]), answer("another-long-key")]);
    let agent = echoing(spec("plan-then-execute"), &script, &Calls::default()).tool(Guarded);
    let agent = agent.secret(Secret::new("another-long-key")).build().unwrap();
    let (run, _) = keeps_no_key(&agent, "질문?");
    let run = run.unwrap();
    assert_eq!(output(&run, 0), Some("[redacted] and [redacted]"));
    assert_eq!(run.answer(), Some("[redacted]"));
}

#[test]
fn key_of_a_model_that_is_asked_in_one_role_is_kept_out_as_well() {
    let script = model([plan(&[("calc", KEY)]), accepted()]);
    let writer = Keyed(ScriptedModel::replies([format!("답은 {KEY}입니다.")]));
    let agent = echoing(spec("validated"), &script, &Calls::default());
    let agent = agent.model_for(RoleName::Writer, writer).build().unwrap();
    let (run, _) = keeps_no_key(&agent, "질문?");
    assert_eq!(run.unwrap().answer(), Some("답은 [redacted]입니다."));
}

#[test]
fn key_in_a_value_that_a_model_writes_for_a_step_is_kept_nowhere() {
    let (calls, replies) = (Calls::default(), holes::replies(&format!("앞 {KEY} 뒤")));
    let agent = keyed(holes::filling(), ScriptedModel::replies(replies), &calls).build().unwrap();
    keeps_no_key(&agent, "질문?").0.unwrap();
    assert_eq!(calls.names(), ["find:one", "find:앞 [redacted] 뒤"]);
}

#[test]
fn key_that_a_model_spells_with_escapes_is_not_planned_with() {
    let key = "sk-열쇠/\"\\u00410123🔑456789abcdef";
    let hex = |letter: char| -> String {
        letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    };
    let all: String = key.chars().map(hex).collect();
    let plain = |letter: char| letter.is_ascii_digit() || letter.is_ascii_lowercase();
    let some =
        key.chars().map(|letter| if plain(letter) { letter.to_string() } else { hex(letter) }).collect();
    for spelt in [all, some] {
        let steps = plan(&[("calc", "KEY"), ("find", "x")]).replace("KEY", &spelt);
        let (script, calls) = (model([steps, answer(&spelt)]), Calls::default());
        let agent = echoing(spec("plan-then-execute"), &script, &calls);
        let agent = agent.secret(Secret::new(key)).build().unwrap();
        let (run, _) = keeps_no_key(&agent, "질문?");
        assert_eq!(calls.names(), ["calc:[redacted]", "find:x"]);
        assert_eq!(run.unwrap().answer(), Some("[redacted]"));
    }
}

/// Work that grew with the square of the text would take hours here.
#[test]
fn text_of_nothing_but_backslashes_is_looked_through_like_any_other() {
    let slashes = "\\".repeat(4_000_000);
    let said = slashes.clone();
    let tool = Calls::default().tool(stage::contracts().remove(0), move |_| Ok(said.clone()));
    let script = model([plan(&[("calc", "x")]), answer("done")]);
    let agent = echoing(spec("plan-then-execute"), &script, &Calls::default()).tool(tool);
    let agent = agent.secret(Secret::new("sk-0123456789")).build().unwrap();
    let run = agent.run("?").unwrap();
    assert!(output(&run, 0).unwrap().starts_with(&slashes[..1_000]));
}

#[test]
fn key_of_many_lines_is_kept_nowhere_in_json_either() {
    let lines = "-----BEGIN-----\n열쇠0123456789abcdef\n\t-----END-----";
    let contract = stage::contracts().remove(0);
    let tool = Calls::default().tool(contract, move |_| Ok(json!({ "key": lines }).to_string()));
    let script = model([plan(&[("calc", "x")]), answer(lines)]);
    let agent = echoing(spec("plan-then-execute"), &script, &Calls::default()).tool(tool);
    let agent = agent.secret(Secret::new(lines)).build().unwrap();
    let (run, _) = keeps_no_key(&agent, &format!("{lines}?"));
    let run = run.unwrap();
    assert_eq!(output(&run, 0), Some(r#"{"key":"[redacted]"}"#));
    assert_eq!(run.answer(), Some("[redacted]"));
}

#[test]
fn value_too_short_for_a_key_garbles_no_text() {
    let script = model([plan(&[("calc", "x")]), answer("no none x")]);
    let agent = echoing(spec("plan-then-execute"), &script, &Calls::default());
    let agent = agent.secret(Secret::new("x")).secret(Secret::new("none")).build().unwrap();
    assert_eq!(agent.run("x?").unwrap().answer(), Some("no none x"));
}

const LIVE_KEY: &str = "sk-live-\"0123456789";

fn with_key(spec: Spec, script: &Arc<ScriptedModel>, calls: &Calls) -> Agent {
    echoing(spec, script, calls).secret(Secret::new(LIVE_KEY)).build().unwrap()
}

/// Specs that hold the key, with where.
fn leaking() -> Vec<(Spec, &'static str)> {
    let with = |change: fn(&mut Spec)| {
        let mut spec = spec("plan-then-execute");
        change(&mut spec);
        spec
    };
    vec![
        (
            with(|spec| spec.roles.get_mut(&RoleName::Planner).unwrap().prompt.push_str(LIVE_KEY)),
            "$.roles.planner.prompt",
        ),
        (with(|spec| spec.description = format!("with {LIVE_KEY}")), "$.description"),
        (with(|spec| spec.tools[1].description = LIVE_KEY.to_owned()), "$.tools[1].description"),
        (
            with(|spec| {
                spec.tools[0].input = json!({"type": "object", "properties": {LIVE_KEY: {"type": "string"}}})
            }),
            "$.tools[0].input",
        ),
    ]
}

#[track_caller]
fn names_the_place(stopped: &Stopped, place: &str) {
    assert!(matches!(stopped, Stopped::Secret { .. }), "{stopped:?}");
    let said = format!("{stopped} {stopped:?}");
    assert!(said.contains(place) && !said.contains("0123456789"), "{said}");
}

#[test]
fn spec_that_holds_a_key_is_refused_before_anything_is_asked_or_written() {
    for (spec, place) in leaking() {
        let (script, threads) = (model([answer("답")]), Threads::new(Arc::new(MemoryStore::new())));
        let agent = with_key(spec, &script, &Calls::default());
        let mut journal = MemoryJournal::new();
        names_the_place(&agent.job(asked("질문?")).journal(&mut journal).run().unwrap_err(), place);
        names_the_place(&threads.at(&"합계".parse().unwrap()).ask(&agent, "질문?").unwrap_err(), place);
        assert_eq!((script.asked(), journal.records().unwrap().len()), (0, 0));
        assert_eq!(threads.list(&Query::default()).unwrap(), []);
    }
}

#[test]
fn key_in_the_place_of_a_models_name_is_in_no_header() {
    struct Named(Arc<ScriptedModel>);
    impl Model for Named {
        fn name(&self) -> &str {
            LIVE_KEY
        }
        fn ask(&self, request: &ModelRequest, sink: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
            self.0.ask(request, sink)
        }
    }
    let script = model([plan(&[("find", "하나")]), answer("답")]);
    let builder = echoing(spec("plan-then-execute"), &script, &Calls::default());
    let agent = builder.model(Named(script)).secret(Secret::new(LIVE_KEY)).build().unwrap();
    let run = agent.run("질문?").unwrap();
    let Record::Header(header) = &run.records()[0] else { panic!("{:?}", run.records()[0]) };
    assert_eq!((header.model.as_str(), run.answer()), ("[redacted]", Some("답")));
}

#[test]
fn spec_that_holds_a_key_is_not_adopted() {
    let script = model([plan(&[("find", "하나")]), answer("답")]);
    let run = with_key(spec("plan-then-execute"), &script, &Calls::default()).run("질문?").unwrap();
    let begun = run.records()[..2].to_vec();
    for (spec, place) in leaking() {
        for changed in [Changed::Refuse, Changed::Adopt] {
            let mut journal = MemoryJournal::from(begun.clone());
            let agent = with_key(spec.clone(), &model([""; 0]), &Calls::default());
            names_the_place(&agent.resume(&mut journal).changed(changed).run().unwrap_err(), place);
            assert!(journal.records().unwrap() == begun);
        }
    }
    // Under the rules that it began with nothing of the other spec is written down.
    let mut journal = MemoryJournal::from(begun);
    let script = model([plan(&[("find", "하나")]), answer("답")]);
    let agent = with_key(leaking().remove(0).0, &script, &Calls::default());
    let kept = agent.resume(&mut journal).changed(Changed::Keep).run().unwrap();
    assert_eq!(kept.answer(), Some("답"));
}

#[test]
fn thread_is_not_named_by_a_key() {
    let threads = Threads::new(Arc::new(MemoryStore::new()));
    let thread: ThreadId = format!("for {LIVE_KEY}").parse().unwrap();
    let script = model([plan(&[]), answer("답")]);
    let agent = with_key(spec("plan-then-execute"), &script, &Calls::default());
    names_the_place(&threads.at(&thread).ask(&agent, "질문?").unwrap_err(), "the thread's name");
    assert_eq!((script.asked(), threads.list(&Query::default()).unwrap()), (0, vec![]));
}

#[test]
fn why_a_thread_was_ended_is_said_without_the_key() {
    let mut spec = spec("plan-then-execute");
    spec.policy.approval = Approval { plan: true, ..Approval::default() };
    let (threads, thread) = (Threads::new(Arc::new(MemoryStore::new())), "취소".parse().unwrap());
    let agent = with_key(spec, &model([plan(&[("find", "하나")])]), &Calls::default());
    threads.at(&thread).ask(&agent, "질문?").unwrap();
    threads.at(&thread).cancel(format!("{LIVE_KEY} 를 잘못 줬다"), &[Secret::new(LIVE_KEY)]).unwrap();
    let records = threads.store().records(&thread, 0).unwrap();
    let said = serde_json::to_string(&records).unwrap();
    assert!(said.contains("[redacted] 를 잘못 줬다") && !said.contains("0123456789"), "{said}");
}

#[test]
fn what_a_person_says_of_a_write_is_without_the_key_and_no_longer_than_the_tool_may_say() {
    let mut spec = spec("plan-then-execute");
    spec.tools[2].max_output_bytes = 20;
    let script = model([plan(&[("send", "하나")]), answer("답")]);
    let mut records =
        with_key(spec.clone(), &script, &Calls::default()).run("질문?").unwrap().records().to_vec();
    let requested =
        |record: &Record| matches!(record, Record::Requested { effect, .. } if effect.step().is_some());
    records.truncate(records.iter().position(requested).unwrap() + 1);
    let mut journal = MemoryJournal::from(records.clone());
    let agent = with_key(spec, &model([answer("답")]), &Calls::default());
    let token = token(&planwright::journal::fold(records).unwrap()).unwrap();
    let happened = Resolution::Happened { output: format!("{LIVE_KEY} {}", "가".repeat(100)) };
    let run = agent.resume(&mut journal).token(token).resolve(happened).run().unwrap();
    assert_eq!(output(&run, 0), Some("[redacted] 가가가… [cut: 20 of 311 bytes]"));
}
