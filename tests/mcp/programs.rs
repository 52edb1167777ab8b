//! What a program is given, and how it ends.

use std::path::Path;
use std::time::{Duration, Instant};

use planwright::spec::McpServer;
use planwright_http::Network;
use planwright_mcp::Server;

use crate::stage::{call, definition, open, server, server_of};

#[test]
fn a_program_gets_no_variable_that_is_not_listed() {
    let named = call(&open(&server("", None)), "variables").unwrap().text;
    let mut named: Vec<&str> = named.split(' ').collect();
    named.sort_unstable();
    assert_eq!(named, ["HOME", "PATH"]);
}

#[test]
fn a_listed_variable_is_passed_and_its_value_is_a_key() {
    let listed = McpServer { env: vec!["PROBE_TOKEN".to_owned()], ..definition("", None) };
    let find = |name: &str| (name == "PROBE_TOKEN").then(|| "tok-12345678".to_owned());
    let server = std::sync::Arc::new(Server::new("hostile", &listed, &Network::default(), &find).unwrap());
    let tools = open(&server);
    assert_eq!(call(&tools, "token").unwrap().text, "tok-12345678", "the driver takes it out");
    assert_eq!(tools[0].secrets()[0].expose(), "tok-12345678");
    // What the server wrote on standard error stands in the error of its end, without the key.
    let error = call(&tools, "die").unwrap_err();
    assert!(error.message.contains("the token is [redacted]") && !error.message.contains("tok-"), "{error}");
    // Nothing that it lists with a key is pinned or shown.
    let leaks = McpServer { args: vec!["leaks".to_owned()], ..listed.clone() };
    let error = Server::new("hostile", &leaks, &Network::default(), &find).unwrap().list().unwrap_err();
    assert!(
        error.message.contains(r#"tool "echo" holds a key"#) && !error.message.contains("tok-"),
        "{error}"
    );
    let missing = Server::new("hostile", &listed, &Network::default(), &|_| None).err().unwrap();
    assert!(missing.contains("PROBE_TOKEN, named by [mcp.hostile], is not set"), "{missing}");
}

#[test]
fn a_key_that_is_too_short_to_be_hidden_is_refused_and_a_switch_is_none() {
    let listed = |name: &str| McpServer { env: vec![name.to_owned()], ..definition("", None) };
    let open = |name: &str, value: &'static str| {
        Server::new("hostile", &listed(name), &Network::default(), &|_| Some(value.to_owned()))
            .map(|server| server.secrets().len())
    };
    for (value, is_key) in
        [("x", false), ("1234567", false), ("한글", false), ("12345678", true), ("한글한", true)]
    {
        let opened = open("DB_PASSWORD", value);
        assert_eq!(opened.as_ref().ok(), is_key.then_some(&1), "{value}");
        if let Err(error) = opened {
            assert!(error.starts_with("the environment variable DB_PASSWORD, named by [mcp.hostile]: expected a key of at least 8 bytes"), "{error}");
            assert!(!error.contains(value) || value == "x", "{error}");
        }
    }
    assert_eq!(open("TOKENIZERS_PARALLELISM", "False"), Ok(0));
    assert_eq!(open("LANG", "C"), Ok(0), "a variable whose name speaks of no key");
}

#[test]
fn a_program_that_is_not_there_is_said_to_be_so() {
    let absent = McpServer { command: Some("/no/such/server".to_owned()), ..definition("", None) };
    let error = server_of(&absent).list().unwrap_err();
    assert!(error.message.contains("/no/such/server") && !error.may_have_happened(), "{error}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_program_ends_with_us_and_so_does_what_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let server = server("deaf", Some(&pids));
    let tools = open(&server);
    let pids = std::fs::read_to_string(&pids).unwrap();
    let lives = |pid: &str| {
        // A process that nobody has waited for yet has ended all the same.
        let status = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
        status.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
    };
    let pids: Vec<&str> = pids.split(' ').collect();
    assert!(pids.len() == 2 && pids.iter().all(|pid| lives(pid)));
    drop((tools, server));
    let begun = Instant::now();
    while pids.iter().any(|pid| lives(pid)) {
        assert!(begun.elapsed() < Duration::from_secs(20), "{pids:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
