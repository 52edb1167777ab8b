//! Keys: who may ask, what, and of whom.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::Service;
use crate::cli_support::Home;
use crate::cli_support::store::{is_in_doubt, wants_approval};

/// Makes a key with the program.
pub fn make_key(home: &Home, name: &str, args: &[&str]) -> String {
    let made = home.check(&[&["serve", "keys", "new", "--name", name], args].concat(), 0);
    made.complains(&["shown once"]);
    made.stdout.trim().to_owned()
}

/// What one key asks of a service.
struct Client<'s> {
    service: &'s Service,
    key: String,
}

impl Client<'_> {
    fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        self.service.send(method, path, &text, &[("authorization", &format!("Bearer {}", self.key))])
    }

    #[track_caller]
    fn expects(&self, method: &str, path: &str, body: &Value, status: u16) -> Value {
        let (found, reply) = self.send(method, path, body);
        assert_eq!(found, status, "{method} {path} {body}: {reply}");
        reply
    }
}

#[test]
fn key_is_shown_once_and_kept_as_its_sha_256_and_is_good_until_it_is_removed() {
    let home = Home::new();
    let file = home.path("data/planwright/threads.keys.json");
    let alice = make_key(&home, "alice", &["--may", "run,answer"]);
    let old = make_key(&home, "old", &["--may", "run", "--expires", "2020-01-01"]);
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(!kept.contains(&alice) && kept.contains("\"sha256\""), "{kept}");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    home.check(&["serve", "keys", "list"], 0).prints(&["alice  run,answer", "old  run  expired 2020-01-01"]);
    for (args, says) in [
        (&["--name", "alice", "--may", "run"][..], "there is a key alice already"),
        (&["--name", "Al:ice", "--may", "run"], "a key's name has 1 to 32 of a-z"),
        (&["--name", "../x", "--may", "run"], "a key's name has 1 to 32 of a-z"),
        (&["--name", "bob", "--may", "fly"], "expected run, answer, read or admin"),
        (&["--name", "bob", "--may", "run", "--expires", "soon"], "expected an age such as 7d"),
    ] {
        home.refuses(&[&["serve", "keys", "new"], args].concat(), &[says]);
    }
    home.refuses(&["serve", "--keys", "none.json"], &["--keys: none.json: there is no such file"]);
    let log = home.path("log");
    let stderr = std::fs::File::create(&log).unwrap();
    let service = Service::start_with(home.program(), &["--offline", "--quiet"], stderr);
    let status = |headers: &[(&str, &str)], path: &str| service.send("GET", path, "", headers).0;
    let bearer = |key: &str| format!("Bearer {key}");
    let long = bearer(&"x".repeat(20_000));
    for (header, found) in [
        (bearer(&alice), 200),
        (bearer(&old), 401),
        (bearer("pwk_wrong"), 401),
        (bearer(""), 401),
        (format!("Basic {alice}"), 401),
        (alice.clone(), 401),
        (long, 401),
        (format!("bearer {}", &alice[..alice.len() - 1]), 401),
    ] {
        assert_eq!(status(&[("authorization", &header)], "/threads"), found, "{header}");
    }
    // Without a key only that it lives is told, on whatever else there is or is not.
    for (path, found) in
        [("/healthz", 200), ("/readyz", 200), ("/threads", 401), ("/openapi.json", 401), ("/none", 401)]
    {
        assert_eq!(status(&[], path), found, "{path}");
    }
    let refused = service.raw("GET /threads HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert!(
        refused.contains("www-authenticate: Bearer") && refused.contains("urn:planwright:no-key"),
        "{refused}"
    );
    // What becomes of the file counts at once.
    let bob = make_key(&home, "bob", &["--may", "read"]);
    let is_good = |key: &str| status(&[("authorization", &bearer(key))], "/threads");
    assert_eq!((is_good(&alice), is_good(&bob)), (200, 200));
    home.check(&["serve", "keys", "remove", "alice"], 0);
    home.refuses(&["serve", "keys", "remove", "alice"], &["there is no key \"alice\""]);
    assert_eq!((is_good(&alice), is_good(&bob)), (401, 200));
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
    assert_eq!((is_good(&bob), status(&[], "/healthz")), (503, 200));
    let (not_ready, problem) = service.send("GET", "/readyz", "", &[]);
    assert_eq!(
        (not_ready, &problem["type"], &problem["detail"]),
        (503, &json!("urn:planwright:not-ready"), &json!("the keys cannot be read"))
    );
    let logged = std::fs::read_to_string(&log).unwrap();
    assert!(logged.contains("threads.keys.json: others may read it (mode 640)"), "{logged}");
    home.refuses(&["serve", "--offline"], &["others may read it (mode 640)", "hint: chmod 600 "]);
    home.refuses(&["serve", "keys", "list"], &["others may read it"]);
    std::fs::remove_file(&file).unwrap();
    assert_eq!((is_good(&bob), status(&[], "/threads")), (401, 401), "a lost file opens nothing");
    std::fs::write(&file, "{}").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    home.refuses(&["serve", "--offline"], &["threads.keys.json: missing field"]);
}

