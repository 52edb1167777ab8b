//! `run` and `resume` in the world: which model answers, what an interruption leaves. Servers are on loopback.

use std::process::Command;

use crate::cli_support::{Home, check};
use crate::support::{Answer, DeadPort, Server};
use planwright::journal::Fixture;
use serde_json::Value;

pub const SUM: &str = "What is 345*872?";
pub const PLAN: &str = r#"{"goal": "sum", "steps": [{"tool": "calc", "input": "345*872"}, {"tool": "final_answer", "input": "say it"}]}"#;
pub const GOOD: &str = r#"{"ok": true, "reason": "there is a result", "fix_hint": ""}"#;

pub const MUL: &str = r#"{"goal": "sum", "steps": [{"tool": "calc", "input": "6*7"}, {"tool": "final_answer", "input": "say it"}]}"#;

/// A server whose every reply costs 11 tokens read and 5 written.
pub fn talkative() -> Server {
    Server::answering([Answer::reply(PLAN), Answer::reply(GOOD), Answer::reply("It is 300840.")])
}

#[test]
fn offline_model_answers_where_nothing_is_configured_from_the_handbook_or_a_folder() {
    let home = Home::new();
    home.check(&["run", SUM], 0).prints(&["300840"]).complains(&[
        "the offline model",
        "searching the built-in handbook; --docs DIR searches your own folder",
    ]);
    let home = Home::new();
    home.write("notes/refunds.md", "# 환불\n환불은 30일 안에 신청한다.\n");
    let said = home.check(&["run", "--docs", "notes", "환불?"], 0);
    said.prints(&["30일"]);
    assert!(!said.stderr.contains("handbook"));
}

/// A language model would take the handbook for the user's own documents.
#[test]
fn language_model_is_offered_documents_only_where_a_folder_is_named() {
    let home = Home::new();
    home.write("notes/refunds.md", "# 환불\n환불은 30일 안에 신청한다.\n");
    for (folder, offered) in [(None, false), (Some(["--docs", "notes"]), true)] {
        let server = talkative();
        let (url, file) = (server.url(), format!("{offered}.json"));
        let mut args = vec!["run", "--base-url", &url, "--model", "m", "--record", &file, SUM];
        args.extend(folder.iter().flatten());
        home.check(&args, 0);
        let fixture = planwright::journal::Fixture::load(home.path(&file)).unwrap();
        assert_eq!(fixture.spec.tools.iter().any(|tool| tool.name == "docs"), offered);
    }
}

#[test]
fn recorded_run_replays_without_a_model_and_equal_runs_leave_equal_fixtures() {
    let home = Home::new();
    let now = "2026-11-20T09:30:00+09:00[Asia/Seoul]";
    let first = home.check(&["run", "--now", now, "--record", "one.json", SUM], 0);
    home.check(&["run", "--now", now, "--record", "two.json", SUM], 0);
    let read = |name: &str| std::fs::read_to_string(home.path(name)).unwrap();
    assert_eq!(read("one.json"), read("two.json"));
    assert!(read("one.json").contains(now));
    assert_eq!(first.stdout, home.check(&["run", "--replay", "one.json"], 0).stdout);
    home.check(&["replay", "one.json"], 0).prints(&["1 ok"]);
}

