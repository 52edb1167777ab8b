//! Services that share a database: any of them answers for any thread, a stream at one shows what another performs, and
//! what one leaves when it is killed or stopped the others finish.

use std::collections::HashMap;
use std::io::copy;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planwright::journal::Durability;
use planwright_app::StoreAddress;
use serde_json::{Value, json};

use super::Service;
use super::killed::{RUNS, World, all_end_and_nothing_is_paid_twice, ask_all};
use super::reader::Stream;
use crate::cli_support::store::keep_in;
use crate::cli_support::{Home, waiting_journal};
use crate::postgres::{Cluster, cluster, is_here};
use crate::support::{Answer, Server};
use crate::world::{GOOD, PLAN, SUM};

fn start(home: &Home, store: &str, args: &[&str]) -> Service {
    let mut program = home.program();
    program.env("PLANWRIGHT_STORE", store);
    // The log of requests that are refused while a service stops.
    Service::start_with(program, &[&["--quiet"], args].concat(), Stdio::null())
}

fn offline(home: &Home, store: &str) -> Service {
    start(home, store, &["--offline", "--tools", "calc"])
}

/// A plain round-robin proxy: each connection goes to the next service that takes it.
fn balance(services: impl IntoIterator<Item = String>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let services = Arc::new(Mutex::new(services.into_iter().collect::<Vec<_>>()));
    let known = Arc::clone(&services);
    std::thread::spawn(move || {
        for (nth, client) in listener.incoming().enumerate() {
            let (client, known) = (client.unwrap(), known.lock().unwrap().clone());
            let mut from_here = (0..known.len()).map(|skipped| &known[(nth + skipped) % known.len()]);
            let connect = |service: &String| TcpStream::connect(service.replace("http://", "")).ok();
            let Some(service) = from_here.find_map(connect) else { continue };
            let (back, there) = (client.try_clone().unwrap(), service.try_clone().unwrap());
            for (mut from, mut to) in [(client, there), (service, back)] {
                std::thread::spawn(move || {
                    let _ = copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
    (address, services)
}

/// Asks until an answer comes, under one key.
fn insist(address: &str, key: &str, body: &Value) -> Value {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    for _ in 0..600 {
        let sent =
            agent.post(format!("{address}/chat")).header("idempotency-key", key).send(body.to_string());
        let told =
            sent.and_then(|mut reply| Ok((reply.status().as_u16(), reply.body_mut().read_to_string()?)));
        match told {
            Ok((200, told)) => return serde_json::from_str(&told).unwrap(),
            Ok((status, told)) => assert!([409, 503].contains(&status), "{status}: {told}"),
            // A connection that breaks off tells nothing.
            Err(_) => {}
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{key} is never answered");
}

#[test]
fn stream_at_one_service_shows_what_another_performs() {
    if !is_here() {
        return;
    }
    let (home, store) = (Home::new(), cluster().database());
    let (pausing, was_asked, answer) = Server::pausing(Answer::reply(PLAN));
    let idle = Server::answering([GOOD, "It is 300840."].map(Answer::reply));
    let at = |model: &Server| start(&home, &store, &["--base-url", &model.url(), "--model", "m"]);
    let (one, other) = (at(&pausing), at(&idle));
    let (address, ask) = (one.address.clone(), json!({"message": SUM, "thread_id": "t"}));
    let body = ask.to_string();
    let client = std::thread::spawn(move || drop(ureq::post(format!("{address}/chat")).send(body)));
    was_asked.recv().unwrap();
    let mut stream = Stream::open(&other.address, "/threads/t/events", None, None).ok().unwrap();
    stream.until("thinking");
    other.refuses(("POST", "/chat", &ask), 409, "thread-is-running", &one.process.id().to_string());
    drop(answer);
    let seen = stream.until("trace");
    assert_eq!(seen.last().unwrap().data["step"], "PLAN", "{seen:?}");
    drop(client);
}

#[test]
fn any_of_two_and_of_four_services_takes_the_next_turn_and_the_answer_of_a_person() {
    if !is_here() {
        return;
    }
    for count in [2, 4] {
        let (home, store) = (Home::new(), cluster().database());
        let services: Vec<Service> = (0..count).map(|_| offline(&home, &store)).collect();
        let (address, _) = balance(services.iter().map(|service| service.address.clone()));
        for turn in 1..=5 {
            let done = insist(&address, &format!("k{turn}"), &json!({"message": SUM, "thread_id": "t"}));
            assert_eq!((&done["turn"], &done["status"]), (&json!(turn), &json!("completed")), "{done}");
        }
        waiting_journal(&home.path("waits.jsonl"));
        let kept = StoreAddress::parse(store.into()).unwrap().open(Durability::Full, false).unwrap();
        keep_in(kept.store(), "asked", &home.path("waits.jsonl"), |_| {});
        for service in &services {
            assert_eq!(service.get("/threads/t", 200)["turns"].as_array().unwrap().len(), 5);
            let waiting = service.get("/threads?status=waiting", 200);
            assert_eq!(waiting["threads"][0]["thread"], "asked", "{waiting}");
        }
        let (first, last) = (&services[0], services.last().unwrap());
        let answer = json!({"thread_id": "asked", "response": "네"});
        assert_eq!(last.post("/hitl/resume", &answer, 200)["status"], "completed");
        first.refuses(("POST", "/hitl/resume", &answer), 409, "answer-does-not-fit", "");
        let mut shown =
            Stream::open(&first.address, "/threads/asked/events?from=1-0-0", None, None).ok().unwrap();
        assert_eq!(shown.until("end").last().unwrap().data["status"], "completed");
    }
}

#[test]
fn runs_of_a_killed_service_are_finished_by_the_others() {
    if !is_here() {
        return;
    }
    let (home, world, told) = (Home::new(), World::new(), Mutex::<HashMap<usize, String>>::default());
    let store = cluster().database();
    world.configure(&home);
    let mut services: Vec<Service> = (0..4).map(|_| world.service(&home, Some(&store))).collect();
    let (address, _) = balance(services.iter().map(|service| service.address.clone()));
    std::thread::scope(|scope| {
        let clients = scope.spawn(|| ask_all(&address, &told));
        while world.asked.load(Ordering::SeqCst) < RUNS && !clients.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        services[0].signal("-KILL");
    });
    assert!(told.lock().unwrap().len() < RUNS, "some were amid their runs");
    all_end_and_nothing_is_paid_twice(&services[1], &world, &told);
}

#[test]
fn runs_that_an_outage_of_the_database_stopped_go_on_by_themselves_once_it_is_back() {
    if !is_here() {
        return;
    }
    let (home, world, told) = (Home::new(), World::new(), Mutex::<HashMap<usize, String>>::default());
    let server = Cluster::start(&[]);
    let store = server.database();
    world.configure(&home);
    let services: Vec<Service> = (0..2).map(|_| world.service(&home, Some(&store))).collect();
    let (address, _) = balance(services.iter().map(|service| service.address.clone()));
    let stopped = std::thread::scope(|scope| {
        let clients = scope.spawn(|| ask_all(&address, &told));
        while world.asked.load(Ordering::SeqCst) < RUNS && !clients.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Each client is told by and by that the store is not there.
        server.stop(true)
    });
    assert!(told.lock().unwrap().len() < RUNS, "some were amid their runs");
    let _server = stopped.start_again();
    all_end_and_nothing_is_paid_twice(&services[1], &world, &told);
}

#[test]
fn rolling_restart_under_load_loses_no_turn_that_was_answered_and_makes_none_twice() {
    if !is_here() {
        return;
    }
    let (home, store) = (Home::new(), cluster().database());
    let mut services: Vec<Service> = (0..3).map(|_| offline(&home, &store)).collect();
    let (address, known) = balance(services.iter().map(|service| service.address.clone()));
    let is_over = AtomicBool::new(false);
    let turns: Vec<usize> = std::thread::scope(|scope| {
        let client = |client: usize| {
            let (address, is_over) = (&address, &is_over);
            scope.spawn(move || {
                for turn in 1.. {
                    let ask = json!({"message": SUM, "thread_id": format!("t{client}")});
                    let done = insist(address, &format!("{client}-{turn}"), &ask);
                    assert_eq!(
                        (&done["turn"], &done["status"]),
                        (&json!(turn), &json!("completed")),
                        "{done}"
                    );
                    if is_over.load(Ordering::SeqCst) {
                        return turn;
                    }
                }
                unreachable!()
            })
        };
        let clients: Vec<_> = (0..12).map(client).collect();
        for (nth, service) in services.iter_mut().enumerate() {
            assert_eq!(service.signal("-TERM"), Some(0));
            *service = offline(&home, &store);
            known.lock().unwrap()[nth].clone_from(&service.address);
        }
        is_over.store(true, Ordering::SeqCst);
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    for (client, count) in turns.into_iter().enumerate() {
        let shown = services[0].get(&format!("/threads/t{client}"), 200);
        let answered = shown["turns"].as_array().unwrap();
        assert!(answered.len() == count && answered.iter().all(|turn| turn["status"] == "done"), "{shown}");
    }
}

#[test]
fn service_whose_database_is_down_says_so_on_every_path_and_names_no_address() {
    if !is_here() {
        return;
    }
    let (home, server) = (Home::new(), Cluster::start(&[]));
    let service = offline(&home, &server.database());
    drop(server);
    for (path, kind) in
        [("/threads", "store"), ("/waiting", "store"), ("/threads/t", "store"), ("/readyz", "not-ready")]
    {
        let (status, problem) = service.send("GET", path, "", &[]);
        assert_eq!(
            (status, &problem["type"]),
            (503, &json!(format!("urn:planwright:{kind}"))),
            "{path}: {problem}"
        );
        assert!(!problem.to_string().contains("postgres://"), "{path}: {problem}");
        assert!(problem["detail"].as_str().unwrap().starts_with("the store: "), "{path}: {problem}");
    }
    assert!(
        service.raw("GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n").contains("planwright_runs_under_way")
    );
}
