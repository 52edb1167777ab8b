//! Golden files: what `--json` says of a store and a fixture that an earlier version wrote holds every field
//! that it held then, with the same value.

use crate::cli_support::Home;

use std::path::Path;

use serde_json::Value;

/// Time goes on: these are other at every call.
const TIMES: [&str; 1] = ["waited_seconds"];

fn is_kept(golden: &Value, now: &Value, at: &str) {
    match (golden, now) {
        (Value::Object(golden), Value::Object(now)) => {
            for (key, golden) in golden.iter().filter(|(key, _)| !TIMES.contains(&key.as_str())) {
                let found = now.get(key).unwrap_or_else(|| panic!("{at}.{key} is gone"));
                is_kept(golden, found, &format!("{at}.{key}"));
            }
        }
        (Value::Array(golden), Value::Array(now)) => {
            assert_eq!(golden.len(), now.len(), "{at}");
            for (nth, (golden, now)) in golden.iter().zip(now).enumerate() {
                is_kept(golden, now, &format!("{at}[{nth}]"));
            }
        }
        _ => assert_eq!(golden, now, "{at}"),
    }
}

#[test]
fn json_keeps_every_field() {
    let home = Home::new();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    for file in ["store-2.db", "fixture-1.json"] {
        std::fs::copy(golden.join(file), home.path(file)).unwrap();
    }
    for (args, file) in [
        (&["threads", "list", "--store", "store-2.db"][..], "threads-list.json"),
        (&["threads", "show", "--store", "store-2.db", "waits"], "threads-show-waits.json"),
        (&["waiting", "--store", "store-2.db"], "waiting.json"),
        (&["replay", "fixture-1.json"], "replay.json"),
    ] {
        let said = home.check(&[args, &["--json"]].concat(), 0).stdout;
        let golden = std::fs::read_to_string(golden.join(file)).unwrap();
        is_kept(&serde_json::from_str(&golden).unwrap(), &serde_json::from_str(&said).unwrap(), file);
    }
}
