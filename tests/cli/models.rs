//! Which model a role is asked of, which stands in for it, and what is on record of it. Servers are on loopback.

use serde_json::{Value, json};

use crate::cli_support::{Home, check};
use crate::support::{Answer, DeadPort, Server};
use crate::world::{GOOD, PLAN, SUM};

/// A server of Anthropic's protocol that calls the role's form with this, or says it.
fn messages(replies: &[&str]) -> Server {
    let replies: Vec<String> = replies.iter().map(|reply| (*reply).to_owned()).collect();
    Server::start(move |seen, nth| {
        let reply = &replies[nth.min(replies.len() - 1)];
        let name = &seen.json()["tool_choice"]["name"];
        let block = match name.is_string() {
            true => {
                let input: Value = serde_json::from_str(reply).unwrap();
                json!({"type": "tool_use", "id": "t", "name": name, "input": input})
            }
            false => json!({"type": "text", "text": reply}),
        };
        let usage = json!({"input_tokens": 2, "output_tokens": 1, "cache_creation_input_tokens": 5});
        Answer::json(
            200,
            &json!({"type": "message", "content": [block], "stop_reason": "end_turn", "usage": usage}),
        )
    })
}

fn models(server: &Server) -> Vec<String> {
    server.seen().iter().map(|seen| seen.json()["model"].as_str().unwrap().to_owned()).collect()
}

/// The replies on record: the model of each, and its server.
fn replies(home: &Home, journal: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(home.path(journal)).unwrap();
    // A seal stands before each record.
    let records =
        text.lines().filter_map(|line| serde_json::from_str::<Value>(line.get(line.find('{')?..)?).ok());
    let found = records.filter_map(|record| find_reply(&record).cloned());
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    found.map(|reply| (word(&reply["model"]), word(&reply["server"]))).collect()
}

fn find_reply(value: &Value) -> Option<&Value> {
    match value {
        Value::Object(map) => map.get("reply").or_else(|| map.values().find_map(find_reply)),
        Value::Array(list) => list.iter().find_map(find_reply),
        _ => None,
    }
}

#[test]
fn role_is_asked_of_the_model_that_the_settings_name_with_its_own_key() {
    let (home, usual, planner) = (
        Home::new(),
        Server::answering([Answer::reply(GOOD), Answer::reply("It is 300840.")]),
        messages(&[PLAN]),
    );
    let config = format!(
        "base_url = {:?}\nmodel = \"small\"\n\
         [models.large]\nprovider = \"anthropic\"\nbase_url = {:?}\nmodel = \"claude-x\"\napi_key_env = \"LARGE_KEY\"\n\
         [models.large.request]\nservice_tier = \"auto\"\n\
         [roles.planner]\nmodel = \"large\"\n[roles.writer]\nmodel = \"small-but-eloquent\"\n",
        usual.url(),
        planner.url(),
    );
    home.write("c.toml", &config);
    let mut run = home.program();
    run.env("LARGE_KEY", "sk-ant-4711").env("OPENAI_API_KEY", "sk-oai-4711");
    run.args(["run", "--config", "c.toml", "--journal", "run.jsonl", SUM]);
    let said = check(&mut run, "", 0);
    said.prints(&["300840"]);
    // A model that no table is called by is one of the usual server's.
    assert_eq!(
        (models(&planner), models(&usual)),
        (vec!["claude-x".into()], vec!["small".into(), "small-but-eloquent".into()])
    );
    let asked = &planner.seen()[0];
    assert_eq!(
        (asked.header("x-api-key"), &asked.json()["service_tier"]),
        (Some("sk-ant-4711"), &json!("auto"))
    );
    assert_eq!(usual.seen()[0].header("authorization"), Some("Bearer sk-oai-4711"));
    let named: Vec<String> = replies(&home, "run.jsonl").into_iter().map(|(model, _)| model).collect();
    assert_eq!(named, ["claude-x", "small", "small-but-eloquent"]);
    let kept = std::fs::read_to_string(home.path("run.jsonl")).unwrap();
    assert!(!kept.contains("4711") && kept.contains("\"cache_written_tokens\":5"), "{kept}");
}

