//! What becomes of MCP servers, and of calls to them, where planwright is told to end. The servers are small scripts,
//! and one behind an address on loopback.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cli_support::{Home, Said};
use crate::serve::Service;
use crate::support::{Answer, Seen, Server};

/// A server that answers no call, and ends at one where there is a file `dies`. Where there is a file `deaf` it minds neither the end of its input nor SIGTERM, and
/// neither does what it has started; where there is a file `silent`, it does not say which tools it has.
const SCRIPT: &str = r#"
if [ -e deaf ]; then trap '' TERM; sleep 600 & fi
echo "$$ $!" >> pids
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
    printf '%s\n' "$line" >> told
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
        *'"initialize"'*) say '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}}' ;;
        *'"tools/list"'*) [ -e silent ] || say '{"tools":[{"name":"write","description":"Writes.","inputSchema":{"type":"object"}}]}' ;;
        *'"tools/call"'*) [ -e dies ] && exit ;;
    esac
done
wait
"#;

const AGENT: &str = r#"
name = "notes"
tools = ["calc"]
[mcp.notes]
SERVER
[mcp.notes.tool.write]
timeout_ms = 3600000
[policy]
validate = "off"
[roles.planner]
prompt = "Plan."
[roles.writer]
prompt = "Answer."
"#;

pub const PROGRAM: &str = "command = \"sh\"\nargs = [\"server.sh\"]";
pub const WRITE: &str = r#"{"goal": "g", "steps": [{"tool": "notes.write", "input": {}}, {"tool": "final_answer", "input": "a"}]}"#;
const SUM: &str =
    r#"{"goal": "g", "steps": [{"tool": "calc", "input": "6*7"}, {"tool": "final_answer", "input": "a"}]}"#;

/// An agent whose server is pinned, and a model that plans this.
pub fn world(server: &str, plan: &'static str) -> (Home, Server) {
    let model = Server::start(move |seen, _| {
        Answer::reply(if seen.json()["response_format"].to_string().contains("steps") { plan } else { "끝" })
    });
    let home = Home::new();
    home.write("server.sh", SCRIPT);
    home.write("notes.toml", &AGENT.replace("SERVER", server));
    home.write("config/planwright/config.toml", &format!("base_url = \"{}\"\nmodel = \"m\"\n", model.url()));
    home.check(&["mcp", "pin", "--agent", "./notes.toml"], 0);
    for kept in ["pids", "told"] {
        let _ = std::fs::remove_file(home.path(kept));
    }
    (home, model)
}

