//! Threads on the command line: kept, listed, shown, gone on with from another process, forked and
//! deleted.

use crate::cli_support::store::{token, waits};
use crate::cli_support::{ASKED, Home, check};
use crate::support::{Answer, Server};
use crate::world::MUL as PLAN;
use unicode_width::UnicodeWidthStr;

const THREAD: &str = "보고서";
/// Asks in a thread, of the offline model.
#[track_caller]
fn ask(home: &Home, thread: &str, question: &str) -> String {
    home.check(&["run", "--offline", "--quiet", "--tools", "calc", "--thread", thread, question], 0).stdout
}

#[test]
fn turns_of_a_thread_are_kept_across_processes() {
    let home = Home::new();
    assert!(ask(&home, THREAD, "12/4+9?").contains("12"));
    assert!(ask(&home, THREAD, "7*6?").contains("42"));
    home.check(&["threads", "show", THREAD], 0).prints(&[
        "turn 1  done  validated\n  asked     12/4+9?\n  plan      1. completed  calc: 12/4+9\n               → 12\n",
        "turn 2  done",
        "7*6?",
        "42",
    ]);
    let object = home.check(&["threads", "show", "--turn", "2", "--json", THREAD], 0).json();
    assert_eq!((&object["turns"][0]["turn"], &object["turns"][0]["status"]), (&2.into(), &"done".into()));
    assert_eq!(object["turns"].as_array().unwrap().len(), 1);
}

/// What each step was to do, how far it is and what came of it, without going on with the run.
#[test]
fn the_plan_of_a_stored_turn_is_shown_whole() {
    let home = Home::new();
    let long = "긴 결과 ".repeat(100);
    std::fs::create_dir(home.path("글")).unwrap();
    std::fs::write(home.path("글/표.md"), format!("보일러는 5월 3일에 점검했다. {long}")).unwrap();
    home.check(&["run", "--thread", THREAD, "--docs", "글", "보일러는 언제 점검했나요?"], 0);
    let show = |more: &[&str]| home.check(&[&["threads", "show", THREAD][..], more].concat(), 0);
    let object = show(&["--json"]).json();
    let turn = &object["turns"][0];
    let step = &turn["plan"][0];
    assert_eq!((step["tool"].as_str(), step["status"].as_str()), (Some("docs"), Some("completed")), "{turn}");
    assert!(step["result"].as_str().unwrap().contains("5월 3일") && step["error"].is_null());
    assert_eq!(turn["current_step"], turn["plan"].as_array().unwrap().len());
    assert_eq!((&turn["is_waiting_human"], &turn["result"]), (&false.into(), &turn["answer"]));
    let (brief, full) = (show(&["--records"]).stdout, show(&["--records", "--full"]).stdout);
    assert!(brief.contains("1. completed  docs: ") && !brief.contains(long.trim()), "{brief}");
    assert!(full.matches(long.trim()).count() >= 2, "step and record are whole: {full}");
}

#[test]
fn an_answer_that_was_not_accepted_says_so_in_the_language_of_the_question() {
    let home = Home::new();
    for (question, says) in [
        ("부산의 인구는?", "(이 답은 검증을 통과하지 못했습니다: "),
        ("How many people live in Busan?", "(This answer was not accepted when it was checked: "),
    ] {
        let object = home.check(&["run", "--json", question], 1).json();
        assert!(object["result"].as_str().unwrap().contains(says), "{object}");
    }
}

#[test]
fn earlier_turns_are_told_to_an_agent_that_remembers() {
    let home = Home::new();
    let reply = r#"{"goal": "greet", "steps": [{"tool": "final_answer", "input": "안녕하세요"}]}"#;
    let server = Server::answering([Answer::reply(reply)]);
    let url = server.url();
    let args =
        ["--agent", "conversational", "--base-url", &url, "--model", "m", "--quiet", "--thread", THREAD];
    check(home.program().arg("chat").args(args), "내 이름은 김철수야\n", 0);
    let first = server.count();
    check(home.program().arg("chat").args(args), "내 이름이 뭐야?\n", 0);
    let told = String::from_utf8(server.seen()[first].body.clone()).unwrap();
    assert!(told.contains("내 이름은 김철수야") && told.contains("안녕하세요"), "{told}");
    check(home.program().arg("chat").args(args), "/history\n", 0).complains(&["you    내 이름이 뭐야?"]);
}

