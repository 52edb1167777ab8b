//! The address of a database: what is shown of it, and which connections are encrypted.

use planwright_postgres::Address;

/// An address as it is shown, and whether it reads; no password is in either.
fn shown(text: &str) -> (String, Result<bool, String>) {
    let address = Address::parse(text).unwrap();
    let (shown, read) = (address.to_string(), address.is_encrypted());
    let all = format!("{shown} {address:?} {read:?}");
    assert!(!all.contains("geheim") && !all.contains("g%65heim"), "{text}: {all}");
    let is_kept = address.secrets().iter().any(|secret| secret.expose().contains("geheim"));
    assert!(is_kept || !text.contains("heim"), "{text}");
    (shown, read)
}

#[test]
fn address_is_shown_as_it_was_understood_and_without_its_passwords() {
    for (text, says) in [
        ("postgres://u:p?geheim@db.example/agents", "postgres://u@db.example/agents"),
        ("postgres://u:g%65heim@db.example:77", "postgres://u@db.example:77"),
        ("Postgres://u:a/geheim@A:1,[::1]:2/d", "postgres://u@A:1,[::1]:2/d"),
        ("postgresql://u@h/d?pass%77ord=geheim&sslmode=disable", "postgresql://u@h/d?sslmode=disable"),
        ("postgres:///d?options=geheim&host=/run/pg&password=geheim", "postgres://%2Frun%2Fpg/d"),
        (
            "postgres://a%40b:geheim@h?hostaddr=::1&connect_timeout=3",
            "postgres://a%40b@h?hostaddr=::1&connect_timeout=3",
        ),
        ("postgres://u:geheim@?hostaddr=::1&port=7", "postgres://u@?hostaddr=::1&port=7"),
    ] {
        let (told, read) = shown(text);
        assert_eq!((&*told, read.err()), (says, None), "{text}");
        assert_eq!(shown(&told).0, told);
    }
    for (text, problem) in [
        ("postgres://service:geheim", "`port`"),
        ("postgres://u%3Ageheim@h/d", "role"),
        ("postgres://u@h/d?Password=geheim", "expected sslmode, sslrootcert"),
        ("postgres://u@h/d?passwort=geheim", "expected sslmode, sslrootcert"),
        ("postgres://u@h/d?geheim", "NAME=VALUE"),
        ("postgres://u@h/d?sslmode=geheim", "sslmode disable or verify-full"),
        ("postgres://u:p@geheim@h/d", "%40"),
        ("postgres://u:p@s/geheim@h/d", "%40"),
        ("postgres://h:5432/d?password=p@geheim", "%40"),
        ("postgres://h/d?password=p@geheim", "role"),
        ("postgres://u@h/d?host=A,B", "postgres://USER@A:5432,B:5432/DATABASE"),
        ("postgres://u:geheim@h/d?sslrootcert=/dev/null", "no certificate"),
    ] {
        let (told, read) = shown(text);
        let said = read.unwrap_err();
        assert!(said.contains(problem), "{text}: {said}");
        assert!(told == "postgres://" || text.contains("sslrootcert"), "{text}: {told}");
    }
}

#[test]
fn only_what_is_sure_to_be_on_this_machine_is_spoken_to_in_the_clear() {
    let ca = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/tls/ca.pem");
    for (rest, encrypted) in [
        ("localhost/d", false),
        ("127.0.0.1,[::1]/d", false),
        ("/d", false),
        ("/d?host=/run/pg", false),
        ("/d?hostaddr=127.0.0.1", false),
        ("/d?hostaddr=192.0.2.1", true),
        ("localhost/d?hostaddr=192.0.2.1", true),
        ("db.example/d?hostaddr=127.0.0.1", true),
        ("localhost,db.example/d", true),
        ("/d?hostaddr=192.0.2.1&sslmode=disable", false),
        (&format!("localhost/d?sslrootcert={ca}"), true),
    ] {
        assert_eq!(shown(&format!("postgres://u@{rest}")).1, Ok(encrypted), "{rest}");
    }
}
