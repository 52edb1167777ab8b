//! What is pressed twice, too late or for another thread does what the person meant, or says that it did not.

use planwright::agents;
use planwright::contract::ToolEffect;
use planwright::driver::Agent;
use planwright::journal::FileJournal;
use planwright::machine::Input;
use planwright::spec::Approval;
use serde_json::json;

use super::tab::Tab;
use super::world::{keep_plan, open, told};
use crate::cli_support::store::{keep, wants_approval};
use crate::cli_support::{Home, Says, Script};
use crate::serve::Service;
use crate::support::Answer;
use crate::world::{GOOD, PLAN, SUM};

#[test]
fn ask_that_is_pressed_twice_begins_one_thread() {
    let home = Home::new();
    let (service, model, tell) = told(&home, [PLAN, GOOD, "It is 300840."].map(Answer::reply).into());
    let Some(tab) = Tab::open(&service.address, "/") else { return };
    tab.fill("textbox", "Question", SUM);
    tab.click_times(2, "button", "Ask");
    tab.shows(&["PLAN"]);
    drop(tell);
    tab.shows(&["It is 300840."]);
    assert_eq!(service.get("/threads", 200)["threads"].as_array().unwrap().len(), 1);
    assert_eq!(model.count(), 3);
}

#[test]
fn what_cannot_be_taken_back_wants_a_second_press_after_its_question() {
    let home = Home::new();
    wants_approval(&home, "plan");
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = open(&service, "plan", "") else { return };
    for (name, question) in [("End this turn", "End it for good?"), ("Delete", "Delete for good?")] {
        tab.click_times(2, "button", name);
        tab.until("it may be pressed", || tab.find("button", question).property("disabled") != "true");
        assert_eq!(service.get("/threads/plan", 200)["turns"][0]["status"], "waiting", "{name}");
    }
    tab.click("button", "Delete for good?");
    tab.find("heading", "What should be done?");
    service.refuses(("GET", "/threads/plan", &json!(null)), 404, "no-such-thread", "");
}

#[test]
fn question_for_a_thread_that_is_there_is_not_asked_and_stays() {
    let home = Home::new();
    wants_approval(&home, "plan");
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = Tab::open(&service.address, "/") else { return };
    tab.fill("textbox", "Question", "7*6?");
    tab.fill("textbox", "Thread", "plan");
    tab.click("button", "Ask");
    tab.shows(&["Not asked: there is a thread of this name."]);
    assert_eq!(tab.find("textbox", "Question").node["value"]["value"], "7*6?");
    assert_eq!(service.get("/threads/plan", 200)["turns"].as_array().unwrap().len(), 1);
}

/// Somebody else answers just before the page does.
const RIVAL: &str = "(() => {
    const send = window.fetch;
    window.fetch = async (path, options) => {
        if (!String(path).endsWith('/hitl/resume')) return send(path, options);
        const { approve: _, ...asked } = JSON.parse(options.body);
        const headers = { ...options.headers, 'Idempotency-Key': 'rival', Accept: 'application/json' };
        const body = JSON.stringify({ ...asked, reject: 'no' });
        await (await send(path, { ...options, headers, body })).text();
        return send(path, options);
    };
})()";

#[test]
fn approval_that_comes_too_late_is_said_to_be_so() {
    let home = Home::new();
    wants_approval(&home, "plan");
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = open(&service, "plan", "") else { return };
    tab.find("button", "Approve");
    tab.value(RIVAL).unwrap();
    tab.click("button", "Approve");
    tab.shows(&["This was answered elsewhere: your “Approve” was not taken."]);
    tab.until("nobody is asked", || tab.all("button", "Approve").is_empty());
}

#[test]
fn steps_to_edit_show_characters_that_reorder_text_by_their_numbers() {
    let home = Home::new();
    let plan = json!({"goal": "g", "steps": [{"tool": "docs", "input": "a\u{202e}b"}, {"tool": "final_answer", "input": "x"}]});
    keep_plan(&home, "plan", "What?", &plan.to_string());
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = open(&service, "plan", "") else { return };
    tab.click("button", "Edit steps");
    let field = tab.find("textbox", "Steps that are left, as JSON").node["value"]["value"].to_string();
    assert!(field.contains(r"a\\u202eb") && !field.contains('\u{202e}'), "{field}");
}

/// What was done before is said with the question, and is no part of the input.
#[test]
fn input_to_edit_is_that_of_the_call_and_nothing_that_stands_behind_it() {
    let home = Home::new();
    let mut spec = agents::shipped("plan-then-execute").unwrap().with_tools(|tool| tool.name == "calc");
    spec.policy.approval = Approval::RISKY;
    (spec.tools[0].effect, spec.tools[0].needs_approval) = (ToolEffect::Write, true);
    let plan = r#"{"goal": "g", "steps": [{"tool": "calc", "input": "12/4+9"}, {"tool": "calc", "input": "6*7", "depends_on": ["step_1"]}, {"tool": "final_answer", "input": "x"}]}"#;
    let calc = Says(agents::tool("calc").unwrap(), Ok("12".to_owned()));
    let agent = Agent::builder(spec).model(Script::of(&[plan])).tool(calc).build().unwrap();
    let mut journal = FileJournal::create(home.path("made.jsonl")).unwrap();
    assert!(agent.job(Input::question("Sums?")).journal(&mut journal).run().unwrap().is_waiting());
    keep(&home, "sums", &home.path("made.jsonl"));
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = open(&service, "sums", "") else { return };
    tab.click("button", "Approve");
    tab.shows(&["Already made, and not made again"]);
    tab.click("button", "Edit input");
    assert_eq!(tab.find("textbox", "Input of the call").node["value"]["value"], "6*7");
}