#[test]
fn flags_go_before_the_environment_and_that_before_the_file() {
    let home = Home::new();
    let (flag, env, file) = (talkative(), talkative(), talkative());
    home.write(
        "config/planwright/config.toml",
        &format!("base_url = '{}'\nmodel = 'of-the-file'\napi_key_env = 'MY_KEY'\n", file.url()),
    );
    let run = |program: &mut Command, args: &[&str]| {
        check(program.env("MY_KEY", "key-of-the-file").arg("run").args(args).arg(SUM), "", 0)
    };
    let asked = |server: &Server| {
        let seen = server.seen();
        let first = seen.first().expect("the server was asked");
        (first.json()["model"].as_str().unwrap().to_owned(), first.header("authorization").map(str::to_owned))
    };
    let said = run(&mut home.program(), &[]);
    assert_eq!(said.stdout, "It is 300840.\n");
    assert!(said.stderr.contains(&format!("of-the-file at {}", file.url())), "{}", said.stderr);
    assert_eq!(asked(&file), ("of-the-file".to_owned(), Some("Bearer key-of-the-file".to_owned())));

    let mut program = home.program();
    program.env("OPENAI_BASE_URL", env.url()).env("PLANWRIGHT_MODEL", "of-the-env");
    run(&mut program, &[]);
    assert_eq!(asked(&env).0, "of-the-env");

    program = home.program();
    program
        .env("OPENAI_BASE_URL", env.url())
        .env("PLANWRIGHT_MODEL", "of-the-env")
        .env("OTHER", "key-of-the-flag");
    run(&mut program, &["--base-url", &flag.url(), "--model", "of-the-flag", "--api-key-env", "OTHER"]);
    assert_eq!(asked(&flag), ("of-the-flag".to_owned(), Some("Bearer key-of-the-flag".to_owned())));

    let messages = Server::answering([Answer::error(401, "who are you?")]);
    program = home.program();
    program.env("ANTHROPIC_BASE_URL", messages.url()).env("PLANWRIGHT_PROVIDER", "anthropic");
    check(program.env("MY_KEY", "key-of-the-file").args(["run", SUM]), "", 3);
    assert!(messages.seen()[0].target.ends_with("/messages"));
    program = home.program();
    check(program.env("PLANWRIGHT_PROVIDER", "open").args(["run", SUM]), "", 2)
        .complains(&["PLANWRIGHT_PROVIDER: expected openai, anthropic or responses, found \"open\""]);

    let count = file.count();
    home.check(&["run", "--offline", SUM], 0).complains(&["the offline model"]);
    assert_eq!(file.count(), count);
}

#[test]
fn server_that_cannot_be_reached_as_it_is_set_up_is_said_at_once() {
    let home = Home::new();
    home.check(&["run", "--base-url", " ", "--model", "m", SUM], 2)
        .complains(&["--base-url: expected an address"]);
    let args = ["run", "--base-url", "http://model.example/v1", "--model", "m", SUM];
    let proxy = Server::answering([Answer::error(407, "who are you?")]);
    let place = format!("the proxy 127.0.0.1:{}", proxy.port());
    let behind = |address: String| check(home.program().env("HTTP_PROXY", address).args(args), "", 3);
    let hint = "hint: check the name and password of the proxy in HTTPS_PROXY";
    behind(proxy.origin()).complains(&[&place, "proxy", "407", hint]);
    assert_eq!(proxy.count(), 1);
    let args = ["run", "--base-url", "https://model.example/v1", "--model", "m", SUM];
    let said = check(home.program().env("HTTPS_PROXY", proxy.origin()).args(args), "", 3);
    said.complains(&[&place, "proxy", "407", hint]);
    let port = DeadPort::new();
    let place = format!("the proxy 127.0.0.1:{}", port.number());
    let said = behind(format!("http://127.0.0.1:{}", port.number()));
    assert!(!said.complains(&[&place, "refused"]).stderr.contains("tried"));
    let args = ["run", "--base-url", "https://127.0.0.1:1/v1", "--model", "m", SUM];
    check(home.program().env("SSL_CERT_FILE", "/없다.pem").args(args), "", 2)
        .complains(&["error: SSL_CERT_FILE: /없다.pem: "]);
    // A proxy that does not read is never passed over.
    for name in ["HTTP_PROXY", "https_proxy", "ALL_PROXY"] {
        for address in [
            "ftp://p.example:1",
            "한글",
            "::bad::",
            "http://p.example:99999",
            "socks5://p.example",
            "http://a b:hunter2@c",
        ] {
            let said = check(home.program().env(name, address).args(args), "", 2);
            said.complains(&[&format!("error: {name}: expected the address of a proxy")]);
            assert!(!said.stderr.contains("hunter2"), "{}", said.stderr);
        }
    }
}

