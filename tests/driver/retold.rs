//! A run is retold from its records: what an observer of it saw, in any process.

use std::cell::RefCell;

use planwright::driver::{Agent, Progress, ProgressKind, Stopped, retell};
use planwright::journal::Fixture;
use planwright::ports::{Observer, Signal};
use serde_json::Value;

#[derive(Default)]
struct Watcher(RefCell<Vec<Progress>>);

impl Observer for Watcher {
    fn notice(&self, signal: Signal<'_>) {
        self.0.borrow_mut().extend(Progress::of(&signal));
    }

    fn wants_tokens(&self) -> bool {
        true
    }
}

/// Without what no record has: the time, how long it took, words as they were streamed.
fn lasting(said: impl IntoIterator<Item = Progress>) -> Vec<Value> {
    let said = said.into_iter().filter(|progress| progress.kind != ProgressKind::Token);
    let lasting = said.map(|progress| {
        let mut value = serde_json::to_value(progress).unwrap();
        let fields = value.as_object_mut().unwrap();
        fields.shift_remove("time");
        fields.shift_remove("agent");
        fields["content"].as_object_mut().map(|content| content.shift_remove("duration"));
        value
    });
    lasting.collect()
}

#[test]
fn records_of_every_recorded_run_say_what_its_observer_saw() {
    let mut fixtures = 0;
    for agent in planwright::agents::names() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(agent);
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let fixture = Fixture::load(&path).unwrap();
            let watcher = Watcher::default();
            let agent = Agent::builder(fixture.spec.clone()).build().unwrap();
            let ended = agent.job(fixture.input.clone()).replay(fixture).observer(&watcher).run();
            let (records, end) = match &ended {
                Ok(run) => (run.records(), (!run.is_waiting()).then(|| Progress::ended(&ended))),
                Err(Stopped::Interrupted(stopped)) => (&stopped.records[..], None),
                Err(stopped) => panic!("{}: {stopped}", path.display()),
            };
            let told = retell(records).unwrap();
            assert!(told.iter().is_sorted_by_key(|(index, _)| index), "{}", path.display());
            let told = lasting(told.into_iter().map(|(_, progress)| progress));
            let seen = lasting(watcher.0.into_inner().into_iter().chain(end));
            assert_eq!(told, seen, "{}", path.display());
            fixtures += 1;
        }
    }
    assert!(fixtures >= 99, "{fixtures}");
}

/// What comes later changes nothing of what was told before.
#[test]
fn beginning_of_a_journal_is_told_as_it_is_in_the_whole() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/supervised/report.json");
    let run = Fixture::load(folder).unwrap().replay_as_recorded().unwrap();
    let whole = retell(run.records()).unwrap();
    for len in 1..=run.records().len() {
        let told = retell(&run.records()[..len]).unwrap();
        assert_eq!(told, whole[..told.len()], "{len} records");
        assert!(told.iter().all(|(index, _)| *index < len as u64));
    }
}
