//! More than one of each: two workers behind a proxy of which one is killed, and three nodes of which the leader is.

use std::io::{Read as _, Write as _, copy};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::cast::Times;
use crate::server::{Restate, await_some};
use crate::stage::{Stage, plan, step};

/// A round-robin proxy: every connection goes to the next worker that takes it.
fn proxy(workers: Vec<SocketAddr>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, turn) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let first = turn.fetch_add(1, Ordering::Relaxed);
            let next = (0..workers.len()).map(|at| workers[(first + at) % workers.len()]);
            let Some(worker) = next.into_iter().find_map(|worker| TcpStream::connect(worker).ok()) else {
                continue;
            };
            for (from, to) in [(&client, &worker), (&worker, &client)] {
                let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                std::thread::spawn(move || {
                    let _ = copy(&mut from, &mut to);
                    let _ = to.shutdown(std::net::Shutdown::Both);
                });
            }
        }
    });
    address
}

#[test]
fn of_two_workers_behind_a_proxy_the_one_that_is_left_finishes_the_runs() {
    let (restate, stage) = (Restate::start(), Stage::new(Times::default()));
    let mut workers = [stage.enter(None), stage.enter(None)];
    restate.register(proxy(workers.iter().map(|worker| worker.address).collect()));
    let question = plan(&[step("store", "a", "one", &[]), step("store", "b", "two", &["one"])]);
    stage.hold("b");
    let threads = ["first", "second", "third"];
    for thread in threads {
        restate.send(thread, "ask", &json!({"question": question}));
    }
    stage.await_calls("store b", threads.len());
    // The one that has the most of them.
    let calls = stage.calls("");
    let has = |id: u32| calls.iter().filter(|(_, worker)| *worker == id).count();
    workers.sort_by_key(|worker| has(worker.id()));
    let lost = has(workers[1].id());
    assert!(lost > 0, "{calls:?}");
    workers[1].kill();
    stage.let_go("b");
    for thread in threads {
        stage.check_as_undisturbed(&restate, thread, &question);
    }
    let left = workers[0].id();
    let finished = stage.calls("").into_iter().filter(|(call, worker)| call == "store b" && *worker == left);
    assert!(finished.count() >= threads.len(), "{:?}", stage.calls(""));
}

/// A figure of a node, as it says itself.
fn gauge(node: &Restate, name: &str) -> Option<u64> {
    let mut stream = TcpStream::connect(node.node()).ok()?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", node.node()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let line = text.lines().find(|line| line.starts_with(&format!("{name}{{")))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[test]
fn of_three_nodes_the_two_that_are_left_go_on_when_the_leader_is_killed() {
    let mut nodes = ["one", "two", "three"].map(Restate::new);
    let addresses = nodes.each_ref().map(|node| format!("http://{}/", node.node()));
    for (at, node) in nodes.iter_mut().enumerate() {
        node.settings = format!(
            "auto-provision = {}\ndefault-num-partitions = 1\ndefault-replication = 2\n[metadata-client]\n\
             addresses = {addresses:?}\n",
            at == 0,
        );
        node.launch();
    }
    nodes.iter().for_each(Restate::await_start);
    let (leads, has) = ("restate_num_active_partition_leaders", "restate_num_active_partitions");
    await_some("a leader and one who follows", || {
        let count = |name: &str| nodes.iter().map(|node| gauge(node, name)).sum::<Option<u64>>();
        (count(leads) == Some(1) && count(has) == Some(2)).then_some(())
    });
    let stage = Stage::new(Times::default());
    let worker = stage.enter(None);
    nodes[0].register(worker.address);
    let question = plan(&[step("store", "a", "one", &[]), step("store", "b", "two", &["one"])]);
    stage.hold("b");
    nodes[0].send("led", "ask", &json!({"question": question}));
    stage.await_calls("store b", 1);
    let leader = await_some("a leader", || nodes.iter().position(|node| gauge(node, leads) == Some(1)));
    nodes[leader].kill();
    // The new leader has it performed again while the first attempt is still at it: both write under one key.
    stage.await_calls("store b", 2);
    stage.let_go("b");
    stage.check_as_undisturbed(&nodes[(leader + 1) % nodes.len()], "led", &question);
    let (run, _) = stage.await_status("led", "done");
    assert_eq!(stage.written(&run), ["a", "b"]);
}