#[test]
fn further_headers_come_from_the_variables_that_the_file_names() {
    let (home, server) = (Home::new(), talkative());
    let text = format!("base_url = '{}'\nmodel = 'm'\n[headers]\napi-key = 'AZURE'\n", server.url());
    home.write("config/planwright/config.toml", &text);
    home.check(&["run", SUM], 2).complains(&["AZURE, named by api-key, is not set"]);
    check(home.program().env("AZURE", "azure-0123456789").args(["run", SUM]), "", 0);
    assert_eq!(server.seen()[0].header("api-key"), Some("azure-0123456789"));

    // A server for embeddings has its own.
    let embedder = Server::answering([Answer::error(400, "no")]);
    let text = format!(
        "[embeddings]\nbase_url = '{}'\nmodel = 'e'\n[embeddings.headers]\napi-key = 'TEAM'\n",
        embedder.url()
    );
    home.write("config/planwright/config.toml", &text);
    let ask = ["run", "--agent", "evaluate-loop", "비밀유지 의무는 얼마나 가나?"];
    home.check(&ask, 2).complains(&["TEAM, named by api-key, is not set"]);
    // What was found does not answer it, and the answer says so.
    check(home.program().env("TEAM", "team-0123456789").args(ask), "", 1);
    assert_eq!(embedder.seen()[0].header("api-key"), Some("team-0123456789"));
}

/// A home whose server is not there, and is tried once.
fn unreachable() -> (Home, DeadPort) {
    let (home, port) = (Home::new(), DeadPort::new());
    let base_url = format!("base_url = 'http://127.0.0.1:{}/v1'", port.number());
    home.write("config/planwright/config.toml", &format!("{base_url}\nmodel = 'm'\nmax_tries = 1\n"));
    (home, port)
}

#[test]
fn journaled_or_recorded_run_goes_on_after_an_interruption_and_another_is_told_how_it_would() {
    let (home, _port) = unreachable();
    let said = home.check(&["run", "--json", "--journal", "run.jsonl", SUM], 3);
    let object = said.json();
    assert_eq!(object["interrupted"]["effect"], "plan.1.1");
    assert_eq!(object["interrupted"]["cause"], "connection");
    assert_eq!(object["answer"], Value::Null);
    said.complains(&["planwright resume run.jsonl  goes on"]);

    home.check(&["resume", "run.jsonl"], 3).complains(&["planwright resume run.jsonl  goes on"]);
    home.check(&["resume", "--offline", "run.jsonl"], 0).prints(&["300840"]);

    let (home, _port) = unreachable();
    let said = home.check(&["run", "--record", "run.json", SUM], 3);
    assert_eq!(said.stdout, "");
    said.complains(&["`planwright run --record run.json` with the same question goes on"]);
    let said = home.check(&["replay", "run.json"], 0);
    let why = "the recording ends here, unfinished: connection: ";
    said.prints(&[&format!("unfinished  run.json: {why}"), "1 fixture: 0 ok, 1 unfinished\n"]);
    home.check(&["replay", "--strict", "run.json"], 1);
    home.check(&["run", "--replay", "run.json"], 3).complains(&[why]);
    let args = ["run", "--offline", "--record", "run.json", SUM];
    assert!(home.check(&args, 0).stdout.contains("300840"));
    assert!(home.check(&["replay", "run.json"], 0).stdout.contains("1 ok"));

    // Typed again, it goes on under the configured agent as it is now, which the fixture names.
    let (home, _port) = unreachable();
    let config = std::fs::read_to_string(home.path("config/planwright/config.toml")).unwrap();
    home.write("config/planwright/config.toml", &format!("{config}agent = './mine.toml'\n"));
    let spec = home.check(&["agents", "show", "validated"], 0).stdout.replace("\"validated\"", "\"mine\"");
    home.write("config/planwright/mine.toml", &spec);
    home.check(&["run", "--record", "run.json", SUM], 3);
    home.write("config/planwright/mine.toml", &spec.replace("max_replans = 2", "max_replans = 1"));
    home.check(&["run", "--offline", "--record", "run.json", SUM], 0);
    let went_on = Fixture::load(home.path("run.json")).unwrap();
    assert_eq!((&*went_on.spec.name, went_on.spec.limits.max_replans), ("mine", 1));
}

/// The journals of runs that are kept until they have ended.
fn spooled(home: &Home) -> Vec<std::path::PathBuf> {
    let found = std::fs::read_dir(home.path("state/planwright/runs"));
    found.into_iter().flatten().map(|file| file.unwrap().path()).collect()
}

