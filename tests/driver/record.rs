//! Recording: what each mode asks, keeps and writes; that no key is ever kept; and that a fixture is
//! written whole or not at all.

use crate::stage;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use planwright::driver::{Agent, CancelToken, RecordMode, Run, Stopped};
use planwright::journal::{Exchange, FileJournal, Fixture, Outcome};
use planwright::ports::{Cause, ModelError, ScriptedModel};
use planwright::spec::{RoleName, Spec};
use tempfile::TempDir;

use stage::{Calls, accepted, asked, echoing, model, plan, rejected, spec};

/// A folder of its own, and the path of a fixture in a folder in it that does not exist yet.
pub fn place() -> (TempDir, PathBuf) {
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

pub fn read(path: &Path) -> String {
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
    assert!(said.ends_with("`none` only replays, so record it first with `once`"), "{said}");
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
fn no_mode_writes_over_what_is_no_fixture() {
    for mode in [RecordMode::None, RecordMode::Once, RecordMode::NewEpisodes, RecordMode::All] {
        let (_folder, path) = place();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "내 소중한 메모\n").unwrap();
        let (run, Cost(models, tools)) = validated(whole(), &path, mode);
        assert!(matches!(run.unwrap_err(), Stopped::Fixture(_)), "{mode:?}");
        assert_eq!((read(&path).as_str(), models, tools), ("내 소중한 메모\n", 0, 0), "{mode:?}");
    }
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
    assert_eq!(run.state().input().now, stage::NOW);
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
    changed.roles.get_mut(&RoleName::Writer).unwrap().prompt.push_str("\nBe brief.");
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
fn recording_that_was_interrupted_is_gone_on_with_by_new_episodes_and_by_once() {
    let (_folder, straight) = place();
    validated(whole(), &straight, RecordMode::Once).0.unwrap();
    let both = [RecordMode::Once, RecordMode::NewEpisodes];
    for (answered, mode) in (0..replies().len()).flat_map(|answered| both.map(|mode| (answered, mode))) {
        let (_folder, path) = place();
        let first = ScriptedModel::replies(replies().into_iter().take(answered))
            .answer(Err(ModelError::unanswered(Cause::RateLimit, "천천히")));
        let (run, Cost(_, tools_before)) = validated(first, &path, mode);
        let Err(Stopped::Interrupted(interrupted)) = run else { panic!("not interrupted") };
        assert_eq!(interrupted.cause.cause, Cause::RateLimit);
        let saved = Fixture::load(&path).unwrap();
        assert_eq!(saved.outcome, Outcome::Interrupted("rate limit: 천천히".to_owned()));
        assert_eq!(saved.exchanges.len(), answered + tools_before);
        annotate(&path, "손으로 쓴 메모");

        let rest = ScriptedModel::replies(replies().into_iter().skip(answered));
        if answered > 0 && mode == RecordMode::Once {
            let mut changed = spec("validated");
            changed.roles.get_mut(&RoleName::Planner).unwrap().prompt.push_str("\nBe brief.");
            let (run, Cost(models, tools)) = record(changed, whole(), "질문?", &path, mode);
            assert!(
                matches!(run, Err(Stopped::Drifted(_))) && (models, tools) == (0, 0),
                "nothing is thrown away"
            );
        }
        let (run, Cost(models, tools)) = validated(rest, &path, mode);
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