fn start(home: &Home, args: &[&str]) -> Child {
    let mut program = home.program();
    program.args(args).args(["--agent", "./notes.toml"]);
    program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until this is so; not without an end.
#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[track_caller]
fn until_told(home: &Home, text: &str) {
    let told = || std::fs::read_to_string(home.path("told")).unwrap_or_default();
    until(&format!("the server hears {text}"), || told().contains(text));
}

fn signal(process: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

/// Waits for the end of a process. One that goes on is killed, and fails the test.
#[track_caller]
fn end(mut process: Child) -> Said {
    let begun = Instant::now();
    while process.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(60) {
            process.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let ended = process.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said { code: ended.status.code().unwrap_or(-1), stdout: text(ended.stdout), stderr: text(ended.stderr) }
}

/// Expects that no process of the server is left. A killed one may take a moment; by itself none of them ends in time.
#[track_caller]
fn expect_none_left(home: &Home) {
    let pids = std::fs::read_to_string(home.path("pids")).unwrap();
    let lives = |pid: &str| {
        // A process that nobody has waited for yet has ended all the same.
        let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
    };
    assert!(!pids.is_empty());
    until(&format!("all of {pids:?} end"), || !pids.split_whitespace().any(lives));
}

#[test]
fn a_signal_ends_the_program_of_a_server_that_is_silent_and_deaf() {
    for told in ["-INT", "-TERM"] {
        let (home, _model) = world(PROGRAM, WRITE);
        for kind in ["deaf", "silent"] {
            home.write(kind, "");
        }
        let list = start(&home, &["mcp", "list"]);
        until_told(&home, "tools/list");
        signal(list.id(), told);
        let said = end(list);
        assert_eq!((said.code, &*said.stderr), (130, "planwright: stopped at once\n"));
        expect_none_left(&home);
    }
}

#[test]
fn a_call_under_way_is_cancelled_and_its_server_ended_before_the_program_ends() {
    for (told, twice) in [("-INT", true), ("-TERM", true), ("-TERM", false)] {
        let (home, _model) = world(PROGRAM, WRITE);
        home.write("deaf", "");
        let run = start(&home, &["run", "--journal", "run.jsonl", "q"]);
        until_told(&home, "tools/call");
        signal(run.id(), told);
        // The first waits for a write, for a time. Two signals that meet are one.
        if twice {
            std::thread::sleep(Duration::from_millis(500));
            signal(run.id(), told);
        }
        let said = end(run);
        assert_eq!(said.code, if twice { 130 } else { 4 }, "{}", said.stderr);
        until_told(&home, "notifications/cancelled");
        expect_none_left(&home);
        home.check(&["resume", "run.jsonl", "--mcp", "./notes.toml"], 4)
            .complains(&["in doubt", "notes.write"]);
    }
}

#[test]
fn a_session_is_told_of_cancelled_calls_and_of_its_end() {
    let notes = Server::start(|seen: &Seen, _| {
        if seen.method == "DELETE" {
            return Answer::body(200, "text/plain", "");
        }
        let asked = seen.json();
        let result = match asked["method"].as_str().unwrap_or_default() {
            "initialize" => {
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "n", "version": "1"}})
            }
            "tools/list" => json!({"tools": [{"name": "write", "inputSchema": {"type": "object"}}]}),
            "tools/call" => return Answer::silence(),
            _ => return Answer::body(202, "text/plain", ""),
        };
        Answer::json(200, &json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
            .header("mcp-session-id", "s-1")
    });
    let (home, _model) = world(&format!("url = \"{}/mcp\"", notes.origin()), WRITE);
    let method = |seen: &Seen| match &*seen.method {
        "POST" => seen.json()["method"].as_str().unwrap_or_default().to_owned(),
        method => method.to_owned(),
    };
    let run = start(&home, &["run", "q"]);
    until("the tool is called", || notes.seen().iter().any(|seen| method(seen) == "tools/call"));
    signal(run.id(), "-INT");
    std::thread::sleep(Duration::from_millis(500));
    signal(run.id(), "-INT");
    assert_eq!(end(run).code, 130);
    let seen = notes.seen();
    let last: Vec<String> = seen[seen.len() - 2..].iter().map(method).collect();
    assert_eq!(last, ["notifications/cancelled", "DELETE"]);
    let call = seen.iter().find(|seen| method(seen) == "tools/call").unwrap().json();
    assert_eq!(seen[seen.len() - 2].json()["params"]["requestId"], call["id"]);
}

#[test]
fn a_run_that_calls_no_tool_of_a_silent_server_does_not_need_it() {
    let (home, _model) = world(PROGRAM, SUM);
    for kind in ["deaf", "silent"] {
        home.write(kind, "");
    }
    let said = home.check(&["run", "--agent", "./notes.toml", "q"], 0);
    said.prints(&["끝"]).complains(&["[mcp.notes]: the server is silent so far"]);
    expect_none_left(&home);
}

#[test]
fn a_service_that_is_told_to_stop_leaves_a_write_that_hangs_in_doubt_and_says_so() {
    let (home, _model) = world(PROGRAM, WRITE);
    home.write("deaf", "");
    let service = Service::start(&home, &["--agent", "./notes.toml", "--grace-seconds", "1"]);
    // The description that replies are compared with is there before the service ends.
    service.send("GET", "/healthz", "", &[]);
    let ask = json!({"message": "q", "thread_id": "t"}).to_string();
    let (status, told) = std::thread::scope(|scope| {
        let asked = scope.spawn(|| service.send("POST", "/chat", &ask, &[]));
        until_told(&home, "tools/call");
        signal(service.process.id(), "-TERM");
        asked.join().unwrap()
    });
    assert_eq!((status, &told["type"]), (409, &json!("urn:planwright:write-in-doubt")), "{told}");
    let detail = told["detail"].as_str().unwrap();
    assert!(detail.contains("in doubt: notes.write") && detail.contains("may have happened"), "{told}");
    assert!(told["hint"].as_str().unwrap().starts_with("POST /threads/t/resolve"), "{told}");
    let ended = |pid: u32| !Path::new("/proc").join(pid.to_string()).join("exe").exists();
    until("the service ends", || ended(service.process.id()));
    expect_none_left(&home);
    drop(service);
    let service = Service::start(&home, &["--agent", "./notes.toml"]);
    let turn: Value = service.get("/threads/t", 200)["turns"][0].clone();
    assert_eq!(turn["status"], "in_doubt", "{turn}");
    let calls = std::fs::read_to_string(home.path("told")).unwrap().matches("tools/call").count();
    assert_eq!(calls, 1, "it is not made again by itself");
}