#[test]
fn interrupted_model_is_stood_in_for_and_a_replay_needs_neither() {
    let home = Home::new();
    let (busy, dead) = (Server::answering([Answer::error(503, "overloaded")]), DeadPort::new());
    let backup = messages(&[PLAN, GOOD, "It is 300840."]);
    let config = format!(
        "base_url = {:?}\nmodel = \"first\"\nmax_tries = 1\nfallback = [\"nowhere\", \"backup\"]\n\
         [models.nowhere]\nbase_url = \"http://127.0.0.1:{}/v1\"\nmax_tries = 1\n\
         [models.backup]\nprovider = \"anthropic\"\nbase_url = {:?}\nmodel = \"claude-x\"\n",
        busy.url(),
        dead.number(),
        backup.url(),
    );
    home.write("c.toml", &config);
    let run = ["run", "--config", "c.toml", "--journal", "run.jsonl", "--record", "run.json", SUM];
    let said = home.check(&run, 0);
    said.prints(&["300840"]).complains(&["try 2 of 3", "overloaded"]);
    assert_eq!((busy.count(), backup.count()), (3, 3));
    assert_eq!(replies(&home, "run.jsonl"), vec![("claude-x".to_owned(), "backup".to_owned()); 3]);
    // No model is needed any more, not even the configuration.
    drop((busy, backup));
    std::fs::remove_file(home.path("c.toml")).unwrap();
    home.check(&["run", "--replay", "run.json"], 0).prints(&["300840"]);
}

#[test]
fn whole_run_is_answered_by_anthropic_and_keys_of_others_are_not_sent() {
    let (home, server) = (Home::new(), messages(&[PLAN, GOOD, "It is 300840."]));
    let mut run = home.program();
    run.env("ANTHROPIC_API_KEY", "sk-ant-4711").env("OPENAI_API_KEY", "sk-oai-4711");
    run.env("ANTHROPIC_BASE_URL", server.origin());
    check(run.args(["run", "--provider", "anthropic", "--model", "claude-x", SUM]), "", 0)
        .prints(&["300840"]);
    for seen in server.seen() {
        assert_eq!((seen.header("x-api-key"), seen.header("authorization")), (Some("sk-ant-4711"), None));
    }
    // The usual key of a provider goes to its own servers alone.
    let other = messages(&["{}"]);
    home.write("c.toml", &format!("[models.mine]\nprovider = \"anthropic\"\nbase_url = {:?}\n", other.url()));
    let mut run = home.program();
    run.env("ANTHROPIC_API_KEY", "sk-ant-4711");
    check(run.args(["run", "--config", "c.toml", "--model", "mine", SUM]), "", 1);
    assert_eq!(other.seen()[0].header("x-api-key"), None);
    assert_eq!(models(&other)[0], "mine");
    // It goes with the address beside it in the environment, and nowhere while it is another server's.
    let gateway = messages(&["{}"]);
    home.write("c.toml", "[models.mine]\nprovider = \"anthropic\"\n");
    let mut run = home.program();
    run.env("ANTHROPIC_API_KEY", "sk-ant-4711").env("ANTHROPIC_BASE_URL", gateway.origin());
    check(run.args(["run", "--config", "c.toml", "--model", "mine", SUM]), "", 1);
    assert_eq!(gateway.seen()[0].header("x-api-key"), Some("sk-ant-4711"));
    let top = format!("provider = \"anthropic\"\nbase_url = {:?}\n[models.mine]\n", gateway.url());
    home.write("c.toml", &format!("{top}provider = \"anthropic\"\n"));
    let mut run = home.program();
    run.env("ANTHROPIC_API_KEY", "sk-ant-4711");
    let said = check(run.args(["run", "--config", "c.toml", "--model", "mine", SUM]), "", 2);
    said.complains(&["ANTHROPIC_API_KEY is the key of http://127.0.0.1", "name `base_url` in the table"]);
}

