//! Bad input: the program ends with 2 and says what to do. Keys are never repeated.

use std::process::Stdio;

use crate::cli_support::{Home, check};
use crate::support::{Answer, Server};
use crate::world::{PLAN, SUM};

#[test]
fn wrong_usage_is_explained_and_help_shows_examples_and_exit_codes() {
    let home = Home::new();
    home.refuses(&["run"], &["<QUESTION>", "--help"]);
    home.refuses(&["run", " "], &["the question is empty", "hint: planwright run"]);
    home.refuses(&["run", "--offline", "--model", "m", "q"], &["--offline", "--model"]);
    home.refuses(&["run", "--record-mode", "all", "q"], &["--record <FILE>"]);
    home.refuses(&["run", "--replay", "a", "--record", "b"], &["cannot be used with"]);
    home.refuses(&["walk"], &["walk"]);
    home.refuses(&["replay"], &["FILE|DIR"]);
    check(home.program().args(["run", "-"]), "\n", 2).complains(&["the question is empty"]);

    home.check(&["--help"], 0).prints(&[
        "Examples:",
        "planwright run --docs ./notes",
        "Exit codes:",
        "    3  interrupted",
        "  130  cancelled",
    ]);
    home.check(&["run", "--help"], 0).prints(&["Exit codes:", "PLANWRIGHT_CONFIG", "--record-mode"]);
}

#[test]
fn agent_spec_or_tool_that_cannot_be_used_is_refused_with_the_known_ones() {
    let home = Home::new();
    home.refuses(
        &["run", "--agent", "cook", "q"],
        &["no agent is called \"cook\"", "plan-then-execute, validated"],
    );
    home.refuses(&["agents", "show", "cook"], &["validated"]);
    home.refuses(&["run", "--agent", "validate", "q"], &["hint: did you mean validated? "]);
    let never = ["limits.max_iterations: never read"];
    home.refuses(&["run", "--max-iterations", "2", "q"], &never);
    home.check(&["run", "--agent", "react", "--max-iterations", "2", "12/4+9?"], 0).prints(&["12"]);
    home.write("mine", "");
    home.refuses(&["verify", "--agent", "mine"], &["for the file, write ./mine"]);
    home.refuses(&["run", "--agent", "./mine.toml", "q"], &["./mine.toml: cannot be read", "caused by: "]);
    home.write("mine.toml", "name = 'mine'\ncolour = 'red'\n");
    home.refuses(&["run", "--agent", "mine.toml", "q"], &["mine.toml: spec: ", "line 2", "colour"]);
    let spec = planwright::agents::source("validated").unwrap();
    home.write("mine.toml", &spec.replace("max_steps = 6", "max_steps = 0"));
    home.refuses(&["agents", "show", "mine.toml"], &["mine.toml: policy.plan.max_steps"]);
    let known = ["no tool \"hammer\"", "it has docs, wiki, search, lookup, calc"];
    home.refuses(&["run", "--tools", "calc,hammer", "q"], &known);
    home.refuses(&["run", "--docs", "nowhere", "q"], &["nowhere: expected a folder of documents"]);
    home.refuses(&["resume", "--edit", "a", "--respond", "x", "run.jsonl"], &["cannot be used with"]);
    home.refuses(&["run", "--tools", "search", "q"], &["TAVILY_API_KEY is not set"]);
}

#[test]
fn model_settings_that_lack_something_are_explained() {
    let home = Home::new();
    let name_one = "name one with --model NAME or PLANWRIGHT_MODEL";
    let (nothing, key) = (("NOTHING", ""), "sk-1234567890");
    for ((name, value), args, expect) in [
        (
            ("OPENAI_API_KEY", key),
            &[][..],
            &["no model is named for https://api.openai.com/v1", name_one][..],
        ),
        (
            ("OPENAI_BASE_URL", "http://u:sk-1234567890@localhost:1/v1?k=sk-1234567890"),
            &[],
            &["for the server http://localhost:1/v1", name_one],
        ),
        (("PLANWRIGHT_MODEL", "m"), &[], &["no key and no server", "OPENAI_API_KEY", "--offline"]),
        (
            nothing,
            &["--model", "m", "--api-key-env", "MY_KEY"],
            &["the environment variable MY_KEY", "is not set"],
        ),
        (nothing, &["--model", "m", "--api-key-env", key], &["expected the name of an environment variable"]),
        (
            nothing,
            &["--model", "m", "--api-key-env", "sk_1234567890"],
            &["named by --api-key-env is not set"],
        ),
    ] {
        let said = check(home.program().env(name, value).arg("run").args(args).arg("q"), "", 2);
        said.complains(expect);
        assert!(!said.stderr.contains(key), "{}", said.stderr);
    }
}

