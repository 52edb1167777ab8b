//! What a server can lose: a disk that is full, and the last commits where a standby takes over without them.

use std::time::Duration;

use planwright::journal::JournalErrorKind::{Io, Stale};
use planwright::journal::{Durability, Store, StoreError};
use planwright_postgres::{Address, PostgresStore};

use crate::place::at;
use crate::server::{Cluster, connect};
use crate::support::{claim, done, id, is_sound, records, refused, write};

#[test]
fn full_disk_is_named_nothing_is_half_written_and_the_store_goes_on_when_there_is_space() {
    let Some(server) = Cluster::start_with_a_small_disk() else { return };
    let address = server.database();
    let (store, mut client) = (at(&address), connect(&address));
    let small = server.path("small").display().to_string();
    client.batch_execute(&format!("CREATE TABLESPACE small LOCATION '{small}'")).unwrap();
    client.batch_execute("ALTER TABLE planwright.record SET TABLESPACE small").unwrap();
    let fill = |nth: usize| {
        let thread = id(&format!("가득 {nth}"));
        let lease = claim(&store, &thread);
        let whole = records(&thread, 0, 40);
        let error = store.append(&lease, 0, 0, whole.clone(), None).err();
        if error.is_none() {
            store.release(lease).unwrap();
            return None;
        }
        error.map(|error| (lease, whole, error))
    };
    let (lease, whole, error) = (0..1_000).find_map(fill).expect("a megabyte is soon full");
    assert!(error.to_string().contains("no space left; nothing was written"), "{error}");
    refused::<()>(Err(error), Io);
    let thread = lease.thread().clone();
    assert!(matches!(store.turns(&thread), Err(StoreError::NoThread { .. })));
    is_sound(&store);
    client.batch_execute("ALTER TABLE planwright.record SET TABLESPACE pg_default").unwrap();
    store.append(&lease, 0, 0, whole.clone(), Some(&done("답"))).unwrap();
    store.release(lease).unwrap();
    assert_eq!(store.records(&thread, 0).unwrap(), whole);
    is_sound(&store);
}

#[test]
fn commits_that_a_standby_did_not_have_when_it_took_over_are_named() {
    let primary = Cluster::start(&[]);
    let (address, thread) = (primary.database(), id("승계"));
    write(&at(&address), &id("before"), 0, 2);
    let standby = primary.standby();
    let (one, other) = (
        format!("127.0.0.1:{}", primary.port),
        format!("127.0.0.1:{0},127.0.0.1:{1}", primary.port, standby.port),
    );
    let both = format!("{}?target_session_attrs=read-write", address.replace(&one, &other));
    let (store, whole) = (at(&both), records(&thread, 0, 7));
    let lease = claim(&store, &thread);
    store.append(&lease, 0, 0, whole[..3].to_vec(), None).unwrap();
    store.append(&lease, 0, 3, whole[3..4].to_vec(), None).unwrap();
    let mut there = standby.client(address.rsplit('/').next().unwrap());
    let mut wait = |sql: &str, count: i64| {
        for _ in 0..1_200 {
            if there.query_one(sql, &[]).unwrap().get::<_, i64>(0) == count {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{sql} never gives {count}");
    };
    wait("SELECT count(*) FROM planwright.record", 2 + 4);
    let beside = address.replace(&one, &format!("127.0.0.1:{}", standby.port));
    let reader = PostgresStore::open(&Address::parse(&beside).unwrap(), Durability::Normal).unwrap();
    assert!(reader.listen(Box::new(|_| ())).unwrap() && reader.records(&thread, 0).unwrap() == whole[..4]);
    drop(reader);
    // From here on the standby hears nothing.
    let mut stands_by = standby.client("postgres");
    stands_by.batch_execute("ALTER SYSTEM SET primary_conninfo = ''").unwrap();
    stands_by.batch_execute("SELECT pg_reload_conf()").unwrap();
    wait("SELECT count(*) FROM pg_stat_wal_receiver", 0);
    store.append(&lease, 0, 4, whole[4..6].to_vec(), None).unwrap();
    drop(primary);
    stands_by.batch_execute("SELECT pg_promote()").unwrap();
    let error = store.append(&lease, 0, 6, whole[6..].to_vec(), None).unwrap_err();
    assert!(error.to_string().contains("the server has lost records that it had"), "{error}");
    refused::<()>(Err(error), Stale);
    // It goes on from what there is.
    store.append(&lease, 0, 4, whole[4..].to_vec(), Some(&done("답"))).unwrap();
    store.release(lease).unwrap();
    assert_eq!(store.records(&thread, 0).unwrap(), whole);
    is_sound(&store);
}
