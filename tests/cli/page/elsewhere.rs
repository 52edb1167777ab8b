//! What happens elsewhere while a page is open: another tab answers, a thread is deleted, a key may not what others may.

use planwright::agents;
use planwright::driver::Agent;
use planwright::journal::FileJournal;
use planwright::machine::Input;
use serde_json::json;

use super::axe::is_accessible;
use super::tab::Tab;
use super::world::open;
use crate::cli_support::store::{is_in_doubt, keep, token, waits, wants_approval};
use crate::cli_support::{ASKED, Home, Says, Script};
use crate::serve::Service;
use crate::serve::keys::make_key;
use crate::support::{Answer, Server};
use crate::world::{GOOD, PLAN, SUM};

#[test]
fn what_was_typed_stays_when_another_answers() {
    let home = Home::new();
    waits(&home, "report");
    let token = token(&home, "report");
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = open(&service, "report", "") else { return };
    tab.shows(&[ASKED]);
    tab.fill("textbox", "Your answer", "not before Monday");
    let answer = json!({"thread_id": "report", "token": token, "response": "yes"});
    service.post("/hitl/resume", &answer, 200);
    tab.shows(&["This was answered elsewhere", "not before Monday"]);
    assert!(tab.all("textbox", "Your answer").is_empty());
    is_accessible(&tab, "answered elsewhere");
}

#[test]
fn thread_that_is_not_there_is_said_to_be_missing() {
    let home = Home::new();
    wants_approval(&home, "plan");
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = open(&service, "nosuch", "") else { return };
    let missing = "There is no thread of this name.";
    tab.shows(&[missing]);
    assert!(!tab.text().contains("begins") && tab.all("textbox", "Message").is_empty(), "{}", tab.text());
    tab.go("/#/t/nosuch/1");
    tab.shows(&[missing]);
    tab.go("/#/t/plan");
    tab.find("heading", "Approve this plan?");
    tab.hides(&[missing]);
    is_accessible(&tab, "missing thread");
}

#[test]
fn key_that_may_only_read_sees_no_button_that_would_be_refused() {
    let home = Home::new();
    wants_approval(&home, "bob:plan");
    let key = make_key(&home, "bob", &["--may", "read"]);
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = open(&service, "plan", "") else { return };
    tab.fill("textbox", "Key", &key);
    tab.press("Enter");
    tab.find("heading", "Approve this plan?");
    tab.shows(&["Here it can be looked at, and not answered."]);
    let refused = ["Approve", "Reject", "Edit steps", "End this turn", "Delete", "Send", "Fork", "Ask"];
    let buttons = || refused.iter().flat_map(|name| tab.all("button", name)).collect::<Vec<_>>();
    tab.until("no button would be refused", || buttons().is_empty());
    is_accessible(&tab, "chat for a reader");
    tab.click("link", "Look at the run of turn 1");
    tab.find("region", "Time travel");
    tab.until("no button would be refused", || buttons().is_empty());
    tab.go("/#/");
    tab.shows(&["nothing asked"]);
    tab.until("no button would be refused", || buttons().is_empty());
}

#[test]
fn service_that_only_shows_says_how_the_question_is_answered_elsewhere() {
    let home = Home::new();
    wants_approval(&home, "plan");
    let service = Service::start(&home, &["--offline", "--read-only"]);
    let Some(tab) = open(&service, "plan", "/1") else { return };
    tab.shows(&["Here it can be looked at, and not answered.", "planwright threads answer plan"]);
    assert!(tab.all("button", "Approve").is_empty() && tab.all("button", "Fork").is_empty());
    let says = "this service only shows";
    service.refuses(("POST", "/threads/plan/resume", &json!({})), 403, "forbidden", says);
}

/// Presses *Go on* twice, and counts what is asked.
const COUNT: &str = "(() => {
    const send = window.fetch;
    window.resumed = 0;
    window.fetch = (path, options) => {
        if (String(path).endsWith('/resume')) window.resumed += 1;
        return send(path, options);
    };
    const button = [...document.querySelectorAll('button')].find((one) => one.textContent === 'Go on');
    button.click();
    button.click();
})()";

