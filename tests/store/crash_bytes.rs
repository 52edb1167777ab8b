//! Every byte: a journal cut at any of its bytes goes on to the same end, or is refused by name, or
//! waits in doubt. What was answered is not done again, and what may not be done twice is not.

use crate::crash_support;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use planwright::driver::{Agent, Resolution, Run, Stopped};
use planwright::journal::{Durability, FileJournal, Journal, Record};
use planwright::machine::HumanAnswer;

use crash_support::{Log, Story, WORD, answered, input};

/// What came of a cut journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Came {
    Refused,
    Told,
    ToldAfterDoubt,
}

/// The whole journal of the story, as a file.
fn whole(story: &Story, path: &Path) -> Vec<u8> {
    let agent = story.agent(&Log::in_memory(), Arc::new(|_| {}));
    let mut journal = FileJournal::create(path).unwrap();
    let run = agent.job(input()).journal(&mut journal).run().unwrap();
    assert!(run.is_waiting());
    let run = agent.resuming(&mut journal).answer(HumanAnswer::respond(WORD)).run().unwrap();
    assert!(story.is_told_by(&run));
    std::fs::read(path).unwrap()
}

/// Goes on until the end: answers the person's question, and settles what is in doubt by what was
/// really done.
fn finish(agent: &Agent, journal: &mut FileJournal, log: &Log) -> Result<(Run, bool), Stopped> {
    let mut doubted = false;
    let mut ended = agent.resuming(journal).run();
    for _ in 0..8 {
        ended = match ended {
            Ok(run) if run.is_waiting() => agent.resuming(journal).answer(HumanAnswer::respond(WORD)).run(),
            Ok(run) => return Ok((run, doubted)),
            Err(Stopped::InDoubt { tool, .. }) => {
                assert_eq!(tool, "send", "nothing else may not be done twice");
                doubted = true;
                let happened = log.times("send") > 0;
                let settlement = match happened {
                    true => Resolution::Happened { output: "send of 보고서".to_owned() },
                    false => Resolution::DidNotHappen,
                };
                agent.resuming(journal).resolve(settlement).run()
            }
            Err(stopped) => return Err(stopped),
        };
    }
    panic!("the run does not come to its end")
}

/// `happened`: whether the write of a cut journal that asks for it is to have happened.
fn cut(story: &Story, bytes: &[u8], at: &Path, happened: bool) -> Came {
    std::fs::write(at, bytes).unwrap();
    let Ok(journal) = FileJournal::open(at) else { return Came::Refused };
    // What a disk takes to keep a record is not what is asked here.
    let mut journal = journal.durability(Durability::Normal);
    let records = journal.records().unwrap();
    let before = answered(&records);
    let log = Log::in_memory();
    let agent = story.agent(&log, Arc::new(|_| {}));
    let asked = |record: &Record| matches!(record, Record::Requested { effect, .. } if effect.to_string() == "step.2.4.1");
    let unanswered = records.iter().any(asked) && !before.contains("step.2.4.1");
    if unanswered && happened {
        log.did("send step.2.4.1");
    }
    let (run, doubted) = match finish(&agent, &mut journal, &log) {
        Ok(ended) => ended,
        Err(Stopped::Journal(error)) => {
            assert!(records.is_empty(), "{error}");
            return Came::Refused;
        }
        Err(stopped) => panic!("cut to {} bytes: {stopped}", bytes.len()),
    };
    assert!(story.is_told_by(&run), "cut to {} bytes", bytes.len());
    assert_eq!(doubted, unanswered, "cut to {} bytes", bytes.len());
    for line in log.done() {
        let effect = line.split(' ').nth(1).unwrap_or_default();
        assert!(!before.contains(effect), "cut to {} bytes: {line} was answered before", bytes.len());
    }
    assert!(log.times("send") <= 1, "cut to {} bytes: {:?}", bytes.len(), log.done());
    if doubted { Came::ToldAfterDoubt } else { Came::Told }
}

#[test]
fn journal_cut_at_any_byte_ends_the_same_or_is_refused_or_waits_in_doubt() {
    let story = Story::told();
    let folder = tempfile::tempdir().unwrap();
    let bytes = whole(&story, &folder.path().join("whole.jsonl"));
    let header = bytes.iter().position(|&byte| byte == b'\n').unwrap();
    let at = folder.path().join("cut.jsonl");
    let mut came: BTreeMap<Came, usize> = BTreeMap::new();
    for len in 0..=bytes.len() {
        let what = cut(&story, &bytes[..len], &at, len % 2 == 0);
        assert_eq!(
            what == Came::Refused,
            len < header,
            "cut to {len} bytes: only a header that is torn is refused"
        );
        *came.entry(what).or_default() += 1;
    }
    assert_eq!(came.values().sum::<usize>(), bytes.len() + 1);
    assert!(came[&Came::ToldAfterDoubt] > 0 && came[&Came::Told] > 0, "{came:?}");
}
