//! A service that is killed again and again loses nothing and does nothing twice; two services over one store keep
//! out of each other's threads.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::Service;
use crate::cli_support::Home;
use crate::support::{Answer, Seen, Server};
use crate::world::{PAYS, PLAN, SUM};

pub const RUNS: usize = 50;

/// The question that a model is asked about.
fn question(seen: &Seen) -> String {
    let messages = seen.json()["messages"].clone();
    let payload = messages.as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
    serde_json::from_str::<Value>(&payload).unwrap()["user_question"].as_str().unwrap().to_owned()
}

pub struct World {
    model: Server,
    bank: Server,
    /// What was asked of either.
    pub asked: Arc<AtomicUsize>,
    paid: Arc<Mutex<HashMap<String, usize>>>,
}

impl World {
    pub fn new() -> Self {
        let (asked, paid) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(HashMap::new())));
        let pause = Duration::from_millis(20);
        let count = Arc::clone(&asked);
        let model = Server::start(move |seen, _| {
            count.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(pause);
            let question = question(seen);
            if seen.json()["messages"][0]["content"].as_str().unwrap().contains("ROLE=writer") {
                return Answer::reply(&format!("paid for {question}"));
            }
            let pays = |nth: u32| json!({"tool": "search", "input": format!("{question} {nth}")});
            let last = json!({"tool": "final_answer", "input": "say it"});
            Answer::reply(&json!({"goal": "pay", "steps": [pays(1), pays(2), last]}).to_string())
        });
        let (count, book) = (Arc::clone(&asked), Arc::clone(&paid));
        let bank = Server::start(move |seen, _| {
            count.fetch_add(1, Ordering::SeqCst);
            *book.lock().unwrap().entry(seen.json()["query"].as_str().unwrap().to_owned()).or_insert(0) += 1;
            std::thread::sleep(pause);
            let result = json!({"title": "paid", "url": "http://bank.example", "content": "paid"});
            Answer::json(200, &json!({"results": [result]}))
        });
        World { model, bank, asked, paid }
    }

    /// The settings of a home whose services ask this world.
    pub fn configure(&self, home: &Home) {
        let (model, bank) = (self.model.url(), self.bank.origin());
        let config = format!("base_url = '{model}'\nmodel = 'm'\nsearch_url = '{bank}/search'\n");
        home.write("config/planwright/config.toml", &config);
        home.write("pays.toml", &PAYS.replace("timeout_ms = 1000", "timeout_ms = 20000"));
    }

    /// A service over the usual store, or over this one.
    pub fn service(&self, home: &Home, store: Option<&str>) -> Service {
        let mut program = home.program();
        program.env("TAVILY_API_KEY", "tvly-0123456789").envs(store.map(|store| ("PLANWRIGHT_STORE", store)));
        Service::of(program, &["--agent", "./pays.toml", "--max-runs", &RUNS.to_string()])
    }
}

/// Asks all that were not told an answer yet, at once, under the key that each of them has, and keeps what they were
/// told.
pub fn ask_all(address: &str, told: &Mutex<HashMap<usize, String>>) {
    ask_first(RUNS, address, told);
}

/// Asks the first of them likewise.
fn ask_first(count: usize, address: &str, told: &Mutex<HashMap<usize, String>>) {
    std::thread::scope(|scope| {
        for nth in (0..count).filter(|nth| !told.lock().unwrap().contains_key(nth)).collect::<Vec<_>>() {
            scope.spawn(move || {
                let body =
                    json!({"message": format!("송금 {nth}"), "thread_id": format!("t{nth}")}).to_string();
                let agent: ureq::Agent =
                    ureq::Agent::config_builder().http_status_as_error(false).build().into();
                // A connection that breaks off tells nothing.
                let Ok(mut response) = agent
                    .post(format!("{address}/chat"))
                    .header("idempotency-key", format!("pay-{nth}"))
                    .send(body)
                else {
                    return;
                };
                let Ok(text) = response.body_mut().read_to_string() else { return };
                let reply: Value = serde_json::from_str(&text).unwrap();
                assert!(response.status().as_u16() != 500, "{reply}");
                if reply["status"] == "completed" {
                    told.lock().unwrap().insert(nth, reply["result"].as_str().unwrap().to_owned());
                }
            });
        }
    });
}