#[test]
fn go_on_that_is_pressed_twice_is_asked_once() {
    let home = Home::new();
    let plan = r#"{"goal": "a sum", "steps": [{"tool": "calc", "input": "6*7"}, {"tool": "final_answer", "input": "say it"}]}"#;
    let spec = agents::shipped("plan-then-execute").unwrap().with_tools(|tool| tool.name == "calc");
    let calc = Says(agents::tool("calc").unwrap(), Ok("42".to_owned()));
    let agent = Agent::builder(spec).model(Script::of(&[plan])).tool(calc).build().unwrap();
    let mut journal = FileJournal::create(home.path("made.jsonl")).unwrap();
    agent.job(Input::question("6*7?")).journal(&mut journal).run().unwrap_err();
    keep(&home, "stopped", &home.path("made.jsonl"));
    let service = Service::start(&home, &["--offline", "--no-resume"]);
    let Some(tab) = open(&service, "stopped", "") else { return };
    tab.find("button", "Go on");
    tab.value(COUNT).unwrap();
    tab.until("it goes on", || tab.all("button", "Go on").is_empty());
    assert_eq!(tab.value("window.resumed").unwrap(), 1);
}

#[test]
fn write_in_doubt_is_said_at_its_step_and_what_was_sent_is_untrusted() {
    let home = Home::new();
    is_in_doubt(&home, "doubt");
    let service = Service::start(&home, &["--offline", "--no-resume"]);
    let Some(tab) = open(&service, "doubt", "/1") else { return };
    tab.find("heading", "Did this write happen?");
    tab.shows(&["untrusted exactly as it was sent"]);
    let steps = tab.find("list", "Steps of draft 1");
    let step = tab.value("document.querySelector('.steps li').innerText").unwrap();
    assert!(step.as_str().unwrap().contains("write in doubt"), "{step} {steps:?}");
}

#[test]
fn compare_is_shown_under_every_address_of_it_and_a_waiting_run_with_its_time_and_currency() {
    let home = Home::new();
    let model = Server::answering([PLAN, GOOD, "It is 300840."].map(Answer::reply));
    let prices = "currency = 'USD'\n[prices.m]\ninput = '2.50'\noutput = 10\n";
    let config = format!("base_url = '{}'\nmodel = 'm'\n{prices}", model.url());
    home.write("config/planwright/config.toml", &config);
    wants_approval(&home, "plan");
    let service = Service::start(&home, &[]);
    let Some(tab) = Tab::open(&service.address, "/") else { return };
    for (address, lacks) in [
        ("/#/compare", "Compare which two?"),
        ("/#/compare/", "Compare which two?"),
        ("/#/compare//1/plan/1", "Compare what with plan?"),
        ("/#/compare/plan", "Compare plan with what?"),
        ("/#/compare/plan/1/", "Compare plan with what?"),
        ("/#/compare/plan/1", "Compare plan with what?"),
    ] {
        tab.go(address);
        tab.find("heading", "Compare two runs");
        tab.shows(&[lacks]);
    }
    tab.click("checkbox", "with its replay under the agent as it is now");
    tab.click("button", "Compare");
    tab.shows(&["The replay stopped", "Recording", "Replay"]);
    is_accessible(&tab, "compared with its replay");
    tab.go("/#/compare/plan/1/plan/1");
    tab.shows(&["Both runs are the same."]);
    let row =
        "[...document.querySelectorAll('tr')].find((row) => row.innerText.startsWith('Time')).innerText";
    let time = tab.value(row).unwrap();
    assert!(!time.as_str().unwrap().contains('–'), "{time}");
    service.post("/chat", &json!({"message": SUM, "thread_id": "sum"}), 200);
    tab.go("/#/t/sum/1");
    tab.shows(&["Cost most", " USD"]);
    tab.fits();
}