#[test]
fn key_does_what_it_may_and_nothing_else() {
    let home = Home::new();
    let make = |name: &str, may: &str| make_key(&home, name, &["--may", may, "--threads-of", "team"]);
    let keys = [make("runs", "run"), make("answers", "answer"), make("reads", "read")];
    wants_approval(&home, "team:t");
    let service = Service::start(&home, &["--offline"]);
    let [runs, answers, reads] = keys.map(|key| Client { service: &service, key });
    let (ask, answer) = (json!({"message": "7*6?"}), json!({"thread_id": "t", "approve": true}));
    let resolve = json!({"token": "0", "did_not_happen": true});
    for (client, statuses) in
        [(&runs, [200, 200, 403, 403]), (&answers, [200, 403, 422, 409]), (&reads, [200, 403, 403, 403])]
    {
        let found = [
            client.send("GET", "/threads/t", &Value::Null).0,
            client.send("POST", "/chat", &ask).0,
            client.send("POST", "/hitl/resume", &answer).0,
            client.send("POST", "/threads/t/resolve", &resolve).0,
        ];
        assert_eq!(found, statuses);
    }
    let (_, refused) = reads.send("DELETE", "/threads/t", &Value::Null);
    assert_eq!(
        (&refused["type"], &refused["detail"]),
        (&json!("urn:planwright:forbidden"), &json!("the key may not run, which this needs"))
    );
    let token = runs.expects("GET", "/threads/t", &Value::Null, 200)["turns"][0]["open"]["token"].clone();
    let yes = json!({"thread_id": "t", "approve": true, "token": token});
    assert_eq!(answers.expects("POST", "/hitl/resume", &yes, 200)["status"], "completed");
}

#[test]
fn another_keys_thread_is_none_whatever_path_names_it() {
    let home = Home::new();
    let alice = make_key(&home, "alice", &["--may", "run,answer"]);
    let bob = make_key(&home, "bob", &["--may", "run,answer"]);
    let root = make_key(&home, "root", &["--may", "admin"]);
    wants_approval(&home, "alice:t");
    is_in_doubt(&home, "alice:doubt");
    let service = Service::start(&home, &["--offline", "--no-resume"]);
    let [alice, bob, root] = [alice, bob, root].map(|key| Client { service: &service, key });
    let described = alice.expects("GET", "/openapi.json", &Value::Null, 200);
    let mut named = 0;
    let paths = described["paths"].as_object().unwrap().iter();
    for (path, method) in paths
        .flat_map(|(path, methods)| methods.as_object().unwrap().keys().map(move |method| (path, method)))
    {
        if !path.contains("{thread_id}") {
            continue;
        }
        let body = match path.rsplit('/').next().unwrap() {
            "cancel" => json!({"reason": "x"}),
            "resolve" => json!({"token": "x", "did_not_happen": true}),
            "fork" => json!({"to": "mine"}),
            _ => Value::Null,
        };
        for thread in ["t", "alice:t"] {
            let path = path.replace("{thread_id}", thread).replace("{turn}", "1");
            let problem = bob.expects(&method.to_uppercase(), &path, &body, 404);
            assert_eq!(problem["type"], "urn:planwright:no-such-thread", "{problem}");
            assert!(!problem.to_string().contains("bob:"), "{problem}");
        }
        named += 1;
    }
    assert!(named >= 7, "{named}");
    let nothing = json!({"thread_id": "t", "approve": true, "token": "x"});
    bob.expects("POST", "/hitl/resume", &nothing, 404);
    assert_eq!(bob.expects("GET", "/threads", &Value::Null, 200), json!({"threads": [], "next": null}));
    assert_eq!(bob.expects("GET", "/waiting", &Value::Null, 200)["waiting"], json!([]));
    assert_eq!(bob.expects("GET", "/threads?prefix=alice:", &Value::Null, 200)["threads"], json!([]));
    let cursor = "/threads?after=99999999999999:alice:t";
    assert_eq!(bob.expects("GET", cursor, &Value::Null, 200)["threads"], json!([]));
    // The same name is another thread.
    assert_eq!(bob.expects("POST", "/chat", &json!({"message": "7*6?", "thread_id": "t"}), 200)["turn"], 1);
    let mut pages = Vec::new();
    for client in [&alice, &bob, &root] {
        let mut names = Vec::new();
        let mut page = client.expects("GET", "/threads?limit=1", &Value::Null, 200);
        loop {
            names.extend(
                page["threads"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|thread| thread["thread"].as_str().unwrap().to_owned()),
            );
            let Some(next) = page["next"].as_str() else { break };
            page = client.expects("GET", &format!("/threads?limit=1&after={next}"), &Value::Null, 200);
        }
        names.sort();
        pages.push(names);
    }
    assert_eq!(pages, [vec!["doubt", "t"], vec!["t"], vec!["alice:doubt", "alice:t", "bob:t"]]);
}