/// Waits until nothing goes on any more, and looks at what came of each: what a client was told is there, and nothing
/// was paid twice.
pub fn all_end_and_nothing_is_paid_twice(
    service: &Service,
    world: &World,
    told: &Mutex<HashMap<usize, String>>,
) {
    let goes_on = |service: &Service| {
        let listed = service.get("/threads?limit=1000", 200)["threads"].clone();
        let threads = listed.as_array().unwrap().clone();
        threads.iter().any(|thread| thread["status"] == "unfinished" || thread["running"] == true)
    };
    let mut waits = 0;
    while goes_on(service) {
        std::thread::sleep(Duration::from_millis(50));
        waits += 1;
        assert!(waits < 1_200, "{}", service.get("/threads?limit=1000", 200));
    }
    // Those of which nothing was on record are asked for the first time. The others are told what came of it.
    ask_all(&service.address, told);
    let (mut done, mut in_doubt) = (0, 0);
    for nth in 0..RUNS {
        let shown = service.get(&format!("/threads/t{nth}"), 200);
        let turns = shown["turns"].as_array().unwrap();
        assert_eq!(turns.len(), 1, "{shown}");
        let turn = &turns[0];
        let paid =
            |part: u32| world.paid.lock().unwrap().get(&format!("송금 {nth} {part}")).copied().unwrap_or(0);
        let expected = format!("paid for 송금 {nth}");
        match turn["status"].as_str().unwrap() {
            "done" => {
                assert_eq!((&turn["answer"], paid(1), paid(2)), (&json!(expected), 1, 1), "{shown}");
                done += 1;
            }
            "in_doubt" => {
                assert!(paid(1) <= 1 && paid(2) <= 1, "{shown}");
                assert!(!told.lock().unwrap().contains_key(&nth), "{shown}");
                in_doubt += 1;
            }
            status => panic!("{status}: {shown}"),
        }
        if let Some(answer) = told.lock().unwrap().get(&nth) {
            assert_eq!(
                (answer, &turns[0]["answer"]),
                (&expected, &json!(expected)),
                "what a client was told is there"
            );
        }
    }
    println!("{done} done, {in_doubt} in doubt");
    assert!(done > 0, "{in_doubt} in doubt");
    assert_eq!(told.lock().unwrap().len(), done, "whose payment was made is told so");
}

#[test]
fn service_killed_amid_fifty_runs_again_and_again_loses_nothing_and_pays_nothing_twice() {
    let (home, world, told) = (Home::new(), World::new(), Mutex::default());
    world.configure(&home);
    // A whole run asks four times. Each process dies once it has asked about one fifth of what is left. Ten are asked for
    // when nobody dies any more: of the others all may be in doubt.
    for _ in 0..3 {
        let mut service = world.service(&home, None);
        let (address, until) = (service.address.clone(), world.asked.load(Ordering::SeqCst) + 33);
        std::thread::scope(|scope| {
            let clients = scope.spawn(|| ask_first(RUNS - 10, &address, &told));
            while world.asked.load(Ordering::SeqCst) < until && !clients.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
            service.signal("-KILL");
        });
    }
    let service = world.service(&home, None);
    all_end_and_nothing_is_paid_twice(&service, &world, &told);
    home.check(&["threads", "check"], 0);
}

#[test]
fn thread_that_another_process_has_is_refused_with_its_name() {
    let home = Home::new();
    let (model, was_asked, answer) = Server::pausing(Answer::reply(PLAN));
    let one = Service::start(&home, &["--base-url", &model.url(), "--model", "m"]);
    let other = Service::start(&home, &["--offline"]);
    let (address, ask) = (one.address.clone(), json!({"message": SUM, "thread_id": "t"}));
    let body = ask.to_string();
    let client = std::thread::spawn(move || ureq::post(format!("{address}/chat")).send(body).map(drop));
    was_asked.recv().unwrap();
    let holder = one.process.id().to_string();
    for request in [
        ("POST", "/chat", &ask),
        ("POST", "/threads/t/resume", &Value::Null),
        ("POST", "/threads/t/cancel", &json!({"reason": "x"})),
        ("DELETE", "/threads/t", &Value::Null),
    ] {
        other.refuses(request, 409, "thread-is-running", &holder);
    }
    // It can be looked at.
    assert_eq!(other.get("/threads/t", 200)["turns"][0]["status"], "running");
    drop(answer);
    client.join().unwrap().unwrap();
}
