//! The house holds its shape: who may import whom, who may name which crate, what stays pure.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The floors, lowest first. A module may name modules on lower floors and its own folder.
const FLOORS: [(&str, u32); 9] = [
    ("contract", 0),
    ("spec", 1),
    ("machine", 2),
    ("agents", 2),
    ("prompt", 3),
    ("journal", 4),
    ("driver", 5),
    ("model", 6),
    ("tool", 6),
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every source file under a folder with its path and its code: comments, doctests and the unit
/// tests at its end left out.
fn sources(folder: &str) -> BTreeMap<String, String> {
    fn walk(folder: &Path, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).expect("a folder of the crate") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).expect("a source file");
                let text = text.split("#[cfg(test)]").next().unwrap_or_default();
                let code: Vec<&str> =
                    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
                let name = path.strip_prefix(root()).expect("inside").to_string_lossy().replace('\\', "/");
                found.insert(name, code.join("\n"));
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&root().join(folder), &mut found);
    assert!(!found.is_empty(), "{folder} has no source file");
    found
}

fn floor(module: &str) -> Option<u32> {
    FLOORS.iter().find(|(name, _)| *name == module).map(|(_, floor)| *floor)
}

/// The modules of this crate that a piece of code names by `crate::…`.
fn named(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let mut rest = rest.trim_start();
        if let Some(inner) = rest.strip_prefix('{') {
            // `use crate::{a::X, b::Y}`: every name after an opening brace or a comma at this depth.
            let mut depth = 0;
            let mut word = String::new();
            for letter in inner.chars() {
                match letter {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    _ => {}
                }
                if depth == 0 && (letter.is_alphanumeric() || letter == '_') {
                    word.push(letter);
                } else if !word.is_empty() {
                    names.push(std::mem::take(&mut word));
                }
            }
            continue;
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        rest = &rest[..end];
        names.push(rest.to_owned());
    }
    names
}

fn upstairs(file: &str, code: &str) -> Vec<String> {
    let module = file.trim_start_matches("src/").split(['/', '.']).next().expect("a module");
    let Some(own) = floor(module) else { return Vec::new() };
    let wrong = |name: &String| match (name.as_str(), floor(name)) {
        ("cli", _) => true,
        (name, Some(theirs)) => name != module && theirs >= own,
        _ => false,
    };
    named(code).into_iter().filter(wrong).map(|name| format!("{file} names {name}")).collect()
}

#[test]
fn imports_point_only_downstairs() {
    let wrong: Vec<String> = sources("src").iter().flat_map(|(file, code)| upstairs(file, code)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_import_that_points_upstairs_is_seen() {
    assert_eq!(upstairs("src/machine/route.rs", "use crate::driver::Agent;").len(), 1);
    assert_eq!(upstairs("src/contract/plan.rs", "use crate::{spec::CompiledSpec, contract::Plan};").len(), 1);
    assert_eq!(upstairs("src/driver/job.rs", "let x = crate::model::Offline::new();").len(), 1);
    assert!(upstairs("src/prompt/mod.rs", "use crate::spec::{Digest, RequestFrame};").is_empty());
}

#[test]
fn only_one_file_names_statig() {
    let files: Vec<String> = sources("src")
        .into_iter()
        .filter(|(_, code)| code.contains("statig"))
        .map(|(file, _)| file)
        .collect();
    assert_eq!(files, ["src/machine/hierarchy.rs"]);
}

#[test]
fn only_models_and_tools_name_ureq() {
    for (file, code) in sources("src") {
        let door = file.starts_with("src/model/") || file.starts_with("src/tool/");
        assert!(door || !code.contains("ureq"), "{file} names ureq");
    }
}

#[test]
fn only_the_store_in_a_database_names_rusqlite() {
    for (file, code) in sources("src") {
        let door = file.starts_with("src/journal/threads/sqlite/");
        assert!(door || !code.contains("rusqlite"), "{file} names rusqlite");
    }
}

#[test]
fn all_edges_are_in_one_file() {
    for (file, code) in sources("src/machine") {
        let phases = ["plan.rs", "execute.rs", "validate.rs", "write.rs"];
        if phases.iter().any(|phase| file == format!("src/machine/{phase}")) {
            assert!(!code.contains("Phase::"), "{file} names a phase; only route.rs says what follows");
            assert!(!code.contains("Next::"), "{file} names what follows; only route.rs does");
        }
    }
}

/// What a pure room may not name.
const IMPURE: [&str; 18] = [
    "std::fs",
    "std::io",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "std::time",
    "std::sync::Mutex",
    "Instant",
    "SystemTime",
    "println!",
    "eprintln!",
    "dbg!",
    "rand",
    "jiff",
    "ureq",
    "HashSet",
    "RefCell",
];

#[test]
fn the_machine_names_no_io_no_clock_and_no_chance() {
    for folder in ["src/contract", "src/spec", "src/machine", "src/prompt", "src/agents"] {
        for (file, code) in sources(folder) {
            for word in IMPURE {
                let allowed = match (file.as_str(), word) {
                    // Names checked for doubles; never iterated.
                    ("src/spec/rules.rs", "HashSet") => true,
                    _ => false,
                };
                let found = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':' || c == '!'));
                let named =
                    found.into_iter().any(|token| token == word || token.starts_with(&format!("{word}::")));
                assert!(allowed || !named, "{file} names {word}");
            }
        }
    }
}

