//! The house holds its shape: who may import whom, who may name which crate, what stays pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use crate::imports::{Imports, crates, root, sources};

/// The floors of the engine, lowest first. A module may name modules on lower floors and its own folder.
const FLOORS: [&[&str]; 7] =
    [&["contract"], &["spec"], &["machine", "agents"], &["prompt"], &["ports"], &["journal"], &["driver"]];

/// The crates of the workspace, lowest first. A crate may name those on lower floors.
const CRATES: [&[&str]; 6] = [
    &["planwright", "planwright-page"],
    &[
        "planwright-http",
        "planwright-docs",
        "planwright-offline",
        "planwright-otel",
        "planwright-postgres",
        "planwright-sqlite",
        "planwright-typed",
    ],
    &["planwright-mcp"],
    &["planwright-app"],
    &["planwright-serve"],
    &["planwright-cli"],
];

/// The most crates in the engine's tree, the engine included.
const MOST_CRATES: usize = 38;

/// The code of every file of the engine: comments and unit tests left out.
fn code(folder: &str) -> BTreeMap<String, String> {
    let strip = |text: String| {
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        code.join("\n")
    };
    sources(folder).into_iter().map(|(file, text)| (file, strip(text))).collect()
}

fn room(file: &str) -> &str {
    file.trim_start_matches("src/").split(['/', '.']).next().unwrap_or_default()
}

fn floor(file: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room(file)))
}

fn upstairs(imports: &Imports) -> Vec<String> {
    let mut wrong = Vec::new();
    for (file, imported) in imports.edges() {
        for other in imported {
            if room(file) != room(other) && floor(other) >= floor(file) && file != "src/lib.rs" {
                wrong.push(format!("{file} imports {other}"));
            }
        }
    }
    wrong
}

