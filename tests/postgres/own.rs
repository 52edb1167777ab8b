//! What a server of its own can do to a store: it is restarted, cuts connections, is in recovery, loses what it had,
//! or holds what was not written.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use planwright::journal::JournalErrorKind::{Damaged, Fenced, Io, Stale};
use planwright::journal::{Claim, Durability, Heard, Query, Store, StoreError};
use planwright_postgres::{Address, PostgresStore};

use crate::place::at;
use crate::server::{Cluster, cluster, connect};
use crate::support::{claim, done, id, is_sound, names, records, refused, write, write_with_status};

#[test]
fn lease_outlives_a_server_that_is_killed_and_restarted_and_nothing_is_lost() {
    let server = Cluster::start(&[]);
    let (address, thread) = (server.database(), id("재시작"));
    let open = || PostgresStore::make(&Address::parse(&address).unwrap(), Durability::Full).unwrap();
    let (one, other) = (open(), open());
    let whole = records(&thread, 0, 4);
    let lease = claim(&one, &thread);
    one.append(&lease, 0, 0, whole[..2].to_vec(), None).unwrap();
    let server = server.restart(false);
    one.append(&lease, 0, 2, whole[2..3].to_vec(), None).unwrap();
    let server = server.restart(true);
    assert_eq!(other.records(&thread, 0).unwrap(), whole[..3]);
    one.append(&lease, 0, 3, whole[3..].to_vec(), Some(&done("답"))).unwrap();
    one.release(lease).unwrap();
    assert_eq!(other.records(&thread, 0).unwrap(), whole);
    is_sound(&other);
    drop(server);
}

/// A way to a server that breaks off at one of the messages that go there: before it is passed on, or once the server
/// has answered it.
fn cutting(server: u16, at: usize, is_passed_on: bool) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, passed) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
    let count = passed.clone();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut there) =
                (client.unwrap(), TcpStream::connect(("127.0.0.1", server)).unwrap());
            let (mut back, mut to_client) = (there.try_clone().unwrap(), client.try_clone().unwrap());
            let (count, is_cut) = (count.clone(), Arc::new(AtomicUsize::new(0)));
            let cut = is_cut.clone();
            std::thread::spawn(move || {
                let mut bytes = [0; 65_536];
                while let Ok(len @ 1..) = back.read(&mut bytes) {
                    if cut.load(Ordering::SeqCst) > 0 || to_client.write_all(&bytes[..len]).is_err() {
                        break;
                    }
                }
                let _ = to_client.shutdown(Shutdown::Both);
            });
            std::thread::spawn(move || {
                let mut bytes = [0; 65_536];
                while let Ok(len @ 1..) = client.read(&mut bytes) {
                    let is_last = count.fetch_add(1, Ordering::SeqCst) + 1 == at;
                    if is_last {
                        is_cut.store(1, Ordering::SeqCst);
                    }
                    if is_last && !is_passed_on || there.write_all(&bytes[..len]).is_err() {
                        break;
                    }
                }
                let _ = there.shutdown(Shutdown::Both);
                let _ = client.shutdown(Shutdown::Both);
            });
        }
    });
    (port, passed)
}

#[test]
fn connection_that_is_cut_at_any_message_loses_nothing_and_writes_nothing_twice() {
    let (address, port) = (cluster().database(), cluster().port);
    at(&address);
    let cut = |is_passed_on: bool| {
        let mut place = 0;
        loop {
            place += 1;
            let (way, passed) = cutting(port, place, is_passed_on);
            let through = address.replace(&format!(":{port}/"), &format!(":{way}/"));
            let thread = id(&format!("끊김 {is_passed_on} {place}"));
            let whole = records(&thread, 0, 4);
            let store = PostgresStore::open(&Address::parse(&through).unwrap(), Durability::Full).unwrap();
            let lease = store.begin(&thread, vec![whole[..2].to_vec()]).unwrap();
            store.append(&lease, 0, 2, whole[2..3].to_vec(), None).unwrap();
            store.append(&lease, 0, 3, whole[3..].to_vec(), Some(&done("답"))).unwrap();
            store.release(lease).unwrap();
            assert_eq!(store.records(&thread, 0).unwrap(), whole, "cut at {place}");
            let listed = store.find(&thread).unwrap().unwrap();
            assert_eq!((listed.running, listed.status), (false, done("답")), "cut at {place}");
            if passed.load(Ordering::SeqCst) < place {
                assert!(place > 10, "only {place} messages");
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| cut(false));
        cut(true);
    });
    is_sound(&at(&address));
}

#[test]
fn tables_are_made_through_a_connection_that_is_cut_at_any_message() {
    let port = cluster().port;
    let make = |is_passed_on: bool| {
        for place in 1.. {
            let (way, passed) = cutting(port, place, is_passed_on);
            let through = cluster().database().replace(&format!(":{port}/"), &format!(":{way}/"));
            let made = PostgresStore::make(&Address::parse(&through).unwrap(), Durability::Full);
            is_sound(&made.unwrap_or_else(|error| panic!("cut at {place}: {error}")));
            if passed.load(Ordering::SeqCst) < place {
                return assert!(place > 6, "only {place} messages");
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| make(false));
        make(true);
    });
}