#[test]
fn run_that_nobody_asked_to_keep_can_go_on_after_an_interruption_and_leaves_nothing_at_its_end() {
    let (home, _port) = unreachable();
    let said = home.check(&["run", SUM], 3);
    let kept = spooled(&home);
    let command = format!("planwright resume {}", kept[0].display());
    said.complains(&["connection: ", &format!("{command}  goes on where it stopped")]);
    let path = kept[0].to_str().unwrap();
    assert!(home.check(&["resume", "--offline", path], 0).stdout.contains("300840"));
    assert_eq!(spooled(&home).len(), 0, "what has ended is not kept");

    // A question to a person can be answered later.
    let home = Home::new();
    let question = "Compare 3 and 4, and ask me before you conclude.";
    let said = home.check(&["run", "--agent", "supervised", question], 5);
    said.complains(&[&format!("planwright resume {} --token ", spooled(&home)[0].display())]);
    let journal = home.check(&["run", "--json", SUM], 0).json()["journal"].clone();
    assert_eq!((journal, spooled(&home).len()), (serde_json::Value::Null, 1));

    // Where no journal can be made the run goes on without.
    let home = Home::new();
    home.write("state", "a file where the folder would be");
    assert!(home.check(&["run", SUM], 0).stdout.contains("300840"));
}

#[test]
fn one_document_is_searched_by_its_name_and_what_is_not_read_is_counted_by_its_kind() {
    let home = Home::new();
    home.write("notes/보일러.md", "# 보일러\n보일러는 5월 3일에 점검했다.\n");
    home.write("notes/refunds.txt", "");
    let latin = b"La chaudi\xe8re a \xe9t\xe9 r\xe9vis\xe9e par M\xfcller le 3 mai.\n";
    std::fs::write(home.path("notes/refunds.txt"), latin).unwrap();
    for name in ["a.pdf", "b.PDF", "c.docx", "LICENSE"] {
        home.write(&format!("notes/{name}"), "");
    }
    let korean = b"\xc8\xaf\xba\xd2\xc0\xba \xbb\xef\xbd\xca\xc0\xcf \xbe\xc8\xbf\xa1 \xbd\xc5\xc3\xbb\xc7\xd1\xb4\xd9.";
    std::fs::write(home.path("notes/euc-kr.txt"), korean).unwrap();
    let said = home.check(&["run", "--docs", "notes", "la chaudière par Müller?"], 0);
    said.prints(&["chaudière a été révisée par Müller"]).complains(&[
        "not searched: 2 .pdf, 1 .docx, 1 without an ending (documents are .md ",
        "not searched: euc-kr.txt: expected a text in UTF-8, UTF-16 or Latin-1, found another encoding",
    ]);
    let said = home.check(&["run", "--docs", "notes/보일러.md", "보일러는 언제 점검했나?"], 0);
    said.prints(&["5월 3일", "[1] 보일러.md#보일러"]);
    assert!(!said.stderr.contains("not searched"), "{}", said.stderr);
    home.refuses(
        &["run", "--docs", "notes/a.pdf", "q"],
        &["a.pdf: expected documents (.md", "not searched: 1 .pdf"],
    );
}

#[test]
fn sums_that_are_not_read_are_declined_with_what_is_not_read() {
    let home = Home::new();
    home.check(&["run", "13 divided by 4 plus nine"], 0).prints(&["13 / 4 + 9 = 12.25"]);
    for question in
        ["(12/4+9)*3 - 7%2?", "7 % 2", "What is 7 mod 2?", "10 plus thirty", "What is twenty-one plus 4?"]
    {
        let said = home.check(&["run", question], 1);
        said.complains(&["`%` or `mod` between numbers and numbers above twenty in words are not read"]);
        assert!(said.stdout.starts_with("I cannot read this as an expression"), "{question}");
    }
    home.check(&["run", "What is 7% of 200?"], 0).prints(&["14"]);
    home.check(&["run", "twenty plus 4"], 0).prints(&["24"]);
}

