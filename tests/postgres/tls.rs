//! A connection over TLS, with a password that is bound to it.

use std::path::Path;
use std::time::Duration;

use planwright::journal::{Durability, StoreError};
use planwright_postgres::{Address, PostgresStore};

use crate::server::{Cluster, connect};
use crate::support::{id, is_sound, write};

/// A server that lets the role `service` in over TLS only, by its password.
fn start(data: &Path) -> (Cluster, String) {
    let server = Cluster::start(&[]);
    let address = server.database();
    for (from, to) in [("server.pem", "data/server.crt"), ("server.key", "data/server.key")] {
        server.write(to, &std::fs::read(data.join(from)).unwrap());
    }
    let rules = "hostssl all service all scram-sha-256\nhostnossl all service all reject\n";
    let known = std::fs::read_to_string(server.path("data/pg_hba.conf")).unwrap();
    server.write("data/pg_hba.conf", format!("{rules}{known}").as_bytes());
    let mut client = connect(&address);
    client.batch_execute("CREATE ROLE service LOGIN SUPERUSER PASSWORD 'streng geheim'").unwrap();
    client.batch_execute("ALTER SYSTEM SET ssl = on").unwrap();
    client.batch_execute("SELECT pg_reload_conf()").unwrap();
    while connect(&address).query_one("SHOW ssl", &[]).unwrap().get::<_, &str>(0) != "on" {
        std::thread::sleep(Duration::from_millis(10));
    }
    (server, address)
}

#[test]
fn connection_is_encrypted_the_certificate_is_checked_and_the_password_is_never_shown() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/tls");
    let (_server, address) = start(&data);
    let by_password = address.replace("planwright@", "service:streng%20geheim@");
    let open = |address: &str, query: &str| -> Result<PostgresStore, StoreError> {
        PostgresStore::make(&Address::parse(&format!("{address}?{query}")).unwrap(), Durability::Full)
    };
    let [known, stranger] = ["ca.pem", "server.pem"].map(|name| data.join(name).display().to_string());
    for (nth, mode) in ["verify-full", "require"].into_iter().enumerate() {
        let bound = format!("sslmode={mode}&sslrootcert={known}&channel_binding=require");
        let store = open(&by_password, &bound).unwrap();
        write(&store, &id(&format!("비밀 {nth}")), 0, 3);
        is_sound(&store);
        let encrypted = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
             WHERE ssl AND usename = 'service'";
        let count: i64 = connect(&address).query_one(encrypted, &[]).unwrap().get(0);
        assert!(count >= 2, "a connection, and the session: {count}");
    }
    let elsewhere = by_password.replace("127.0.0.1", "localhost");
    let wrong = by_password.replace("streng", "falsch");
    for (address, query, says) in [
        // Those that browsers know vouch for no server of ours.
        (&by_password, "sslmode=verify-full", "UnknownIssuer"),
        (&by_password, &*format!("sslmode=require&sslrootcert={stranger}"), "UnknownIssuer"),
        (&elsewhere, &format!("sslmode=verify-full&sslrootcert={known}"), "not valid for name"),
        (&wrong, &format!("sslmode=verify-full&sslrootcert={known}"), "does not let the role in"),
        (&by_password, "sslmode=disable", "does not let the role in"),
        (&by_password, "sslmode=prefer", "expected sslmode disable or verify-full"),
        (
            &by_password,
            "sslmode=verify-full&sslrootcert=/nowhere.pem",
            "sslrootcert: /nowhere.pem cannot be read",
        ),
    ] {
        let error = open(address, query).unwrap_err();
        let (shown, whole) = (error.to_string(), format!("{error:?}"));
        assert!(shown.contains(says), "{query}: {shown}");
        assert!(!shown.contains("geheim") && !whole.contains("geheim"), "{query}: {whole}");
    }
}
