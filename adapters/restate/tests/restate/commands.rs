//! The program's own commands read what a run on Restate left in the store, as they read what the driver leaves.

use std::process::Command;

use planwright::machine::HumanAnswer;

use crate::cast::Times;
use crate::killed::asking;
use crate::server::Restate;
use crate::stage::Stage;

/// What a command of the program, which `tests/run` builds, says over the store of the stage. It ends with 0.
fn say(stage: &Stage, command: &str) -> String {
    let tests = std::env::current_exe().unwrap();
    let mut program = Command::new(tests.parent().unwrap().parent().unwrap().join("planwright"));
    program.env_clear().env("PLANWRIGHT_STORE", stage.path("threads.db")).env("HOME", stage.path(""));
    program.current_dir(stage.path("")).args(command.split(' '));
    let ended = program.output().expect("the program: run adapters/restate/tests/run");
    let (said, warned) = (String::from_utf8(ended.stdout).unwrap(), String::from_utf8(ended.stderr).unwrap());
    assert_eq!(ended.status.code(), Some(0), "{command}\n{said}{warned}");
    said
}

#[test]
fn a_run_on_restate_is_shown_exported_replayed_and_made_a_fixture_by_the_same_commands() {
    let (restate, stage) = (Restate::start(), Stage::new(Times::default()));
    let worker = stage.enter(None);
    restate.register(worker.address);
    let waiting = restate.ask("told", &asking());
    assert!(say(&stage, "waiting").contains("send it?"));
    restate.answer("told", &waiting.token.unwrap(), &HumanAnswer::respond("yes"));
    // What the driver tells beside it, in the same store, is told in the same words.
    stage.drive("driven", &asking());
    let words = |command: &str| {
        let said = ["told", "driven"].map(|thread| say(&stage, &command.replace("THREAD", thread)));
        assert_eq!(said[0], said[1], "{command}");
        said.into_iter().next().unwrap()
    };
    let shown = words("threads show THREAD");
    assert!(shown.contains("send of b") && shown.ends_with("answered  the end\n"), "{shown}");
    assert_eq!(say(&stage, "threads list").lines().filter(|line| line.contains("  done  ")).count(), 2);
    assert!(say(&stage, "threads check").contains("all is as it was written"));
    for thread in ["told", "driven"] {
        say(&stage, &format!("threads export {thread} --output {thread}.jsonl"));
        say(&stage, &format!("fixture from {thread} --output {thread}.json"));
    }
    assert!(words("trace THREAD.jsonl").contains("DONE"));
    assert_eq!(words("trace THREAD.json"), words("trace THREAD.jsonl"));
    let replayed = say(&stage, "replay --as-recorded told.json driven.json");
    assert!(replayed.contains("told.json") && !replayed.contains("drift"), "{replayed}");
    let replayed = say(&stage, "replay --all-stored");
    assert!(replayed.contains("2 stored turns: 2 the same"), "{replayed}");
    assert!(say(&stage, "compare told driven").contains("equal: 5 effects"));
}