#[test]
fn configuration_file_is_refused_with_its_line_and_never_quoted() {
    let home = Home::new();
    let path = "config/planwright/config.toml";
    home.write(path, "model = 'm'\napi_key = 'sk-1234567890'\n");
    home.refuses(&["run", "q"], &["config.toml:2:11: `api_key` is refused", "api_key_env"]);
    home.write(path, "model = 'm'\n\napikey = 'sk-1234567890'\n");
    home.refuses(&["run", "q"], &["config.toml:3:1: unknown field `apikey`"]);
    assert!(!home.check(&["run", "q"], 2).stderr.contains("sk-1234567890"));
    home.write(path, "api_key_env = 'sk-1234567890'\n");
    home.refuses(&["run", "q"], &["never the key itself"]);
    assert!(!home.check(&["run", "q"], 2).stderr.contains("sk-1234567890"));
    home.refuses(&["run", "--config", "none.toml", "q"], &["none.toml: cannot be read"]);
}

#[test]
fn settings_of_the_configuration_file_are_read_strictly_and_its_paths_from_its_folder() {
    let home = Home::new();
    let path = "config/planwright/config.toml";
    home.write(path, "currency = 'KRW'\n[prices.'m/1']\ninput = 1\noutput = '2.5'\n[cache]\nfolder = 'kept'\nentries = 10\nbytes = 1000\n");
    home.check(&["run", "--quiet", "--no-cache", "12/4+9?"], 0);
    home.check(&["run", "--quiet", "12/4+9?"], 0);
    for (text, problem) in [
        ("[cache]\nfolders = 'kept'\n", "config.toml:2:1: unknown field `folders`"),
        ("[prices.m]\ninput = 1\n", "missing field `output`"),
        ("docs = 'notes'\n", "config/planwright/notes: expected a folder of documents"),
    ] {
        home.write(path, text);
        home.refuses(&["run", "q"], &[problem]);
    }
}

#[test]
fn setting_that_could_not_work_is_refused_before_anything_is_asked() {
    let home = Home::new();
    for setting in ["call_timeout_seconds", "connect_timeout_seconds", "idle_timeout_seconds", "max_tries"] {
        home.write("config/planwright/config.toml", &format!("{setting} = 0\n"));
        home.refuses(&["run", "q"], &["config.toml:1:", "expected a nonzero"]);
    }
    home.write("config/planwright/config.toml", "");
    let idle = "PLANWRIGHT_IDLE_TIMEOUT_SECONDS";
    for wrong in ["0", "soon", "-1"] {
        let said = check(home.program().env(idle, wrong).args(["run", "q"]), "", 2);
        said.complains(&[&format!("{idle}: expected a whole number of seconds, found {wrong:?}")]);
    }
}

#[test]
fn what_is_no_journal_or_has_no_turns_is_said_to_be_that() {
    let home = Home::new();
    home.write("notes.txt", "bought milk");
    home.refuses(&["resume", "notes.txt"], &["notes.txt: line 1: ", "this is no journal"]);
    home.fixture("run.json");
    home.refuses(&["trace", "run.json", "--turn", "2"], &["--turn <N>", "cannot be used with"]);
}

#[test]
fn run_stops_where_the_reader_of_its_events_has_gone_away() {
    let home = Home::new();
    let (server, was_asked, answer_now) = Server::pausing(Answer::reply(PLAN));
    let mut program = home.program();
    program.args(["run", "--events", "--base-url", &server.url(), "--model", "m", SUM]);
    let mut child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    was_asked.recv().unwrap();
    drop(child.stdout.take());
    answer_now.send(()).unwrap();
    let ended = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert_eq!((ended.status.code(), server.count()), (Some(130), 1), "{stderr}");
    assert!(stderr.contains("goes on where it stopped"), "{stderr}");
}