/// No hash-ordered map where a state is kept: its order would change from run to run.
#[test]
fn no_state_keeps_a_hash_ordered_map() {
    let others = ["src/machine/event.rs", "src/machine/trace.rs", "src/journal/record.rs"];
    let other = |file: &str| {
        let code = fs::read_to_string(root().join(file)).expect("a source file");
        (file.to_owned(), code)
    };
    let state = sources("src/machine/state");
    assert!(!state.is_empty(), "the state has files");
    for (file, code) in state.into_iter().chain(others.map(other)) {
        assert!(!code.contains("HashMap") && !code.contains("HashSet"), "{file}");
    }
}

#[test]
fn no_code_asks_which_agent_runs() {
    let names: Vec<&str> = planwright::agents::names().collect();
    for (file, code) in sources("src") {
        if file == "src/agents/mod.rs" {
            continue;
        }
        for name in &names {
            // The program's default agent is `agents::DEFAULT`; nobody else knows one by name.
            assert!(!code.contains(&format!("\"{name}\"")), "{file} names the agent {name:?}");
        }
    }
}

#[test]
fn every_shipped_agent_loads() {
    for name in planwright::agents::names() {
        let spec = planwright::agents::load(planwright::agents::source(name).expect("a source")).expect(name);
        assert_eq!(spec.name, name);
        assert_eq!(planwright::agents::shipped(name), Some(spec.clone()));
        // A spec survives a journal: JSON out, JSON in.
        let text = serde_json::to_string(&spec).expect("serialises");
        assert_eq!(serde_json::from_str::<planwright::spec::Spec>(&text).expect("reads back"), spec);
    }
    assert!(planwright::agents::shipped(planwright::agents::DEFAULT).is_some());
}

#[test]
fn every_shipped_tool_contract_is_sound() {
    let tools = planwright::agents::tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let over_a_contract =
        ["hybrid_search", "get_article_by_index", "get_article_by_title", "lookup_standard_contract"];
    assert_eq!(names[..5], ["docs", "calc", "wiki", "lookup", "search"]);
    assert_eq!(names[5..], over_a_contract);
    for tool in &tools {
        tool.check().expect(&tool.name);
    }
}

#[test]
fn unsafe_code_is_forbidden_and_documentation_is_not_optional() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the manifest");
    assert!(manifest.contains("unsafe_code = \"forbid\"") && manifest.contains("missing_docs = \"deny\""));
    let lib = fs::read_to_string(root().join("src/lib.rs")).expect("the library");
    assert!(lib.contains("#![forbid(unsafe_code)]"));
}

/// The light library: its tree has no crate for network, database or command line. The check reads
/// the lock file, so it needs no network.
#[test]
fn without_features_the_tree_has_no_network_database_or_command_line() {
    let tree = std::process::Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--no-default-features", "--edges", "normal", "--prefix", "none"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8_lossy(&tree.stdout);
    let heavy = [
        "ureq",
        "rustls",
        "tantivy",
        "clap",
        "indicatif",
        "rusqlite",
        "libsqlite3-sys",
        "fend-core",
        "tokio",
        "anyhow",
    ];
    for line in tree.lines() {
        let name = line.split(' ').next().unwrap_or_default();
        assert!(!heavy.contains(&name), "the light library depends on {name}");
    }
    assert!(tree.lines().count() < 60, "{tree}");
}

/// Every crate in the tree may be used under a permissive licence. Reads what the crates themselves
/// declare, without a network.
#[test]
fn every_dependency_has_a_permissive_licence() {
    let metadata = std::process::Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--offline",
            "--format-version",
            "1",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    let permissive = [
        "MIT",
        "Apache-2.0",
        "Apache-2.0 WITH LLVM-exception",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "ISC",
        "Zlib",
        "0BSD",
        "Unlicense",
        "CC0-1.0",
        "MIT-0",
        "Unicode-3.0",
        "BSL-1.0",
        "CDLA-Permissive-2.0",
    ];
    for package in metadata["packages"].as_array().expect("packages") {
        let licence = package["license"].as_str().unwrap_or("(none)").replace('/', " OR ");
        // A choice needs one permissive side; a conjunction needs all of them permissive.
        let fine = licence
            .replace(['(', ')'], "")
            .split(" OR ")
            .any(|choice| choice.split(" AND ").all(|one| permissive.contains(&one.trim())));
        assert!(fine, "{} {}: {licence}", package["name"], package["version"]);
    }
}
