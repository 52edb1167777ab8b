//! What the program shows of a run acts on no terminal: in questions, lists, tables and errors.

use crate::cli_support::store::{keep, token};
use crate::cli_support::{Home, Says, Script};
use planwright::agents;
use planwright::driver::Agent;
use planwright::journal::FileJournal;
use planwright::machine::Input;
use planwright::spec::Approval;
use serde_json::json;

const FORGED: &str = "1+1\u{1b}[2K\u{202e}9*9";
const SEEN: &str = r"1+1\u{1b}[2K\u{202e}9*9";

/// A home with a thread whose question, plan and waiting call are all forged.
fn home(thread: &str) -> Home {
    let home = Home::new();
    let mut spec = agents::shipped("plan-then-execute").unwrap().with_tools(|tool| tool.name == "calc");
    spec.policy.approval = Approval { risky: true, ..Approval::default() };
    spec.tools[0].needs_approval = true;
    let plan = json!({"goal": FORGED, "steps": [
        {"tool": "calc", "input": FORGED}, {"tool": "final_answer", "input": FORGED}]});
    let calc = Says(agents::tool("calc").unwrap(), Ok(FORGED.to_owned()));
    let agent = Agent::builder(spec).model(Script::of(&[&plan.to_string()])).tool(calc).build().unwrap();
    let path = home.path("forged.jsonl");
    let mut journal = FileJournal::create(&path).unwrap();
    let input = Input { now: "2026-11-20T09:30:00+09:00[Asia/Seoul]".to_owned(), ..Input::question(FORGED) };
    assert!(agent.job(input).journal(&mut journal).run().unwrap().is_waiting());
    drop(journal);
    keep(&home, thread, &path);
    home
}

#[test]
fn whatever_is_shown_of_a_run_is_what_it_is() {
    let home = home("위조");
    let answer = ["threads", "answer", "위조", "--token", &token(&home, "위조"), "--offline"];
    let answered = [&answer[..], &["--reject", FORGED, "--trace"]].concat();
    for (args, code) in [
        (&["threads", "list"][..], 0),
        (&["threads", "show", "--records", "위조"], 0),
        (&["waiting"], 0),
        (&["trace", "--thread", "위조"], 0),
        (&["threads", "resume", "--offline", "위조"], 5),
        (&["run", "--offline", "--thread", "위조", "다음?"], 5),
        (&["threads", "answer", "위조", "--approve"], 2),
        (&answered, 0),
        (&["threads", "show", "--records", "위조"], 0),
    ] {
        let said = home.check(args, code);
        let all = said.stdout + &said.stderr;
        assert!(all.contains(SEEN), "{args:?}: {all:?}");
        assert!(!all.contains(['\u{1b}', '\u{202e}']), "{args:?}: {all:?}");
    }
}
