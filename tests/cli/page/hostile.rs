//! Texts of strangers: shown as text, never run, and the layout holds.

use planwright::agents;
use planwright::contract::{ToolContract, ToolEffect};
use planwright::driver::Agent;
use planwright::journal::FileJournal;
use planwright::machine::Input;
use serde_json::json;

use super::axe::is_accessible;
use super::world::open;
use crate::cli_support::store::keep;
use crate::cli_support::{Home, Says, Script};
use crate::serve::Service;

/// What runs or breaks out where text is taken for markup, and turns what stands around it where it is not isolated.
const HOSTILE: &str = "<img src=x onerror=window.ran=1><script>window.ran=1</script></pre></script><svg onload=window.ran=1> \
    [a](javascript:window.ran=1) \u{202e}txet denrut\u{2066} {{7*7}} ${window.ran=1} &lt;b&gt; \
    pass\u{200b}word\u{200d} 👩\u{200d}💻 क्\u{200d}ष";

/// A thread's name may be as long as 120 bytes and say nothing that turns the direction of writing.
const NAME: &str = "<img src=x onerror=window.ran=1><script>window.ran=1</script> שלום ﷽ \"'&";

/// Keeps a thread whose question, agent, plan, result and answer are all hostile, with a line of a megabyte each in the
/// result and the answer.
pub fn keep_hostile(home: &Home) {
    let line = "W".repeat(1_000_000);
    let long = format!("{HOSTILE}{line}");
    let contract = ToolContract::text("fetch", HOSTILE, ToolEffect::Pure).max_output_bytes(4_000_000);
    let mut spec = agents::shipped("validated").unwrap().with_tools(|_| false);
    HOSTILE.clone_into(&mut spec.name);
    HOSTILE.clone_into(&mut spec.description);
    spec.tools.push(contract.clone());
    spec.limits.max_reply_bytes = 4_000_000;
    let plan = json!({"goal": HOSTILE, "steps": [{"tool": "fetch", "input": HOSTILE}, {"tool": "final_answer", "input": HOSTILE}]});
    let no = json!({"ok": false, "reason": HOSTILE, "fix_hint": HOSTILE}).to_string();
    let good = json!({"ok": true, "reason": HOSTILE, "fix_hint": ""}).to_string();
    let plan = plan.to_string();
    let agent = Agent::builder(spec).model(Script::of(&[&plan, &no, &plan, &good, &long]));
    let agent = agent.tool(Says(contract, Ok(long.clone()))).build().unwrap();
    let path = home.path("hostile.jsonl");
    let mut journal = FileJournal::create(&path).unwrap();
    agent.job(Input::question(HOSTILE)).journal(&mut journal).run().unwrap();
    keep(home, NAME, &path);
}

#[test]
fn texts_of_strangers_are_shown_as_text() {
    let home = Home::new();
    keep_hostile(&home);
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = open(&service, NAME, "") else { return };
    for (width, height) in [(1280, 900), (360, 740)] {
        tab.resize(width, height);
        for rest in ["", "/1"] {
            tab.go(&super::world::address(NAME, rest));
            // Characters that turn the direction are shown by their number.
            tab.shows(&["<img src=x onerror=window.ran=1>", "U+202E"]);
            // Characters that hide as well, and a joiner where it joins nothing.
            tab.shows(&["passU+200BwordU+200D", "👩\u{200d}💻 क्\u{200d}ष"]);
            tab.fits();
            assert!(tab.is("typeof window.ran === 'undefined'"), "a text of a stranger ran");
            assert!(tab.is("!document.querySelector('main script, main img, main svg[onload]')"));
            is_accessible(&tab, "texts of strangers");
        }
        tab.go("/#/");
        tab.shows(&["<img src=x"]);
        tab.fits();
    }
}