#[test]
fn nothing_is_made_before_something_is_written() {
    let home = Home::new();
    let said = home.check(&["threads", "list"], 0);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("", "planwright: there are no such threads\n"));
    home.refuses(&["threads", "show", THREAD], &["there is no thread 보고서", "planwright threads list"]);
    home.check(&["waiting"], 0).prints_nothing().complains(&["planwright: nobody is waited for\n"]);
    home.check(&["replay", "--all-stored"], 0);
    home.check(&["run", "--offline", "--quiet", "12/4+9?"], 0);
    assert!(!home.path("data").exists());
    ask(&home, THREAD, "12/4+9?");
    assert!(home.path("data/planwright/threads.db").is_file());
}

#[test]
fn list_is_a_table_whose_columns_line_up_in_korean_and_fit_the_terminal() {
    let home = Home::new();
    ask(&home, "sums", "12/4+9?");
    waits(&home, THREAD);
    let table = home.check(&["threads", "list"], 0).stdout;
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("thread  status   turns  updated           first question"), "{table}");
    assert!(lines[1].starts_with("보고서  waiting  1      20"), "{table}");
    assert!(lines[2].starts_with("sums    done     1      20") && lines[2].ends_with("12/4+9?"), "{table}");
    for columns in [30, 31, 60] {
        let mut program = home.program();
        let said = check(program.env("COLUMNS", columns.to_string()).args(["threads", "list"]), "", 0);
        assert!(said.stdout.lines().all(|line| line.width() <= columns), "{columns}:\n{}", said.stdout);
    }
}

#[test]
fn list_goes_page_by_page_and_says_how() {
    let home = Home::new();
    for thread in ["보고서 1", "보고서 2", "sums"] {
        ask(&home, thread, "12/4+9?");
    }
    let names = |args: &[&str]| {
        let object = check(home.program().args(["threads", "list", "--json"]).args(args), "", 0).json();
        let threads = object["threads"].as_array().unwrap().iter();
        let names: Vec<String> =
            threads.map(|listed| listed["thread"].as_str().unwrap().to_owned()).collect();
        (names, object["next"].as_str().map(str::to_owned))
    };
    assert_eq!(names(&["--prefix", "보고서"]), (vec!["보고서 2".to_owned(), "보고서 1".to_owned()], None));
    assert_eq!(names(&["--status", "failed", "--status", "waiting"]).0, Vec::<String>::new());
    let (first, next) = names(&["--limit", "2"]);
    assert_eq!(first, ["sums", "보고서 2"]);
    let next = next.expect("there is another page");
    assert_eq!(names(&["--limit", "2", "--after", &next]), (vec!["보고서 1".to_owned()], None));
    let said = home.check(&["threads", "list", "--limit", "2", "--status", "done"], 0);
    let command = format!("planwright threads list --status done --limit 2 --after '{next}'");
    assert!(said.stderr.contains(&command), "expected {command:?} in:\n{}", said.stderr);
}

#[test]
fn store_is_chosen_by_flag_environment_and_configuration() {
    let home = Home::new();
    home.write("config/planwright/config.toml", "[persistence]\npath = 'kept.db'\ndurability = 'normal'\n");
    ask(&home, "configured", "12/4+9?");
    assert!(home.path("config/planwright/kept.db").is_file());
    let mut program = home.program();
    let args = ["run", "--offline", "--quiet", "--tools", "calc", "--thread", "named", "7*6?"];
    check(program.env("PLANWRIGHT_STORE", "env.db").args(args), "", 0);
    check(home.program().env("PLANWRIGHT_STORE", "env.db").args(args).args(["--store", "flag.db"]), "", 0);
    for (store, thread) in
        [("env.db", "named"), ("flag.db", "named"), ("config/planwright/kept.db", "configured")]
    {
        for args in [["threads", "--store", store, "list"], ["threads", "list", "--store", store]] {
            let table = home.check(&args, 0).stdout;
            assert!(table.contains(thread) && table.lines().count() == 2, "{store}:\n{table}");
        }
    }
    home.refuses(&["threads", "list", "--durability", "some"], &["full, normal"]);
    let mut program = home.program();
    check(program.env("PLANWRIGHT_DURABILITY", "some").args(["threads", "list"]), "", 2)
        .complains(&["PLANWRIGHT_DURABILITY: expected full or normal"]);
    home.write("config/planwright/config.toml", "[persistence]\nmode = 'disk'\n");
    home.refuses(&["threads", "list"], &["config.toml:2:8: unknown variant `disk`"]);
}

#[test]
fn every_run_is_kept_where_the_configuration_says_so() {
    let home = Home::new();
    home.write("config/planwright/config.toml", "[persistence]\nmode = 'sqlite'\n");
    let said = home.check(&["run", "--offline", "--tools", "calc", "12/4+9?"], 0);
    let (_, name) = said.stderr.split_once("kept as the thread ").expect("the name is said");
    let name = name.split(' ').next().unwrap();
    home.check(&["threads", "show", name], 0).prints(&["12/4+9?"]);
    home.check(&["run", "--offline", "--quiet", "--tools", "calc", "--journal", "run.jsonl", "12/4+9?"], 0);
    let table = home.check(&["threads", "list"], 0).stdout;
    assert_eq!(table.lines().count(), 2, "a journal is kept where it says");
}