#[test]
fn models_of_one_name_keep_their_replies_apart_and_so_do_requests_with_other_members() {
    let home = Home::new();
    let spec = planwright::agents::source("validated").unwrap();
    home.write("mine.toml", &spec.replace("[policy]\n", "[policy]\nenable_cache = true\n"));
    let talkative =
        || Server::answering([Answer::reply(PLAN), Answer::reply(GOOD), Answer::reply("It is 300840.")]);
    let (first, second) = (talkative(), messages(&[PLAN, GOOD, "It is 300840."].repeat(2)));
    let config = format!(
        "[cache]\nfolder = \"kept\"\n[models.a]\nmodel = \"m\"\nbase_url = {:?}\n\
         [models.b]\nmodel = \"m\"\nprovider = \"anthropic\"\nbase_url = {:?}\n",
        first.url(),
        second.url(),
    );
    home.write("c.toml", &config);
    let run = |model: &str| {
        home.check(&["run", "--agent", "./mine.toml", "--config", "c.toml", "--model", model, SUM], 0);
        (first.count(), second.count())
    };
    assert_eq!([run("a"), run("a"), run("b"), run("b")], [(3, 0), (3, 0), (3, 3), (3, 3)]);
    home.write("c.toml", &format!("{config}[models.b.request]\nservice_tier = \"auto\"\n"));
    assert_eq!([run("b"), run("b"), run("a")], [(3, 6), (3, 6), (3, 6)]);
}

#[test]
fn what_the_settings_say_of_models_is_checked_before_anything_runs() {
    let home = Home::new();
    let refuses = |config: &str, texts: &[&str]| {
        home.write("c.toml", config);
        home.refuses(&["run", "--config", "c.toml", SUM], texts);
    };
    refuses("fallback = [\"b\"]", &["`fallback` of the configuration file: there is no [models.b]"]);
    refuses("[models.a]\nfallback = [\"b\"]", &["`fallback` of [models.a]: there is no [models.b]"]);
    refuses(
        "[models.a]\napi_key_env = \"NO_KEY\"",
        &["NO_KEY, named by `api_key_env` of [models.a], is not set"],
    );
    // Flags say nothing of a table, and a server of another protocol has no embeddings.
    for flag in [["--provider", "anthropic"], ["--api-key-env", "OTHER"]] {
        home.write("c.toml", "[models.a]\nbase_url = \"http://127.0.0.1:1/v1\"\n");
        let args = ["run", "--config", "c.toml", "--model", "a", flag[0], flag[1], SUM];
        home.refuses(&args, &[flag[0], "[models.a] of the configuration file says it already"]);
    }
    refuses(
        "provider = \"anthropic\"\nbase_url = \"http://127.0.0.1:1\"\nmodel = \"m\"\n[embeddings]\nmodel = \"e\"",
        &["[embeddings] names a model and no server that has embeddings", "add base_url"],
    );
    refuses("[models.a]\nprovider = \"acme\"", &["acme", "openai", "anthropic", "responses"]);
    refuses("[roles.poet]\nmodel = \"a\"", &["poet", "planner"]);
    refuses("[models.a]\napi_key = \"sk-1\"", &["api_key"]);
    refuses(
        "base_url = \"http://127.0.0.1:1\"\nmodel = \"m\"\n[request]\nmodel = \"z\"",
        &["[request]", "no `model`"],
    );
    refuses("[models.a.request]\nstream = false", &["[models.a.request]: expected no `stream`"]);
    let usual = "base_url = \"http://127.0.0.1:1\"\nmodel = \"m\"\n";
    refuses(
        &format!("{usual}[models.a]\nbase_url = \"x y 한글\""),
        &["[models.a]: expected an address such as"],
    );
    refuses(
        &format!("proxy = \"ftp://p.example\"\n{usual}"),
        &["proxy: expected the address of a proxy", "ftp://p.example"],
    );
    refuses(&format!("ca_file = \"nowhere.pem\"\n{usual}"), &["error: ca_file: ", "nowhere.pem"]);
}