#[test]
fn named_configuration_file_stands_in_for_the_usual_one() {
    let home = Home::new();
    home.write("config/planwright/config.toml", "agent = 'usual'\n");
    home.write("other.toml", "agent = 'other'\n");
    home.write("third.toml", "agent = 'third'\n");
    home.refuses(&["run", "q"], &["\"usual\""]);
    let named = |args: &[&str]| {
        let mut program = home.program();
        check(program.env("PLANWRIGHT_CONFIG", "other.toml").arg("run").args(args).arg("q"), "", 2).stderr
    };
    assert!(named(&[]).contains("\"other\""));
    assert!(named(&["--config", "third.toml"]).contains("\"third\""));
    assert!(named(&["--agent", "flag"]).contains("\"flag\""));
}

#[test]
fn existing_file_is_never_overwritten_by_a_journal() {
    let home = Home::new();
    home.fixture("run.json");
    home.write("run.jsonl", "mine");
    let args = ["run", "--record", "run.json", "--journal", "run.jsonl", crate::cli_support::QUESTION];
    home.refuses(&args, &["run.jsonl: there is a file already", "planwright resume run.jsonl"]);
    assert_eq!(std::fs::read_to_string(home.path("run.jsonl")).unwrap(), "mine");
}

#[test]
fn agents_are_listed_and_shown() {
    let home = Home::new();
    home.check(&["agents"], 0)
        .prints(&["validated (default)  PLAN EXECUTE VALIDATE WRITE, at most 2 replans"]);
    let said = home.check(&["agents", "--json"], 0);
    let list: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(list[1]["name"], "validated");
    // What is shown can be saved, changed and run.
    let said = home.check(&["agents", "show", "validated"], 0);
    home.write("mine.toml", &said.stdout);
    let said = home.check(&["agents", "show", "--json", "mine.toml"], 0);
    let spec: planwright::spec::Spec = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(spec, planwright::agents::shipped("validated").unwrap());
}

#[test]
fn hint_of_a_store_that_cannot_be_opened_is_about_what_is_wrong() {
    let home = Home::new();
    home.write("notes.db", &"no database ".repeat(100));
    let list = ["threads", "list", "--store", "notes.db"];
    home.refuses(&list, &["no database", "hint: name another store with --store PATH"]);
    let path = home.path("data/planwright/threads.db");
    drop(crate::cli_support::store::store(&home));
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute_batch("DROP TABLE record").unwrap();
    let said = home.check(&["threads", "list"], 2);
    said.complains(&["its tables are not as this version makes them", "hint: `planwright threads check`"]);
    assert!(!said.stderr.contains("--store"), "{}", said.stderr);
}

/// The words of all commands, by their help.
fn commands(home: &Home, above: &[&str]) -> Vec<Vec<String>> {
    let help = home.check(&[above, &["--help"]].concat(), 0).stdout;
    let listed =
        help.split("Commands:\n").nth(1).unwrap_or_default().split("\n\n").next().unwrap_or_default();
    let names = listed.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let below = names.filter(|name| !name.is_empty() && *name != "help").flat_map(|name| {
        let words = [above, &[name]].concat();
        [vec![words.iter().map(|word| (*word).to_owned()).collect()], commands(home, &words)].concat()
    });
    below.collect()
}

#[test]
fn help_is_wrapped_once_at_any_width() {
    let home = Home::new();
    let all = commands(&home, &[]);
    assert!(all.len() > 25, "{all:?}");
    for words in all {
        for columns in [60, 80, 120] {
            let mut program = home.program();
            let help =
                check(program.args(&words).arg("--help").env("COLUMNS", columns.to_string()), "", 0).stdout;
            let lines: Vec<&str> = help.lines().collect();
            let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
            for pair in lines.windows(2).filter(|pair| is_prose(pair[0]) && is_prose(pair[1])) {
                let word = pair[1].split(' ').next().unwrap();
                let would_fit = pair[0].chars().count() + 1 + word.chars().count() <= columns.min(100);
                assert!(!would_fit, "{words:?} at {columns} columns: broken too early: {pair:?}");
            }
        }
    }
}

#[test]
fn shells_and_manuals_are_told_about_every_command() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        home.check(&["completions", shell], 0).prints(&["planwright", "threads", "record-mode"]);
    }
    home.refuses(&["completions", "csh"], &["csh", "bash"]);
    home.check(&["man"], 0).prints(&[".TH planwright 1", "Exit codes:", "planwright\\-run"]);
    home.check(&["man", "threads", "list"], 0).prints(&["planwright\\-threads\\-list", "\\-\\-status"]);
    home.refuses(&["man", "walk"], &["there is no command \"walk\""]);
}