/// A home with a thread whose model went away after the plan.
fn interrupted() -> Home {
    let home = Home::new();
    let server = Server::answering([Answer::reply(PLAN), Answer::error(401, "go away")]);
    let args = ["run", "--base-url", &server.url(), "--model", "m", "--thread", THREAD, "6*7?"];
    let flags = format!("--model m --base-url {}", server.url());
    home.check(&args, 3).complains(&[&format!("planwright threads resume 보고서 {flags}  goes on")]);
    home
}

#[test]
fn interrupted_turn_goes_on_with_the_model_it_began_with_or_one_that_is_chosen_and_in_a_chat() {
    let home = interrupted();
    home.refuses(&["threads", "resume", THREAD], &["the run began with the model \"m\"", "--offline"]);
    home.check(&["threads", "resume", "--offline", THREAD], 0).prints(&["42"]);

    let args = ["chat", "--offline", "--thread", THREAD];
    check(interrupted().program().args(args), "/resume\n", 0)
        .complains(&["\"6*7?\" was stopped before its answer: /resume goes on"])
        .prints(&["42"]);
    let said = check(interrupted().program().args(args), "1+1?\n/cancel\n1+1?\n", 0);
    said.complains(&["has not ended", "ended\n"]);
    assert!(said.stdout.contains('2') && !said.stdout.contains("42"), "{}", said.stdout);
}

#[test]
fn other_rules_are_taken_only_where_somebody_says_so() {
    let home = interrupted();
    let spec = home.check(&["agents", "show", "validated"], 0).stdout;
    home.write("mine.toml", &spec.replace("max_replans = 2", "max_replans = 1"));
    let resume = ["threads", "resume", "--offline", "--spec", "mine.toml", THREAD];
    home.refuses(&resume, &["under other rules than those of --spec", "max_replans", "--adopt", "--keep"]);
    check(home.program().args(resume).arg("--adopt"), "", 0).prints(&["42"]);
    home.check(&["threads", "show", "--records", THREAD], 0).prints(&["  rules  "]);
    let home = interrupted();
    home.write("mine.toml", &spec.replace("max_replans = 2", "max_replans = 1"));
    check(home.program().args(resume).arg("--keep"), "", 0);
    assert!(!home.check(&["threads", "show", "--records", THREAD], 0).stdout.contains("  rules  "));
}

#[test]
fn fork_before_an_answer_takes_another_and_leaves_the_first_as_it_was() {
    let home = Home::new();
    waits(&home, THREAD);
    let token_of = |thread: &str| token(&home, thread);
    let args = ["threads", "answer", THREAD, "--offline", "--respond", "네", "--token", &token_of(THREAD)];
    home.check(&args, 0);
    let before = home.check(&["threads", "show", "--records", THREAD], 0).stdout;
    assert!(before.contains("human.1.2") && before.contains(ASKED), "{before}");
    home.check(&["threads", "fork", THREAD, "--to", "다시", "--before", "human.1.2"], 0)
        .complains(&["planwright threads show 다시"]);
    let args = ["threads", "answer", "다시", "--offline", "--reject", "아니요", "--token", &token_of("다시")];
    home.check(&args, 1);
    assert_eq!(home.check(&["threads", "show", "--records", THREAD], 0).stdout, before);
    home.check(&["threads", "show", "다시"], 0).prints(&["from      보고서, turn 1, ", "failed"]);

    home.check(&["threads", "fork", THREAD, "--to", "처음부터", "--at", "1"], 0);
    let fork = |args: &[&str], expect: &[&str]| {
        let args: Vec<&str> = ["threads", "fork", THREAD, "--to"].iter().chain(args).copied().collect();
        home.refuses(&args, expect);
    };
    fork(&["다시"], &["there is a thread 다시 already"]);
    fork(&["또", "--before", "human.1.9"], &["turn 1 of 보고서 has no human.1.9", "--records"]);
    fork(&["또", "--before", "person.1"], &["expected an effect id"]);
    fork(&["또", "--at", "999"], &["records to copy, found 999"]);
    fork(&["또", "--turn", "2"], &["has 1 turn, and none of the number 2"]);
}