#[test]
fn a_hint_names_the_variable_and_the_setting_of_the_server_that_did_not_answer() {
    // The number is not the status of a proxy that wants a name.
    let (home, server) = (Home::new(), Server::answering([Answer::error(401, "who are you, 407?")]));
    let page = Server::answering([Answer::body(200, "text/html", "<html>hello</html>")]);
    let (url, table) = (server.url(), "[models.h]\nprovider = \"anthropic\"\n");
    let config = |more: &str| format!("max_tries = 1\n{table}base_url = {url:?}\n{more}");
    for (config, args, hint) in [
        (
            String::new(),
            vec!["--provider", "anthropic", "--model", "m"],
            "the key in ANTHROPIC_API_KEY, or name",
        ),
        ("api_key_env = \"MY_KEY\"\n".to_owned(), vec!["--model", "m"], "the key in MY_KEY, or name"),
        (config("api_key_env = \"H_KEY\"\n"), vec!["--model", "h"], "hint: check the key in H_KEY; "),
        (config(""), vec!["--model", "h"], "the variable of its key in `api_key_env` of [models.h]; "),
    ] {
        home.write("c.toml", &config);
        let mut run = home.program();
        run.args(["run", "--config", "c.toml"]).args(&args);
        if args.last() != Some(&"h") {
            run.args(["--base-url", &url]);
        }
        run.envs([("MY_KEY", "key-0123456"), ("H_KEY", "key-0123456"), ("ANTHROPIC_API_KEY", "key-0123456")]);
        check(run.arg(SUM), "", 3).complains(&[hint]);
    }
    home.write("c.toml", &format!("max_tries = 1\n{table}base_url = {:?}\n", page.url()));
    home.check(&["run", "--config", "c.toml", "--model", "h", SUM], 3)
        .complains(&["`base_url` of [models.h] is a server of Anthropic's Messages"]);
}

#[test]
fn models_and_tools_go_through_the_proxy_of_the_settings() {
    let (home, proxy) = (Home::new(), Server::answering([Answer::error(407, "who are you?")]));
    let to = |base_url: &str| {
        format!(
            "proxy = {:?}\nbase_url = {base_url:?}\nmodel = \"m\"\nwiki_url = \"http://wiki.example/w\"\n",
            proxy.origin()
        )
    };
    home.write("c.toml", &to("http://model.example/v1"));
    let said = home.check(&["run", "--config", "c.toml", SUM], 3);
    said.complains(&[&format!("the proxy 127.0.0.1:{}", proxy.port()), "407"]);
    assert_eq!(proxy.count(), 1);
    // This machine is reached without it.
    let plan = r#"{"goal": "g", "steps": [{"tool": "wiki", "input": "Seoul"}, {"tool": "final_answer", "input": "say it"}]}"#;
    let model = Server::answering([Answer::reply(plan), Answer::reply(GOOD), Answer::reply("서울")]);
    home.write("c.toml", &to(&model.url()));
    let mut run = home.program();
    let _ = run.args(["run", "--config", "c.toml", "--max-replans", "0", "Seoul?"]).output().unwrap();
    assert!(
        model.count() > 0 && proxy.count() > 1,
        "{} asked, {} through the proxy",
        model.count(),
        proxy.count()
    );
    assert!(proxy.seen()[1..].iter().all(|seen| seen.target.contains("wiki.example")), "{:?}", proxy.seen());
    home.write(
        "c.toml",
        "proxy = \"http://user:hunter2@proxy.example\"\nbase_url = \"http://x.example\"\nmodel = \"m\"\n",
    );
    let said = home.check(&["run", "--config", "c.toml", SUM], 2);
    assert!(!said.stderr.contains("hunter2"), "{}", said.stderr);
    said.complains(&[
        "proxy: expected the address of a proxy",
        "a user name, which belongs into HTTPS_PROXY",
    ]);
}
