//! Many clients at once: no turn is lost or doubled, and who waits for a person costs no thread of execution.

use serde_json::{Value, json};

use super::Service;
use crate::cli_support::Home;
use crate::cli_support::store::{store, waits};
use crate::world::SUM;
use planwright::journal::{Claim, Store, StoreError, ThreadId};

const CLIENTS: usize = 64;

#[test]
fn many_clients_at_once_lose_and_double_no_turn() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline", "--tools", "calc"]);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let service = &service;
            scope.spawn(move || {
                for turn in 1..=3 {
                    for thread in [format!("t{client}"), format!("스레드-{client}")] {
                        let done = service.post("/chat", &json!({"message": SUM, "thread_id": thread}), 200);
                        assert_eq!((&done["turn"], &done["status"]), (&json!(turn), &json!("completed")));
                    }
                }
            });
        }
    });
    let listed = service.get("/threads?limit=1000", 200);
    let threads = listed["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 2 * CLIENTS);
    assert!(threads.iter().all(|thread| thread["turns"] == 3 && thread["status"] == "done"), "{listed}");
}

/// Of those who ask in one thread at the same time one is answered at a time; the others are told why they are not.
#[test]
fn thread_that_many_ask_in_at_once_has_a_turn_for_each_that_was_answered() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline", "--tools", "calc"]);
    let ask = json!({"message": SUM, "thread_id": "t"}).to_string();
    let replies: Vec<(u16, Value)> = std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..16).map(|_| scope.spawn(|| service.send("POST", "/chat", &ask, &[]))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let mut turns: Vec<u64> = replies.iter().filter_map(|(_, reply)| reply["turn"].as_u64()).collect();
    turns.sort_unstable();
    assert!(turns.iter().copied().eq(1..=turns.len() as u64) && !turns.is_empty(), "{turns:?}");
    for (status, reply) in replies.iter().filter(|(status, _)| *status != 200) {
        assert_eq!((*status, &reply["type"]), (409, &json!("urn:planwright:thread-is-running")), "{reply}");
    }
    assert_eq!(service.get("/threads", 200)["threads"][0]["turns"], json!(turns.len()));
}

#[cfg(target_os = "linux")]
#[test]
fn thousand_threads_that_wait_for_a_person_cost_no_thread_of_execution() {
    let home = Home::new();
    waits(&home, "t0");
    let store = store(&home);
    let records = store.records(&"t0".parse().unwrap(), 0).unwrap();
    let status = store.find(&"t0".parse().unwrap()).unwrap().unwrap().status;
    let keep = |nth: usize| -> Result<(), StoreError> {
        let thread: ThreadId = format!("t{nth}").parse().unwrap();
        let mut records = records.clone();
        let Some(planwright::journal::Record::Header(header)) = records.first_mut() else { unreachable!() };
        header.thread = thread.to_string();
        let lease = store.claim(&thread, Claim::New)?;
        store.append(&lease, 0, 0, records, Some(&status))?;
        store.release(lease)
    };
    (1..1000).for_each(|nth| keep(nth).unwrap());
    drop(store);
    let service = Service::start(&home, &["--offline"]);
    let listed = service.get("/threads?status=waiting&limit=1000", 200);
    assert_eq!(listed["threads"].as_array().unwrap().len(), 1000);
    let status = std::fs::read_to_string(format!("/proc/{}/status", service.process.id())).unwrap();
    let threads = status.lines().find_map(|line| line.strip_prefix("Threads:")).unwrap();
    let threads: u32 = threads.trim().parse().unwrap();
    assert!(threads < 20, "{threads} threads of execution");
    let answered = service.post("/hitl/resume", &json!({"thread_id": "t999", "response": "네"}), 200);
    assert_ne!(answered["status"], "waiting_human", "{answered}");
}
