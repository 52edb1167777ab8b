//! The rules of axe-core (WCAG 2 A and AA, best practices), run in the page.

use std::path::Path;

use serde_json::Value;

use super::browser::skip;
use super::tab::Tab;

/// `npm install --prefix target/page axe-core`, as `.ci/run` does.
const FOLDER: &str = "../../target/page/node_modules/axe-core/axe.min.js";

const RUN: &str = "axe.run(document, {resultTypes: ['violations']}).then(({violations}) =>
    violations.flatMap(({id, impact, help, nodes}) =>
        nodes.map(({html, failureSummary}) => `${id} (${impact}): ${help}\n${html}\n${failureSummary}`)))";

/// Expects that what is shown violates no rule, light and dark.
#[track_caller]
pub fn is_accessible(tab: &Tab, view: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    let Ok(script) = std::fs::read_to_string(&path) else {
        return skip("axe-core is not installed: npm install --prefix target/page axe-core");
    };
    if !tab.is("typeof axe === 'object'") {
        tab.value(&format!("{script}; 0")).unwrap();
    }
    for scheme in ["light", "dark"] {
        tab.look(scheme);
        let violations: Vec<Value> = serde_json::from_value(tab.value(RUN).unwrap()).unwrap();
        let violations: Vec<&str> = violations.iter().filter_map(Value::as_str).collect();
        assert!(violations.is_empty(), "{view}, {scheme}:\n{}", violations.join("\n\n"));
    }
    tab.look("light");
}