#[test]
fn write_whose_time_ran_out_is_in_doubt_at_once() {
    let home = Home::new();
    let plan = r#"{"goal": "pay", "steps": [{"tool": "search", "input": "pay bob"}, {"tool": "final_answer", "input": "say it"}]}"#;
    let model = Server::answering([Answer::reply(plan)]);
    let (answer, waits) = std::sync::mpsc::channel::<()>();
    let waits = std::sync::Mutex::new(waits);
    let bank = Server::start(move |_, _| {
        // It answers when nobody listens any longer.
        let _ = waits.lock().unwrap().recv();
        Answer::reply("paid")
    });
    home.write(
        "config/planwright/config.toml",
        &format!(
            "base_url = '{}'\nmodel = 'm'\nsearch_url = 'http://127.0.0.1:{}/search'\n",
            model.url(),
            bank.port()
        ),
    );
    home.write("pay.toml", PAYS);
    for kept in [["--thread", "송금"], ["--journal", "run.jsonl"]] {
        // The tool has a clock of its own, and where it is the first to say so, the call has failed.
        let in_doubt = (0..9).find_map(|_| {
            let _ = std::fs::remove_file(home.path("run.jsonl"));
            let _ = home.program().args(["threads", "delete", "--yes", "송금"]).output();
            let mut program = home.program();
            program.env("TAVILY_API_KEY", "tvly-0123456789");
            let ran =
                program.args(["run", "--json", "--agent", "./pay.toml"]).args(kept).arg("pay?").output();
            let ran = ran.unwrap();
            let said = String::from_utf8_lossy(&ran.stderr).into_owned();
            assert_ne!(ran.status.code(), Some(3), "{said}");
            let object: Value = serde_json::from_slice(&ran.stdout).unwrap();
            (ran.status.code() == Some(4)).then_some((object["in_doubt"].clone(), said))
        });
        let (in_doubt, said) = in_doubt.expect("the run's clock is first now and then");
        assert_eq!(in_doubt["tool"], "search");
        let token = in_doubt["token"].as_str().unwrap();
        assert!(said.contains(&format!("--token {token} --did-not-happen")), "{said}");
    }
    drop(answer);
}

/// An agent with a tool that may not be called twice, and a second for it.
pub const PAYS: &str = r#"
name = "pays"
description = "Pays."
[policy]
validate = "off"
[policy.plan]
min_steps = 1
max_steps = 6
final_step = "required"
[[tools]]
name = "search"
description = "pays"
input = { type = "string", minLength = 1 }
effect = "write"
trust = "untrusted"
needs_approval = false
timeout_ms = 1000
max_output_bytes = 4000
[roles.planner]
prompt = "ROLE=planner plan"
[roles.writer]
prompt = "ROLE=writer write"
"#;

#[test]
fn key_is_in_nothing_that_is_printed_or_kept() {
    const KEY: &str = "sk-1234567890abcdef";
    let home = Home::new();
    // A server that repeats the key it was sent, as a reply and as an error.
    let server = Server::start(|_, nth| match nth {
        0 => Answer::reply(&PLAN.replace("say it", KEY)),
        1 => Answer::reply(&GOOD.replace("there is a result", KEY)),
        _ => Answer::error(401, &format!("wrong key {KEY}")),
    });
    let url = server.url();
    let args = ["run", "--json", "--trace", "--base-url", &url, "--model", "m"];
    let kept = ["--journal", "run.jsonl", "--record", "run.json", SUM];
    let said = check(home.program().env("OPENAI_API_KEY", KEY).args(args).args(kept), "", 3);
    let read = |name: &str| std::fs::read_to_string(home.path(name)).unwrap();
    for text in [&said.stdout, &said.stderr, &read("run.jsonl"), &read("run.json")] {
        assert!(text.contains("calc") && !text.contains("1234567890"), "{text}");
    }
    assert_eq!(server.seen()[0].header("authorization"), Some(&*format!("Bearer {KEY}")));
}

#[test]
fn tool_that_nobody_implements_is_an_error_before_anything_is_asked() {
    let home = Home::new();
    let server = talkative();
    let spec = home.check(&["agents", "show", "validated"], 0).stdout;
    let weather = r#"tools = ["calc", {name = "weather", description = "The weather.", effect = "read", timeout_ms = 1000}]"#;
    let tools = spec.lines().find(|line| line.starts_with("tools = ")).unwrap();
    home.write("mine.toml", &spec.replace(tools, weather));
    let args = ["run", "--agent", "mine.toml", "--base-url", &server.url(), "--model", "m"];
    check(home.program().args(args).args(["--journal", "run.jsonl", SUM]), "", 2)
        .complains(&["tools that this program does not have: weather"]);
    assert_eq!(server.count(), 0);
    assert!(!home.path("run.jsonl").exists());
    let said = check(home.program().args(args).args(["--tools", "calc", SUM]), "", 0);
    assert_eq!(said.stdout, "It is 300840.\n");
}
