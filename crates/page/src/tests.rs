use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::export::{bundle, declared_name};

/// The one that imports comes behind what it imports, and what it takes is exported there.
#[test]
fn modules_import_only_what_stands_before_them() {
    let mut exported = BTreeSet::new();
    for file in MODULES {
        for line in
            file.text.lines().filter(|line| line.starts_with("import ") || line.contains(" from \"./"))
        {
            let (names, from) = line
                .strip_prefix("import { ")
                .and_then(|rest| rest.strip_suffix(".js\";")?.split_once(" } from \"./"))
                .unwrap_or_else(|| panic!("{}: an import is written on one line: {line}", file.path));
            for name in names.split(", ") {
                let name = name.split(" as ").next().unwrap_or(name);
                let declared = exported.contains(&format!("{from} {name}"));
                assert!(declared, "{}: ./{from}.js exports no {name} before it", file.path);
            }
        }
        let module = file.path.trim_start_matches("/page/").trim_end_matches(".js");
        let declared = file.text.lines().filter_map(|line| line.strip_prefix("export "));
        exported.extend(
            declared.map(|line| {
                format!("{module} {}", declared_name(line).expect("what is exported has a name"))
            }),
        );
    }
}

#[test]
fn every_asset_is_a_file_of_the_page_and_none_is_long() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let names =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let served = files().map(|file| match file.path {
        "/" => "index.html".to_owned(),
        path => path.trim_start_matches("/page/").to_owned(),
    });
    assert_eq!(names.collect::<BTreeSet<_>>(), served.collect());
    for file in MODULES {
        let lines = file.text.lines().count();
        assert!(lines <= 350, "{}: {lines} lines", file.path);
    }
}

/// Text of a run reaches the page as text: no module names what reads markup or runs a string.
#[test]
fn no_module_reads_markup_or_runs_text() {
    let unsafe_words = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
        "srcdoc",
        "DOMParser",
        "createContextualFragment",
        "javascript:",
        "setHTML",
        "http://",
        "https://",
    ];
    for file in MODULES {
        for word in unsafe_words {
            let namespace = file.text.replace("http://www.w3.org/2000/svg", "");
            assert!(!namespace.contains(word), "{}: {word}", file.path);
        }
    }
    assert!(!INDEX.text.contains("<style") && !INDEX.text.contains(" style=") && !INDEX.text.contains(" on"));
}

#[test]
fn an_exported_file_is_closed_by_nothing_in_it() {
    let view = r#"{"kind":"run","view":{"question":"</script><script>alert(1)</script><!--"}}"#;
    let file = export("</title><script>alert(2)</script> & more", view);
    assert_eq!(file.matches("<script").count(), 2, "the data and the modules");
    assert_eq!(file.matches("</script").count(), 2);
    assert!(file.contains(r"\u003c/script>\u003cscript>alert(1)"));
    assert!(file.contains("<title>&lt;/title>&lt;script>alert(2)&lt;/script> &amp; more</title>"));
    assert!(!bundle().contains("</script") && !bundle().contains("<!--"), "the script closes itself nowhere");
    assert!(!file.contains("import ") && !file.contains("\nexport "));
    assert!(file.contains("script-src 'sha256-") && !file.contains("unsafe-inline"));
}
