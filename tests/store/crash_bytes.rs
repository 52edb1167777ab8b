//! Every byte: a journal cut at any of its bytes goes on to the same end, or is refused by name, or
//! waits in doubt. What was answered is not done again, and what may not be done twice is not.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use planwright::driver::Stopped;
use planwright::journal::{Durability, FileJournal, Journal, JournalErrorKind, Record, fold};

use crate::crash_support::{Log, Story, answered};
use crate::support::{Say, agent, finish, tell_in};

/// What came of a cut journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Came {
    Refused,
    Told,
    ToldAfterDoubt,
}

/// `lines`: how many records are whole. `happened`: whether the write of a cut journal that asks for it is to
/// have happened.
fn cut(story: &Story, bytes: &[u8], lines: usize, at: &Path, happened: bool) -> Came {
    std::fs::write(at, bytes).unwrap();
    let opened = loop {
        match FileJournal::open(at) {
            // A child that another test forks holds all locks of this process until it is another program.
            Err(error) if error.kind() == JournalErrorKind::Locked => std::thread::yield_now(),
            opened => break opened,
        }
    };
    let Ok(journal) = opened else { return Came::Refused };
    // What a disk takes to keep a record is not what is asked here.
    let mut journal = journal.durability(Durability::Normal);
    let records = journal.records().unwrap();
    // A record is whole as soon as nothing but the end of its line is missing.
    assert_eq!(records.len(), lines, "cut to {} bytes", bytes.len());
    let before = answered(&records);
    let log = Log::in_memory();
    let agent = story.agent(&log, Arc::new(|_| {}));
    let asked = |record: &Record| matches!(record, Record::Requested { effect, .. } if effect.to_string() == "step.2.4.1");
    let unanswered = records.iter().any(asked) && !before.contains("step.2.4.1");
    if unanswered && happened {
        log.did("send step.2.4.1");
    }
    let (begun, mut doubted) = (agent.resume(&mut journal).run(), false);
    let ended = finish(&log, begun, |say| match say {
        Say::Answer(answer) => agent.resume(&mut journal).answer(answer).run(),
        Say::Resolve(resolution) => {
            doubted = true;
            agent.resume(&mut journal).resolve(resolution).run()
        }
    });
    let run = match ended {
        Ok(run) => run,
        Err(Stopped::Journal(error)) => {
            assert!(records.is_empty(), "{error}");
            return Came::Refused;
        }
        Err(stopped) => panic!("cut to {} bytes: {stopped}", bytes.len()),
    };
    assert!(story.is_told_by(&run), "cut to {} bytes", bytes.len());
    let again = fold(FileJournal::parse(&std::fs::read(at).unwrap()).unwrap()).unwrap();
    assert_eq!(again.state, *run.state(), "what was torn is gone from the file");
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
    let (story, folder) = (Story::told(), tempfile::tempdir().unwrap());
    let [whole, at] = ["whole.jsonl", "cut.jsonl"].map(|name| folder.path().join(name));
    let mut journal = FileJournal::create(&whole).unwrap();
    assert!(story.is_told_by(&tell_in(&mut journal, &agent(), &Log::in_memory()).unwrap()));
    let bytes = std::fs::read(&whole).unwrap();
    let header = bytes.iter().position(|&byte| byte == b'\n').unwrap();
    let mut came: BTreeMap<Came, usize> = BTreeMap::new();
    for len in 0..=bytes.len() {
        let lines = bytes[..bytes.len().min(len + 1)].iter().filter(|&&byte| byte == b'\n').count();
        let what = cut(&story, &bytes[..len], lines, &at, len % 2 == 0);
        let says = "only a header that is torn is refused";
        assert_eq!(what == Came::Refused, len < header, "cut to {len} bytes: {says}");
        *came.entry(what).or_default() += 1;
    }
    assert_eq!(came.values().sum::<usize>(), bytes.len() + 1);
    assert!(came[&Came::ToldAfterDoubt] > 0 && came[&Came::Told] > 0, "{came:?}");
}