#[test]
fn caller_is_told_the_names_they_gave_and_no_others() {
    let home = Home::new();
    let key = make_key(&home, "alice", &["--may", "run,answer"]);
    wants_approval(&home, "alice:송금");
    is_in_doubt(&home, "alice:doubt");
    home.check(&["threads", "fork", "alice:송금", "--to", "bob:copy"], 0);
    home.check(&["threads", "fork", "bob:copy", "--to", "alice:copy"], 0);
    let service = Service::start(&home, &["--offline", "--no-resume"]);
    let alice = Client { service: &service, key };
    let (none, transfer) = (Value::Null, "/threads/%EC%86%A1%EA%B8%88");
    let told = [
        alice.expects("GET", "/threads", &none, 200),
        alice.expects("GET", "/threads/copy?records=true", &none, 200),
        alice.expects("GET", &format!("{transfer}?records=true"), &none, 200),
        alice.expects("GET", "/plan/%EC%86%A1%EA%B8%88", &none, 200),
        alice.expects("POST", &format!("{transfer}/fork"), &json!({"to": "again"}), 201),
        alice.expects("POST", &format!("{transfer}/fork"), &json!({"to": "again"}), 409),
        alice.expects("POST", &format!("{transfer}/fork"), &json!({"to": "x".repeat(115)}), 422),
        alice.expects("POST", "/chat", &json!({"message": "7*6?", "thread_id": "doubt"}), 409),
        alice.expects("POST", "/chat", &json!({"message": "7*6?", "thread_id": "송금"}), 200),
        alice.expects("POST", "/chat", &json!({"message": "7*6?"}), 200),
        alice.expects("POST", "/threads/again/cancel", &json!({"reason": "x"}), 200),
        alice.expects("DELETE", "/threads/again", &none, 204),
        alice.expects("DELETE", "/threads/again", &none, 404),
        alice.expects("GET", "/threads?after=x:y", &none, 422),
        alice.expects("GET", "/waiting?limit=1", &none, 200),
    ];
    // Whatever names a thread in its path, now and later.
    let described = alice.expects("GET", "/openapi.json", &none, 200);
    let paths = described["paths"].as_object().unwrap().iter();
    let read = paths.filter(|(path, methods)| path.contains("{thread_id}") && !methods["get"].is_null());
    let read = read.map(|(path, _)| path.replace("{thread_id}", "doubt").replace("{turn}", "1"));
    let read =
        read.filter(|path| !path.ends_with("/events")).map(|path| alice.expects("GET", &path, &none, 200));
    let told: Vec<Value> = told.into_iter().chain(read).collect();
    assert_eq!(
        alice.expects("GET", "/threads/doubt/spent?by=thread", &none, 200)["lines"][0]["name"],
        "doubt"
    );
    assert_eq!(told[1]["turns"][0]["origin"], none, "it was another's");
    assert_eq!(told[4]["turn"]["origin"]["thread"], "송금");
    assert!(told[6]["detail"].as_str().unwrap().starts_with("$.to: a thread's name has at most 114 bytes"));
    assert_eq!(told[2]["turns"][0]["open"]["commands"], json!([]), "who asks over HTTP has no store");
    for told in told {
        let text = told.to_string();
        assert!(!text.contains("alice") && !text.contains("bob"), "{text}");
    }
    home.check(&["threads", "show", "alice:송금"], 0);
}

#[test]
fn other_doors_take_the_same_keys_and_know_threads_by_the_same_names() {
    let home = Home::new();
    let keys = ["run", "run,answer"].map(|may| make_key(&home, &may.replace(',', "-"), &["--may", may]));
    let service = Service::start(&home, &["--offline"]);
    let [asks, answers] = keys.map(|key| Client { service: &service, key });
    let completion = json!({
        "model": "supervised", "metadata": {"thread_id": "t"},
        "messages": [{"role": "user", "content": "Compare both offers, and ask me before you conclude."}],
    });
    let refused = service.post("/v1/chat/completions", &completion, 401);
    assert_eq!(refused["error"]["type"], "authentication_error");
    let reply = asks.expects("POST", "/v1/chat/completions", &completion, 200);
    assert!(reply["id"] == "chatcmpl-t-1" && !reply.to_string().contains("run:t"), "{reply}");
    let token =
        asks.expects("POST", "/chat", &json!({"message": "?", "thread_id": "t"}), 200)["token"].clone();
    let resume = json!([{"interruptId": token, "status": "resolved", "payload": "go on"}]);
    let body = json!({"threadId": "t", "runId": "r", "messages": [], "resume": resume});
    let refused = asks.expects("POST", "/agui", &body, 403);
    assert!(refused["detail"].as_str().unwrap().contains("may not answer"), "{refused}");
    let refused = answers.expects("POST", "/agui", &body, 404);
    assert!(refused["type"] == "urn:planwright:no-such-thread", "{refused}");
}