#[test]
fn threads_are_deleted_only_where_somebody_says_so() {
    let home = Home::new();
    for thread in ["하나", "둘"] {
        ask(&home, thread, "12/4+9?");
    }
    home.refuses(&["threads", "delete", "하나"], &["nobody is here to be asked", "--yes"]);
    home.refuses(&["threads", "delete", "--yes", "하나", "셋"], &["there is no thread 셋"]);
    assert_eq!(home.check(&["threads", "list"], 0).stdout.lines().count(), 3, "nothing is gone");
    home.check(&["threads", "delete", "--yes", "하나"], 0);
    home.check(&["threads", "vacuum"], 0);
    assert_eq!(home.check(&["threads", "check"], 0).stdout, "all is as it was written\n");
    home.refuses(&["threads", "show", "하나"], &["there is no thread 하나"]);
}

#[test]
fn prune_deletes_what_has_ended_and_nothing_else() {
    let home = Home::new();
    ask(&home, "sums", "12/4+9?");
    waits(&home, THREAD);
    let said = home.check(&["threads", "prune", "--older-than", "1h"], 0);
    assert_eq!((said.stdout.as_str(), said.stderr.as_str()), ("", "planwright: 0 threads are deleted\n"));
    home.check(&["threads", "prune", "--older-than", "0s", "--status", "failed"], 0);
    let said = home.check(&["threads", "prune", "--older-than", "0s", "--dry-run"], 0);
    assert!(said.stdout.ends_with("  sums\n") && said.stderr.contains("would be deleted"), "{}", said.stderr);
    assert_eq!(home.check(&["threads", "list"], 0).stdout.lines().count(), 3);
    home.check(&["threads", "prune", "--older-than", "0s"], 0);
    let said = home.check(&["threads", "list"], 0);
    assert!(!said.stdout.contains("sums") && said.stdout.contains(THREAD), "{}", said.stdout);
    home.refuses(&["threads", "prune", "--older-than", "soon"], &["such as 30d"]);
    home.refuses(&["threads", "prune"], &["--older-than"]);
}

#[test]
fn wrong_inputs_are_explained_and_what_is_no_store_is_left_as_it_was() {
    let home = Home::new();
    ask(&home, THREAD, "12/4+9?");
    home.refuses(&["threads", "list", "--after", "yesterday"], &["after: expected a cursor", "yesterday"]);
    home.refuses(&["threads", "list", "--status", "lost"], &["in_doubt"]);
    home.refuses(&["threads", "list", "--limit", "0"], &["--limit"]);
    home.refuses(&["threads", "show", " x"], &["neither begins nor ends with white space"]);
    home.refuses(&["threads", "show", "--turn", "2", THREAD], &["has 1 turn, and none of the number 2"]);
    home.refuses(&["run", "--thread", "x", "--journal", "y", "q"], &["cannot be used with"]);
    home.refuses(&["threads"], &["Usage"]);

    home.write("letter.db", "Dear Kim, this is a letter and no database at all.\n");
    home.refuses(&["threads", "list", "--store", "letter.db"], &["letter.db", "--store PATH"]);
    let run = ["run", "--offline", "--tools", "calc", "--thread", "x", "1+1?", "--store"];
    for (store, expect) in [
        ("letter.db", "letter.db"),
        ("letter.db/threads.db", "letter.db: cannot be made"),
        ("threads/", "expected an SQLite file, found a folder"),
    ] {
        let args: Vec<&str> = run.iter().copied().chain([store]).collect();
        home.refuses(&args, &[expect]);
    }
    let text = std::fs::read_to_string(home.path("letter.db")).unwrap();
    assert!(text.starts_with("Dear Kim"));
    std::fs::create_dir(home.path("empty")).unwrap();
    let expect = ["empty: expected an SQLite file, found a folder"];
    home.refuses(&["threads", "list", "--store", "empty"], &expect);
    home.refuses(&["threads", "list", "--store", "none.db"], &["none.db: there is no store"]);
    assert_eq!(std::fs::read_dir(home.path("empty")).unwrap().count(), 0);
    assert!(!home.path("none.db").exists());
    // Where nobody may make a file, not even who may everything.
    if cfg!(target_os = "linux") {
        let store = "/proc/self/fdinfo/threads.db";
        home.refuses(&[&run[..], &[store]].concat(), &[store]);
    }
}

#[cfg(unix)]
#[test]
fn command_that_is_said_can_be_typed_in_a_shell() {
    let home = Home::new();
    let thread = "it's \"$HOME\" 보고서";
    waits(&home, thread);
    let command = crate::cli_support::store::open(&home, thread)["commands"][0].as_str().unwrap().to_owned();
    let bin = std::path::Path::new(env!("CARGO_BIN_EXE_planwright")).parent().unwrap().to_owned();
    let mut shell = std::process::Command::new("/bin/sh");
    shell.envs(home.program().get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.current_dir(home.path("")).env("PATH", bin);
    check(shell.args(["-c", &format!("{command} --offline")]), "", 0).prints(&["12"]);
}
