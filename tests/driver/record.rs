//! Recording: what each mode asks, keeps and writes; that no key is ever kept; and that a fixture is
//! written whole or not at all.

use crate::stage;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use planwright::driver::{Agent, CancelToken, RecordMode, Run, Stopped};
use planwright::journal::{Exchange, FileJournal, Fixture, Outcome};
use planwright::machine::{FailureClass, ModelReply};
use planwright::ports::ScriptedModel;
use planwright::ports::{Cause, Model, ModelError, Secret, TokenSink, ToolError};
use planwright::prompt::ModelRequest;
use planwright::spec::{RoleName, Spec};
use tempfile::TempDir;

use stage::{Calls, accepted, answer, asked, echoing, model, plan, rejected, spec};

/// A folder of its own, and the path of a fixture in a folder in it that does not exist yet.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("validated").join("이야기.json");
    (folder, path)
}

/// Everything in a folder, by name.
fn files(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The replies of a run with one replan.
fn replies() -> Vec<String> {
    let (first, second) = (plan(&[("find", "하나"), ("calc", "둘")]), plan(&[("find", "셋")]));
    vec![first, rejected("아직", "셋을 찾으세요"), second, accepted(), "답입니다.".to_owned()]
}

/// What a recording cost: model calls and tool calls.
struct Cost(usize, usize);

/// Runs `validated` with this script and records it.
fn record(
    spec: Spec,
    script: ScriptedModel,
    question: &str,
    path: &Path,
    mode: RecordMode,
) -> (Result<Run, Stopped>, Cost) {
    let (script, calls) = (Arc::new(script), Calls::default());
    let agent = echoing(spec, &script, &calls).build().unwrap();
    let run = agent.job(asked(question)).record(path, mode).run();
    (run, Cost(script.asked(), calls.count()))
}

fn validated(script: ScriptedModel, path: &Path, mode: RecordMode) -> (Result<Run, Stopped>, Cost) {
    record(spec("validated"), script, "질문?", path, mode)
}

fn whole() -> ScriptedModel {
    ScriptedModel::replies(replies())
}

/// Adds a note to a fixture, as a person does.
fn annotate(path: &Path, note: &str) {
    let mut fixture = Fixture::load(path).unwrap();
    fixture.notes.push(note.to_owned());
    fixture.save(path).unwrap();
}

#[test]
fn none_without_a_fixture_is_an_error_and_asks_nobody() {
    let (folder, path) = place();
    let (run, Cost(models, tools)) = validated(whole(), &path, RecordMode::None);
    let said = run.unwrap_err().to_string();
    assert!(said.starts_with(&format!("{}: cannot be read: ", path.display())), "{said}");
    assert_eq!((models, tools), (0, 0));
    assert_eq!(files(folder.path()), [""; 0]);
}

#[test]
fn every_other_mode_records_where_there_is_no_fixture() {
    let mut texts = Vec::new();
    for mode in [RecordMode::Once, RecordMode::NewEpisodes, RecordMode::All] {
        let (_folder, path) = place();
        let (run, Cost(models, tools)) = validated(whole(), &path, mode);
        assert_eq!(run.unwrap().answer(), Some("답입니다."));
        assert_eq!((models, tools), (5, 3));
        assert_eq!(files(path.parent().unwrap()), ["이야기.json"]);
        texts.push(read(&path));
    }
    assert!(texts.iter().all(|text| *text == texts[0]), "equal runs, equal fixtures");
}

#[test]
fn every_mode_but_all_replays_a_fixture_and_leaves_it_as_it_is() {
    let (_folder, path) = place();
    validated(whole(), &path, RecordMode::All).0.unwrap();
    annotate(&path, "손으로 쓴 메모");
    let before = read(&path);
    for mode in [RecordMode::None, RecordMode::Once, RecordMode::NewEpisodes] {
        let (run, Cost(models, tools)) = validated(ScriptedModel::new(), &path, mode);
        assert_eq!(run.unwrap().answer(), Some("답입니다."));
        assert_eq!((models, tools), (0, 0), "{mode:?}");
        assert_eq!(read(&path), before, "{mode:?}");
    }
}

#[test]
fn replay_starts_from_the_time_that_was_recorded() {
    let (_folder, path) = place();
    validated(whole(), &path, RecordMode::Once).0.unwrap();
    let agent = Agent::builder(spec("validated")).build().unwrap();
    let mut input = asked("질문?");
    input.now = "2031-01-01T00:00:00Z[UTC]".to_owned();
    let run = agent.job(input).record(&path, RecordMode::None).run().unwrap();
    assert_eq!(run.state().task.input.now, stage::NOW);
}

#[test]
fn new_request_is_an_error_under_none_and_once_and_asks_nobody() {
    let (_folder, path) = place();
    validated(whole(), &path, RecordMode::Once).0.unwrap();
    let before = read(&path);
    for mode in [RecordMode::None, RecordMode::Once] {
        let (run, Cost(models, tools)) = record(spec("validated"), whole(), "다른 질문?", &path, mode);
        let Err(Stopped::Drifted(drifts)) = run else { panic!("{mode:?}: no drift") };
        assert_eq!(drifts[0].kind(), "request");
        assert_eq!((models, tools), (0, 0));
        assert_eq!(read(&path), before);
    }
}

#[test]
fn recording_that_breaks_off_never_takes_the_place_of_a_fuller_one() {
    let gone = |answered| {
        ScriptedModel::replies(replies().into_iter().take(answered))
            .answer(Err(ModelError::unanswered(Cause::Server, "503")))
    };
    let (_folder, path) = place();
    // With nothing there, what broke off is better than nothing; more of it is better than less.
    for (answered, kept) in [(2, 2), (1, 2), (3, 3)] {
        assert!(matches!(validated(gone(answered), &path, RecordMode::All).0, Err(Stopped::Interrupted(_))));
        let models = |exchange: &&Exchange| matches!(exchange, Exchange::Model { .. });
        let fixture = Fixture::load(&path).unwrap();
        assert_eq!(fixture.exchanges.iter().filter(models).count(), kept, "{answered} answered");
    }
    validated(whole(), &path, RecordMode::All).0.unwrap();
    let before = read(&path);
    for answered in 0..replies().len() {
        assert!(matches!(validated(gone(answered), &path, RecordMode::All).0, Err(Stopped::Interrupted(_))));
        assert_eq!(read(&path), before, "{answered} answered");
    }
    let stopped = CancelToken::new();
    stopped.cancel();
    let agent = echoing(spec("validated"), &model(replies()), &Calls::default()).build().unwrap();
    let job = agent.job(asked("질문?")).cancel(stopped);
    assert!(job.record(&path, RecordMode::All).run().unwrap().error().is_some());
    assert_eq!(read(&path), before, "stopped by a person");
}

#[test]
fn new_episodes_asks_only_what_is_new() {
    let (_folder, path) = place();
    validated(whole(), &path, RecordMode::Once).0.unwrap();
    annotate(&path, "손으로 쓴 메모");
    let mut changed = spec("validated");
    changed.roles.writer.as_mut().unwrap().prompt.push_str("\nBe brief.");
    let script = ScriptedModel::replies(["짧은 답."]);
    let (run, Cost(models, tools)) = record(changed.clone(), script, "질문?", &path, RecordMode::NewEpisodes);
    assert_eq!(run.unwrap().answer(), Some("짧은 답."));
    assert_eq!((models, tools), (1, 0), "the writer alone is asked");
    let fixture = Fixture::load(&path).unwrap();
    assert_eq!(fixture.notes, ["손으로 쓴 메모"]);
    assert_eq!(fixture.spec, changed);
    assert_eq!(fixture.replay_as_recorded().unwrap().answer(), Some("짧은 답."));
}

#[test]
fn new_episodes_goes_on_where_a_recording_was_interrupted() {
    let (_folder, straight) = place();
    validated(whole(), &straight, RecordMode::Once).0.unwrap();
    for answered in 0..replies().len() {
        let (_folder, path) = place();
        let first = ScriptedModel::replies(replies().into_iter().take(answered))
            .answer(Err(ModelError::unanswered(Cause::RateLimit, "천천히")));
        let (run, Cost(_, tools_before)) = validated(first, &path, RecordMode::NewEpisodes);
        let Err(Stopped::Interrupted(interrupted)) = run else { panic!("not interrupted") };
        assert_eq!(interrupted.cause.cause, Cause::RateLimit);
        let saved = Fixture::load(&path).unwrap();
        assert_eq!(saved.outcome, Outcome::Interrupted("rate limit: 천천히".to_owned()));
        assert_eq!(saved.exchanges.len(), answered + tools_before);
        annotate(&path, "손으로 쓴 메모");

        let rest = ScriptedModel::replies(replies().into_iter().skip(answered));
        let (run, Cost(models, tools)) = validated(rest, &path, RecordMode::NewEpisodes);
        assert_eq!(run.unwrap().answer(), Some("답입니다."));
        assert_eq!((models, tools), (replies().len() - answered, 3 - tools_before), "{answered} answered");
        let mut finished = Fixture::load(&path).unwrap();
        assert_eq!(finished.notes, ["손으로 쓴 메모"]);
        finished.notes.clear();
        assert_eq!(finished.to_json(), read(&straight), "as if it had never been interrupted");
    }
}

#[test]
fn all_asks_everything_again_and_keeps_the_notes() {
    let (_folder, path) = place();
    validated(whole(), &path, RecordMode::All).0.unwrap();
    annotate(&path, "손으로 쓴 메모");
    let mut again = replies();
    *again.last_mut().unwrap() = "다른 답입니다.".to_owned();
    let (run, Cost(models, tools)) = validated(ScriptedModel::replies(again), &path, RecordMode::All);
    assert_eq!(run.unwrap().answer(), Some("다른 답입니다."));
    assert_eq!((models, tools), (5, 3));
    let fixture = Fixture::load(&path).unwrap();
    assert_eq!(fixture.outcome, Outcome::Answer("다른 답입니다.".to_owned()));
    assert_eq!(fixture.notes, ["손으로 쓴 메모"]);
}

#[test]
fn run_that_ends_in_error_is_recorded_and_replays() {
    let (_folder, path) = place();
    let script = ScriptedModel::new().answer(Err(ModelError::failed(FailureClass::Refusal, "아니요")));
    validated(script, &path, RecordMode::Once).0.unwrap();
    let (run, Cost(models, _)) = validated(ScriptedModel::new(), &path, RecordMode::None);
    assert_eq!(run.unwrap().error().unwrap().to_string(), "PLAN_ERROR: refusal: 아니요");
    assert_eq!(models, 0);
}

#[test]
fn recording_beside_a_journal_of_the_callers_holds_the_same() {
    let (folder, path) = place();
    let mut journal = FileJournal::create(folder.path().join("run.jsonl")).unwrap();
    let (script, calls) = (model(replies()), Calls::default());
    let agent = echoing(spec("validated"), &script, &calls).build().unwrap();
    let job = agent.job(asked("질문?")).journal(&mut journal);
    let run = job.record(&path, RecordMode::Once).run().unwrap();
    assert!(run.records().is_empty(), "the records are the caller's");
    let records = planwright::journal::Journal::records(&journal).unwrap();
    assert_eq!(Fixture::of_records(&records, None).unwrap().to_json(), read(&path));
}

// Keys.

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

fn keyed(spec: Spec, script: ScriptedModel, calls: &Calls) -> planwright::driver::AgentBuilder {
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
    assert_eq!(run.state().task.input.question, "[redacted]는 무엇인가요?");
    assert_eq!(calls.names()[0], "calc:[redacted]", "what the model was not shown it cannot plan with");
    let steps: Vec<_> = run.state().task.artifacts.past[0].steps.iter().map(|step| step.output()).collect();
    assert_eq!(steps[1], Some("ERROR: [redacted]: 401 for [redacted]"));
    assert_eq!(steps[2], Some("ERROR: panic: [redacted]"));

    let bare = Agent::builder(spec("validated")).build().unwrap();
    let again = fixture.unwrap().replay(&bare).unwrap();
    assert_eq!(again.state(), run.state(), "the fixture replays without the key");
}

#[test]
fn key_in_a_failure_of_the_model_is_kept_nowhere() {
    let script = ScriptedModel::new()
        .answer(Err(ModelError::failed(FailureClass::BadRequest, format!("bad key {KEY}"))));
    let agent = keyed(spec("validated"), script, &Calls::default()).build().unwrap();
    let (run, _) = keeps_no_key(&agent, "질문?");
    assert_eq!(run.unwrap().error().unwrap().to_string(), "PLAN_ERROR: bad_request: bad key [redacted]");
}

#[test]
fn key_in_a_transport_failure_is_kept_nowhere() {
    let script = ScriptedModel::new()
        .answer(Err(ModelError::unanswered(Cause::Authentication, format!("{KEY} is not accepted"))));
    let agent = keyed(spec("validated"), script, &Calls::default()).build().unwrap();
    let (run, fixture) = keeps_no_key(&agent, "질문?");
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
    impl planwright::ports::Tool for Guarded {
        fn contract(&self) -> planwright::contract::ToolContract {
            stage::contracts().remove(0)
        }
        fn call(
            &self,
            _: &planwright::ports::ToolCall<'_>,
        ) -> Result<planwright::ports::ToolOutput, ToolError> {
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
    let steps = &run.state().task.progress.as_ref().unwrap().steps;
    assert_eq!(steps[0].output(), Some("[redacted] and [redacted]"));
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
    let steps = &run.state().task.progress.as_ref().unwrap().steps;
    assert!(steps[0].output().unwrap().starts_with(&slashes[..1_000]));
}

#[test]
fn key_of_many_lines_is_kept_nowhere_in_json_either() {
    let lines = "-----BEGIN-----\n열쇠0123456789abcdef\n\t-----END-----";
    let contract = stage::contracts().remove(0);
    let tool = Calls::default().tool(contract, move |_| Ok(serde_json::json!({ "key": lines }).to_string()));
    let script = model([plan(&[("calc", "x")]), answer(lines)]);
    let agent = echoing(spec("plan-then-execute"), &script, &Calls::default()).tool(tool);
    let agent = agent.secret(Secret::new(lines)).build().unwrap();
    let (run, _) = keeps_no_key(&agent, &format!("{lines}?"));
    let run = run.unwrap();
    let steps = &run.state().task.progress.as_ref().unwrap().steps;
    assert_eq!(steps[0].output(), Some(r#"{"key":"[redacted]"}"#));
    assert_eq!(run.answer(), Some("[redacted]"));
}

#[test]
fn value_too_short_for_a_key_garbles_no_text() {
    let script = model([plan(&[("calc", "x")]), answer("no none x")]);
    let agent = echoing(spec("plan-then-execute"), &script, &Calls::default());
    let agent = agent.secret(Secret::new("x")).secret(Secret::new("none")).build().unwrap();
    assert_eq!(agent.run("x?").unwrap().answer(), Some("no none x"));
}

// Whole or not at all.

fn recorded() -> Fixture {
    let script = model(replies());
    let agent = echoing(spec("validated"), &script, &Calls::default()).build().unwrap();
    agent.job(asked("질문?")).run().unwrap().fixture().unwrap()
}

#[test]
fn fixture_that_cannot_take_its_place_leaves_nothing_behind() {
    let (folder, path) = place();
    // A folder stands where the fixture should, so the last step of saving fails.
    std::fs::create_dir_all(path.join("inside")).unwrap();
    let said = recorded().save(&path).unwrap_err().to_string();
    assert!(said.starts_with(&format!("{}: cannot be written: ", path.display())), "{said}");
    assert_eq!(files(path.parent().unwrap()), ["이야기.json"]);
    assert_eq!(files(folder.path()), ["validated"]);
}

#[test]
fn fixture_below_a_file_cannot_be_written_and_the_run_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    let path = file.join("story.json");
    let (run, _) = validated(whole(), &path, RecordMode::All);
    let Err(Stopped::Fixture(error)) = run else { panic!("{run:?}") };
    assert!(error.to_string().starts_with(&format!("{}: cannot be written: ", path.display())));
    assert_eq!((files(folder.path()), read(&file)), (vec!["file".to_owned()], "mine".to_owned()));
}

#[test]
fn fixtures_saved_at_the_same_time_never_mix() {
    let (_folder, path) = place();
    let (short, mut long) = (recorded(), recorded());
    long.notes = vec!["긴 메모".repeat(2_000)];
    short.save(&path).unwrap();
    std::thread::scope(|scope| {
        for fixture in [&short, &long, &short, &long] {
            let path = &path;
            scope.spawn(move || (0..20).for_each(|_| fixture.save(path).unwrap()));
        }
        for _ in 0..60 {
            let found = Fixture::load(&path).unwrap();
            assert!(found == short || found == long);
        }
    });
    assert_eq!(files(path.parent().unwrap()), ["이야기.json"]);
}

#[test]
fn role_with_a_script_of_its_own_records_the_same() {
    // Who answers is no part of a fixture: the same words give the same bytes.
    let own = ScriptedModel::replies(replies().into_iter().take(4)).reply_as(RoleName::Writer, "답입니다.");
    let ((_one, left), (_two, right)) = (place(), place());
    validated(whole(), &left, RecordMode::Once).0.unwrap();
    validated(own, &right, RecordMode::Once).0.unwrap();
    assert_eq!(read(&left), read(&right));
}