#[test]
fn server_in_recovery_is_read_and_a_write_says_so() {
    let server = Cluster::start(&[]);
    let (address, thread) = (server.database(), id("복구"));
    write_with_status(&at(&address), &thread, 0, &done("답"));
    let server = server.stop(true);
    std::fs::write(server.path("data/standby.signal"), "").unwrap();
    let server = server.start_again();
    let store = PostgresStore::open(&Address::parse(&address).unwrap(), Durability::Full).unwrap();
    assert_eq!(
        (names(&store, &Query::default()), store.records(&thread, 0).unwrap().len()),
        (vec!["복구".to_owned()], 3)
    );
    let error = store.claim(&thread, Claim::Known).unwrap_err();
    assert!(error.to_string().contains("in recovery or read-only"), "{error}");
    refused::<()>(Err(error), Io);
    drop(server);
}

#[test]
fn commits_that_a_server_has_lost_are_named() {
    let (address, thread) = (cluster().database(), id("분실"));
    let (store, whole) = (at(&address), records(&thread, 0, 6));
    let lease = claim(&store, &thread);
    store.append(&lease, 0, 0, whole[..3].to_vec(), None).unwrap();
    store.append(&lease, 0, 3, whole[3..4].to_vec(), None).unwrap();
    connect(&address).execute("DELETE FROM planwright.record WHERE at = 3", &[]).unwrap();
    let error = store.append(&lease, 0, 4, whole[4..5].to_vec(), None).unwrap_err();
    assert!(error.to_string().contains("the server has lost records"), "{error}");
    refused::<()>(Err(error), Stale);
    // It goes on from what there is.
    store.append(&lease, 0, 3, whole[3..].to_vec(), None).unwrap();
    store.release(lease).unwrap();
    assert_eq!(store.records(&thread, 0).unwrap(), whole);
    is_sound(&store);
}

#[test]
fn what_is_changed_in_any_table_is_refused_by_name_and_found_by_a_check() {
    for (change, says) in [
        (
            "UPDATE record SET body = replace(body, 'at', 'At') WHERE at = 1",
            "thread 손상, turn 1: journal record 1",
        ),
        ("UPDATE record SET seal = 'x' WHERE at = 2", "thread 손상, turn 1: journal record 2"),
        ("DELETE FROM record WHERE at = 1", "journal record 1: it is lost"),
        ("DELETE FROM record WHERE at = 2", "journal record 2: it is lost, and what follows it"),
        ("UPDATE record SET at = 7 WHERE at = 2", "it is lost"),
        ("UPDATE thread SET title = 'x'", "thread 손상: what is kept of it"),
        ("UPDATE thread SET turns = 2", "thread 손상: what is kept of it"),
        ("UPDATE thread SET standing = '{}'", "thread 손상: what is kept of it"),
        ("UPDATE thread SET status = 'failed'", "a list shows it as failed"),
        ("UPDATE thread SET waits = 5", "it is not at its place in lists"),
        ("UPDATE spec SET text = text || ' '", "a spec is not as it was written"),
        ("INSERT INTO record SELECT thread, 9, at, seal, body FROM record WHERE at = 1", "is no thread's"),
        ("INSERT INTO turn VALUES (77, 0, 1, 'x')", "is no thread's"),
    ] {
        let address = cluster().database();
        write_with_status(&at(&address), &id("손상"), 0, &done("답"));
        is_sound(&at(&address));
        connect(&address).batch_execute(&format!("SET search_path TO planwright; {change}")).unwrap();
        let store = at(&address);
        let found = store.check().unwrap();
        assert!(found.iter().any(|line| line.contains(says)), "{change}: {found:?}");
        assert_eq!(store.list(&Query::default()).unwrap().len(), 1, "{change}");
        if change.contains("record SET") || change.contains("DELETE") {
            refused(store.records(&id("손상"), 0), Damaged);
        }
    }
}