#[test]
fn imports_point_only_downstairs_and_every_room_has_a_floor() {
    for file in sources("src").keys().filter(|file| *file != "src/lib.rs") {
        assert!(floor(file).is_some(), "{file} is on no floor");
    }
    let wrong = upstairs(&Imports::of("src"));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_files_import_one_another_in_a_circle() {
    let mut circles = Vec::new();
    for folder in crates() {
        let imports = Imports::of(&folder);
        let edges = imports.edges();
        for circle in imports.circles() {
            let ties = circle.iter().flat_map(|file| edges[file].iter().map(move |other| (*file, *other)));
            let inside = ties.filter(|(_, other)| circle.contains(other));
            circles.extend(inside.map(|(file, other)| format!("{file} -> {other}")));
        }
    }
    assert!(circles.is_empty(), "{circles:#?}");
}

/// The files of a small house, by their paths.
fn house(files: &[(&str, &str)]) -> Imports {
    let files = files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
    Imports::of_sources("src", &files)
}

#[test]
fn an_import_that_points_upstairs_is_seen() {
    let house = house(&[
        ("src/lib.rs", "pub mod machine; pub mod driver;"),
        ("src/machine/mod.rs", "mod route; pub use route::Exit;"),
        ("src/machine/route.rs", "use crate::driver::{Agent as A}; pub enum Exit {}"),
        ("src/driver/mod.rs", "mod agent; pub use agent::Agent;"),
        ("src/driver/agent.rs", "pub struct Agent(crate::machine::Exit);"),
    ]);
    assert_eq!(upstairs(&house), ["src/machine/route.rs imports src/driver/agent.rs"]);
}

#[test]
fn a_circle_is_seen_through_re_exports_paths_and_parents() {
    let parent = ("src/lib.rs", "mod a; mod b; mod c; pub use a::A; pub use b::*; pub fn top() {}");
    let circle = house(&[
        parent,
        ("src/a.rs", "pub struct A(super::B);"),
        ("src/b.rs", "pub struct B; fn f() { crate::c::go() }"),
        ("src/c.rs", "pub fn go() -> Option<crate::A> { None }"),
    ]);
    assert_eq!(circle.circles(), [["src/a.rs", "src/b.rs", "src/c.rs"]]);
    let through_the_parent = house(&[
        ("src/lib.rs", "mod a; pub fn top() { a::go() }"),
        ("src/a.rs", "use super::top; pub fn go() { top() }"),
    ]);
    assert_eq!(through_the_parent.circles(), [["src/a.rs", "src/lib.rs"]]);
    let none = house(&[
        parent,
        ("src/a.rs", "use super::b; pub struct A(b::B);"),
        ("src/b.rs", "pub struct B; #[cfg(test)] mod tests { use crate::A; }"),
        ("src/c.rs", "pub use crate::A;"),
    ]);
    assert_eq!(none.circles(), Vec::<Vec<&str>>::new());
}

#[test]
fn only_one_file_names_statig() {
    let naming = code("src").into_iter().filter(|(_, code)| code.contains("statig"));
    assert!(naming.map(|(file, _)| file).eq(["src/machine/hierarchy.rs"]));
}

#[test]
fn all_edges_are_in_one_file() {
    for (file, code) in code("src/machine") {
        if file.starts_with("src/machine/phase/") {
            assert!(!code.contains("Phase::"), "{file} names a phase; only route.rs says what follows");
            assert!(!code.contains("Next::"), "{file} names what follows; only route.rs does");
        }
    }
}

/// What a pure room may not name.
const IMPURE: &str = "std::fs std::io std::net std::env std::process std::thread std::time std::sync::Mutex \
    Instant SystemTime println! eprintln! dbg! rand jiff ureq HashSet RefCell";

#[test]
fn the_machine_names_no_io_no_clock_and_no_chance() {
    for folder in ["src/contract", "src/spec", "src/machine", "src/prompt", "src/agents"] {
        for (file, code) in code(folder) {
            for word in IMPURE.split_whitespace() {
                // Names checked for doubles and never iterated; and one call for people, `Spec::from_file`.
                let exceptions = [("src/spec/compiled.rs", "HashSet"), ("src/agents/mod.rs", "std::fs")];
                let allowed = exceptions.contains(&(file.as_str(), word));
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
    let record = code("src/journal").into_iter().filter(|(file, _)| file.ends_with("record.rs"));
    let kept = code("src/machine").into_iter().chain(record);
    // The walk over all states keeps none of its own, and a schedule looks names up and never goes through them.
    let looks_up = ["src/machine/explore/", "src/machine/state/schedule.rs"];
    for (file, code) in kept.filter(|(file, _)| !looks_up.iter().any(|known| file.starts_with(known))) {
        assert!(!code.contains("HashMap") && !code.contains("HashSet"), "{file}");
    }
}

#[test]
fn no_code_asks_which_agent_runs() {
    let names: Vec<&str> = planwright::agents::names().collect();
    let all = crates().into_iter().flat_map(|folder| code(&folder));
    for (file, code) in all {
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
        let spec = planwright::spec::Spec::from_toml(planwright::agents::source(name).expect("a source"))
            .expect(name);
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
    let over_a_contract = "hybrid_search get_article_by_index get_article_by_title lookup_standard_contract";
    assert_eq!(names.join(" "), format!("docs calc wiki lookup search {over_a_contract}"));
    for tool in &tools {
        tool.check().expect(&tool.name);
    }
}

#[test]
fn every_code_that_ends_a_run_is_in_the_guide() {
    let source = fs::read_to_string(root().join("src/machine/vocabulary/outcome.rs")).expect("a file");
    let codes = source.split("pub enum ErrorCode {").nth(1).and_then(|rest| rest.split('}').next());
    let guide = fs::read_to_string(root().join("docs/guide/specs.md")).expect("a file");
    let variants = codes.expect("the codes").lines().map(str::trim).filter(|line| !line.starts_with("//"));
    for variant in variants.filter_map(|line| line.strip_suffix(',')) {
        let mut code = String::new();
        for letter in variant.chars() {
            code.extend((letter.is_uppercase() && !code.is_empty()).then_some('_'));
            code.extend(letter.to_uppercase());
        }
        assert!(guide.contains(&format!("`{code}`")), "docs/guide/specs.md does not name {code}");
    }
}

#[test]
fn unsafe_code_is_forbidden_and_documentation_is_not_optional_in_every_crate() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("the manifest");
    assert!(manifest.contains("unsafe_code = \"forbid\"") && manifest.contains("missing_docs = \"deny\""));
    for folder in crates() {
        let manifest = root().join(&folder).with_file_name("Cargo.toml");
        let manifest = fs::read_to_string(&manifest).expect("a manifest");
        assert!(manifest.contains("[lints]\nworkspace = true"), "{folder}");
    }
}

/// What `cargo tree` says of a package's dependencies, a crate a line. Reads the lock file, so it needs no
/// network.
fn tree(package: &str) -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["tree", "--offline", "--edges", "normal", "--prefix", "none", "--package", package]);
    let tree = cargo.current_dir(root()).output().expect("cargo runs");
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    String::from_utf8_lossy(&tree.stdout).replace(" (*)", "").lines().map(str::to_owned).collect()
}

/// The engine has no crate for network, database or command line in its tree, and few at all.
#[test]
fn the_engine_stays_light() {
    let tree = tree("planwright");
    let heavy = ["ureq", "rustls", "tantivy", "clap", "rusqlite", "fend-core", "tokio", "anyhow"];
    for line in &tree {
        let name = line.split(' ').next().unwrap_or_default();
        assert!(!heavy.contains(&name), "the engine depends on {name}");
    }
    assert!(tree.len() <= MOST_CRATES, "{} crates: {tree:#?}", tree.len());
}

#[test]
fn each_crate_names_only_those_below_it() {
    for (floor, packages) in CRATES.iter().enumerate() {
        let below = CRATES[..floor].concat();
        for package in *packages {
            let ours = tree(package);
            let ours = ours.iter().filter_map(|line| line.split(' ').next());
            for other in ours.filter(|name| name.starts_with("planwright") && name != package) {
                assert!(below.contains(&other), "{package} depends on {other}");
            }
        }
    }
}

/// Every crate in the tree may be used under a permissive licence. Reads what the crates themselves
/// declare, without a network. `PLANWRIGHT_MANIFEST` names the manifest of another workspace.
#[test]
fn every_dependency_has_a_permissive_licence() {
    let args = "metadata --offline --format-version 1 --filter-platform x86_64-unknown-linux-gnu";
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(args.split(' '));
    if let Some(manifest) = std::env::var_os("PLANWRIGHT_MANIFEST") {
        cargo.arg("--manifest-path").arg(manifest);
    }
    let metadata = cargo.current_dir(root()).output().expect("cargo runs");
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    let permissive = "MIT, Apache-2.0, Apache-2.0 WITH LLVM-exception, BSD-2-Clause, BSD-3-Clause, ISC, Zlib, 0BSD, \
        Unlicense, CC0-1.0, MIT-0, Unicode-3.0, BSL-1.0, CDLA-Permissive-2.0";
    let permissive: Vec<&str> = permissive.split(", ").collect();
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
