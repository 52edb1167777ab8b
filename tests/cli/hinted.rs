//! What is hinted is enough: a command that the program names does what it says, with the settings it was given.

use serde_json::Value;

use crate::cli_support::{Home, Said, check};
use crate::support::{Answer, Server};
use crate::world::{GOOD, PLAN, SUM};

/// The hinted command that does this, without the program's name.
#[track_caller]
fn hinted(said: &Said, does: &str) -> Vec<String> {
    let before = said.stderr.split(does).next().filter(|before| before.len() < said.stderr.len());
    let before = before.unwrap_or_else(|| panic!("expected {does:?} in:\n{}", said.stderr));
    let command = before.rsplit("planwright ").next().unwrap();
    command.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn hinted_command_names_the_model_the_documents_and_the_settings_that_were_typed() {
    let home = Home::new();
    home.write("설정.toml", "agent = 'validated'\n");
    home.write("문서/a.md", "# A\nalpha\n");
    for (place, does) in [
        (&["--journal", "run.jsonl"][..], "  goes on where it stopped"),
        (&["--thread", "달력", "--store", "s.db"], "  goes on where it stopped"),
        (&[], "  goes on where it stopped"),
        (&["--record", "run.json"], "` with the same"),
    ] {
        let replies = [PLAN, GOOD, "It is 300840."].map(Answer::reply);
        let server = Server::answering([Answer::error(401, "no")].into_iter().chain(replies));
        let url = server.url();
        let settings = [
            "--base-url",
            &url,
            "--model",
            "m",
            "--docs",
            "문서",
            "--config",
            "설정.toml",
            "--tools",
            "calc",
        ];
        let said = home.check(&[&["run"][..], &settings, place, &[SUM]].concat(), 3);
        let mut command = hinted(&said, does);
        if place.contains(&"--record") {
            command.push(SUM.to_owned());
        }
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        home.check(&command, 0).prints(&["It is 300840."]);
        assert_eq!(server.count(), 4, "{command:?}");
    }
}

#[test]
fn hinted_command_repeats_no_password_of_an_address() {
    let server = Server::answering([Answer::error(401, "no")]);
    let url = server.url().replace("http://", "http://me:hunter22@");
    let said = Home::new().program().args(["run", "--base-url", &url, "--model", "m", SUM]).output().unwrap();
    let stderr = String::from_utf8(said.stderr).unwrap();
    assert!(!stderr.contains("hunter22"), "{stderr}");
    // Without the address the command would ask another server, with the key.
    let home = Home::new();
    let url = format!("{}?api-version=1", server.url());
    let said = home.check(&["run", "--base-url", &url, "--model", "m", SUM], 3);
    let command = hinted(&said, "  goes on where it stopped");
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    assert!(command.ends_with(&["--base-url", "URL"]), "{command:?}");
    let mut program = home.program();
    check(program.env("OPENAI_API_KEY", "sk-0123456789").args(command), "", 2).complains(&["\"URL\""]);
}

#[test]
fn recording_that_was_interrupted_does_not_go_on_with_another_model_unawares() {
    let home = Home::new();
    let server = Server::answering([Answer::reply(PLAN), Answer::error(401, "no")]);
    let set_model = |model: &str| {
        let text = format!("base_url = '{}'\nmodel = '{model}'\n", server.url());
        home.write("config/planwright/config.toml", &text);
    };
    set_model("first");
    let run = ["run", "--record", "run.json", "--journal", "run.jsonl", SUM];
    let said = home.check(&run, 3);
    said.complains(&[
        "planwright resume run.jsonl  goes on",
        "`planwright run --record run.json` with the same",
    ]);
    set_model("second");
    let before = std::fs::read(home.path("run.json")).unwrap();
    home.refuses(
        &["run", "--record", "run.json", SUM],
        &[
            "the recording began with the model \"first\", and now \"second\" would answer",
            "--record-mode all",
        ],
    );
    assert_eq!(std::fs::read(home.path("run.json")).unwrap(), before);
    home.check(&["run", "--record", "run.json", "--offline", SUM], 0).prints(&["300840"]);
    let whole: Value = serde_json::from_slice(&std::fs::read(home.path("run.json")).unwrap()).unwrap();
    assert_eq!(whole.get("model"), None, "a whole recording replays without one");
}

#[test]
fn hint_names_no_folder_where_one_is_searched() {
    let home = Home::new();
    home.write("notes/a.md", "# Giraffe\nThe giraffe password is sandpit.\n");
    let said = home.check(&["run", "--docs", "notes", "What is the zebra password?"], 1);
    said.complains(&["hint: ask in other words\n"]);
    home.check(&["run", "What is the zebra password?"], 1).complains(&["--docs DIR"]);
    let said = home.check(&["run", "--docs", "notes", "--agent", "supervised", "a report on giraffes"], 0);
    said.complains(&["--docs is not used: the agent supervised has no tool that searches documents"]);
    home.write("c.md", "# 제1조 (목적)\n본문\n");
    home.check(&["run", "--contract", "c.md", "2+2"], 0)
        .complains(&["--contract is not used: the agent validated has no tool that reads one"]);
    home.refuses(&["run", "--contract", "none.md", "2+2"], &["none.md: expected a contract in a file"]);
}