#[test]
fn tables_are_made_once_by_all_who_migrate_at_once_and_need_the_right_to_it() {
    let text = cluster().database();
    let address = Address::parse(&text).unwrap();
    let missing = PostgresStore::open(&address, Durability::Full).unwrap_err().to_string();
    assert!(missing.contains("planwright store migrate"), "{missing}");
    let made: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..6).map(|_| scope.spawn(|| PostgresStore::migrate(&address).unwrap())).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(made.iter().filter(|(before, _)| *before == 0).count(), 1, "{made:?}");
    write(&at(&text), &id("demo"), 0, 2);

    let role = format!("service_{}", text.rsplit('_').next().unwrap());
    let mut client = connect(&text);
    client.batch_execute(&format!("CREATE ROLE {role} LOGIN PASSWORD 'streng geheim'")).unwrap();
    let as_role = text.replace("planwright@", &format!("{role}:streng%20geheim@"));
    let refused_to =
        PostgresStore::open(&Address::parse(&as_role).unwrap(), Durability::Full).unwrap_err().to_string();
    assert!(refused_to.contains("scale.md") && !refused_to.contains("geheim"), "{refused_to}");
    // What the guide grants is enough.
    let guide =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/scale.md")).unwrap();
    let (_, grants) = guide.split_once("```sql\n").unwrap();
    let grants = grants.split("```").next().unwrap().replace("service", &role);
    client.batch_execute(&grants).unwrap();
    let store = at(&as_role);
    write_with_status(&store, &id("demo"), 1, &done("답"));
    store.delete(claim(&store, &id("demo"))).unwrap();
    write(&store, &id("again"), 0, 2);
    // Who does not own the tables cannot give back their space, and is told.
    let refused_to = store.vacuum().unwrap_err().to_string();
    assert!(
        refused_to.contains("the role that owns the tables") && refused_to.contains("vacuum"),
        "{refused_to}"
    );
    at(&text).vacuum().unwrap();
    is_sound(&store);

    let other = "CREATE DATABASE ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'";
    client.batch_execute(other).unwrap();
    let ascii = format!("{}/ascii", text.rsplit_once('/').unwrap().0);
    let refused_to = PostgresStore::migrate(&Address::parse(&ascii).unwrap()).unwrap_err().to_string();
    assert!(refused_to.contains("expected a database in UTF8"), "{refused_to}");
    assert!(
        !connect(&ascii)
            .query_one("SELECT to_regnamespace('planwright') IS NOT NULL", &[])
            .unwrap()
            .get::<_, bool>(0)
    );

    client.batch_execute("UPDATE planwright.store SET version = 99").unwrap();
    let newer = PostgresStore::open(&address, Durability::Full).unwrap_err().to_string();
    assert!(newer.contains("expected store version 1, found 99"), "{newer}");
    PostgresStore::migrate(&address).unwrap_err();
}

const ADDRESS: &str = "PLANWRIGHT_TEST_ADDRESS";

/// The child: takes a thread, and appends to it when it is told to. Does nothing where it is run as a test.
#[test]
fn process_that_holds_a_thread() {
    let Ok(address) = std::env::var(ADDRESS) else { return };
    let (store, thread) = (at(&address), id("멈춤"));
    let lease = claim(&store, &thread);
    store.append(&lease, 0, 0, records(&thread, 0, 2), None).unwrap();
    println!("\nholds");
    std::io::stdin().read_exact(&mut [0]).unwrap();
    let late = store.append(&lease, 0, 2, records(&thread, 0, 3)[2..].to_vec(), None);
    refused(late, Fenced);
    println!("\nfenced");
}

#[test]
fn process_that_hangs_has_lost_its_thread_and_writes_nothing_more() {
    let (address, thread) = (format!("{}?lease_timeout=1", cluster().database()), id("멈춤"));
    let (store, (teller, told)) = (at(&address), std::sync::mpsc::channel());
    let is_heard = store.listen(Box::new(move |heard| drop(teller.send(heard)))).unwrap();
    assert!(is_heard);
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "own::process_that_holds_a_thread", "--nocapture"]).env(ADDRESS, &address);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let next = |wanted: &Heard| while told.recv_timeout(Duration::from_secs(60)).unwrap() != *wanted {};
    next(&Heard::Written(thread.clone()));
    let error = store.claim(&thread, Claim::Known).unwrap_err();
    assert!(
        matches!(&error, StoreError::AlreadyRunning { holder, .. } if holder.contains(&child.id().to_string()))
    );
    let signal = |name: &str| {
        assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
    };
    signal("-STOP");
    next(&Heard::Left(thread.clone()));
    let lease = store.claim(&thread, Claim::Known).unwrap();
    signal("-CONT");
    child.stdin.take().unwrap().write_all(b"x").unwrap();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success() && said.contains("fenced"), "{said}");
    store.append(&lease, 0, 2, records(&thread, 0, 3)[2..].to_vec(), Some(&done("답"))).unwrap();
    store.release(lease).unwrap();
    assert_eq!(store.records(&thread, 0).unwrap().len(), 3);
    is_sound(&store);
}

#[test]
fn store_whose_name_and_version_are_lost_is_said_to_be_that_by_every_command() {
    let address = cluster().database();
    at(&address);
    connect(&address).batch_execute("DELETE FROM planwright.store").unwrap();
    let place = Address::parse(&address).unwrap();
    let opened = PostgresStore::open(&place, Durability::Full).map(drop);
    for error in [opened, PostgresStore::migrate(&place).map(drop)].map(Result::unwrap_err) {
        assert!(error.to_string().contains("its name and version are lost"), "{error}");
    }
}
