//! What a person does on the page, from the first click to what they read in the end.

use serde_json::json;

use super::axe::is_accessible;
use super::tab::Tab;
use super::world::{open, told};
use crate::cli_support::store::{keep, waits, wants_approval};
use crate::cli_support::{ASKED, Home, approving_journal};
use crate::serve::Service;
use crate::serve::keys::make_key;
use crate::support::{Answer, Server, event, finish};
use crate::world::{GOOD, PAYS, PLAN, SUM};
use planwright::spec::Approval;

const THREAD: &str = "보고서";

#[test]
fn chat_is_begun_watched_and_gone_on_with() {
    let home = Home::new();
    let turn = || [PLAN, GOOD, "It is 300840."].map(Answer::reply);
    let (service, _model, tell) = told(&home, [turn(), turn()].concat());
    // An address that was cut leads to the front page.
    let Some(tab) = Tab::open(&service.address, "/#/t/%zz") else { return };
    tab.shows(&["What should be done?", "Nobody waits for you."]);
    is_accessible(&tab, "front page");
    tab.fill("textbox", "Question", SUM);
    tab.fill("textbox", "Thread", "합계");
    tab.click("button", "Ask");
    tab.find("heading", "합계");
    tab.find("region", "What happens now");
    tab.shows(&[SUM, "PLAN", "running"]);
    tell.send(()).unwrap();
    tab.shows(&["VALIDATE"]);
    tell.send(()).unwrap();
    tab.shows(&["WRITE"]);
    is_accessible(&tab, "chat that runs");
    drop(tell);
    tab.shows(&["It is 300840."]);
    tab.hides(&["running"]);
    tab.fill("textbox", "Message", "And again?");
    tab.press("Enter");
    tab.until("both answers are shown", || tab.count("It is 300840.") == 2);
    assert_eq!(service.get("/threads/%ED%95%A9%EA%B3%84", 200)["turns"].as_array().unwrap().len(), 2);
}

#[test]
fn call_is_approved() {
    let home = Home::new();
    approving_journal(&home.path("made.jsonl"), Approval::RISKY);
    keep(&home, THREAD, &home.path("made.jsonl"));
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = Tab::open(&service.address, "/") else { return };
    // Who waits stands in the list, on the front page, and is counted.
    tab.find("link", "Threads 1 need a person");
    tab.shows(&["waits for a person"]);
    tab.click("link", &tab.all("link", THREAD)[0].name);
    tab.find("heading", "Allow this call?");
    tab.shows(&["calc", "12/4+9", "untrusted"]);
    is_accessible(&tab, "call that waits");
    let before = tab.text();
    tab.click("button", "Approve");
    tab.until("nobody is asked", || tab.all("heading", "Allow this call?").is_empty());
    let result = tab.wait_for("it is answered", || {
        let thread = service.get("/threads/%EB%B3%B4%EA%B3%A0%EC%84%9C", 200);
        thread["turns"][0]["result"].as_str().and_then(|result| result.lines().last()).map(str::to_owned)
    });
    assert_eq!(service.get("/waiting", 200)["waiting"], json!([]));
    assert!(!before.contains(&result), "{result}");
    tab.shows(&[&result]);
}

#[test]
fn steps_that_no_plan_may_say_are_refused_at_the_field_and_others_done() {
    let home = Home::new();
    waits(&home, THREAD);
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = open(&service, THREAD, "") else { return };
    tab.shows(&[ASKED]);
    tab.click("button", "Edit steps");
    let field = "Steps that are left, as JSON";
    for (steps, problem) in [
        (r#"[{"tool": "hammer", "input": "x"}]"#, "hammer"),
        ("[", "This is not JSON"),
        ("null", "Steps are a list"),
        (r#"[{"tool": "calc", "inptu": "x"}]"#, "step 1: unknown field `inptu`"),
    ] {
        tab.fill("textbox", field, steps);
        tab.click("button", "Approve these steps");
        tab.shows(&["Not taken", problem]);
        let typed = tab.find("textbox", field);
        assert_eq!(typed.node["value"]["value"], steps, "what was typed stays");
        assert!(typed.property("invalid") == "true" && typed.says(problem), "{typed:?}");
    }
    is_accessible(&tab, "steps that are refused");
    tab.fill(
        "textbox",
        field,
        r#"[{"tool": "calc", "input": "6*7"}, {"tool": "final_answer", "input": "답"}]"#,
    );
    tab.click("button", "Approve these steps");
    tab.shows(&["42"]);
}

/// Loses the first reply to a `resolve`, and notes whether the page ever says that it was not taken.
const LOST: &str = "(() => {
    const send = window.fetch;
    let times = 0;
    window.fetch = async (path, options) => {
        const response = await send(path, options);
        if (!String(path).endsWith('/resolve')) return response;
        times += 1;
        if (times === 1) throw new TypeError('lost');
        setTimeout(() => { window.repeated = true; }, 300);
        return response;
    };
    const look = () => { window.wasRefused ||= document.body.innerText.includes('Not taken'); };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true });
})()";

#[test]
fn write_in_doubt_after_a_kill_is_settled() {
    let home = Home::new();
    let plan = r#"{"goal": "pay", "steps": [{"tool": "search", "input": "pay bob"}, {"tool": "final_answer", "input": "say it"}]}"#;
    let model = Server::answering([Answer::reply(plan), Answer::reply("Bob is paid.")]);
    let (bank, was_asked, _answer) = Server::pausing(Answer::reply("paid"));
    let config =
        format!("base_url = '{}'\nmodel = 'm'\nsearch_url = '{}/search'\n", model.url(), bank.origin());
    home.write("config/planwright/config.toml", &config);
    home.write("pays.toml", &PAYS.replace("timeout_ms = 1000", "timeout_ms = 60000"));
    let start = |listen: &str| {
        let mut program = home.program();
        program.env("TAVILY_API_KEY", "tvly-0123456789");
        Service::of(program, &["--agent", "./pays.toml", "--listen", listen])
    };
    let mut service = start("127.0.0.1:0");
    let Some(mut tab) = Tab::open(&service.address, "/") else { return };
    tab.loses_connection = true;
    tab.fill("textbox", "Question", "Pay bob.");
    tab.fill("textbox", "Thread", THREAD);
    tab.click("button", "Ask");
    was_asked.recv().unwrap();
    service.signal("-KILL");
    tab.shows(&["Connection lost"]);
    let service = start(service.address.trim_start_matches("http://"));
    tab.find("heading", "Did this write happen?");
    tab.shows(&["pay bob", "search"]);
    is_accessible(&tab, "write in doubt");
    tab.click("button", "It happened");
    tab.fill("textbox", "What the tool would have returned", "paid at noon");
    // The connection is lost after the answer was taken: it is repeated, and nobody reads that it was not.
    tab.value(LOST).unwrap();
    tab.click("button", "Settle: it happened");
    tab.shows(&["Bob is paid."]);
    tab.until("it was repeated", || tab.is("window.repeated"));
    assert!(tab.is("!window.wasRefused"), "{}", tab.text());
    assert_eq!((bank.count(), service.get("/waiting", 200)["waiting"].clone()), (1, json!([])));
}

#[test]
fn answer_goes_on_after_the_service_was_killed_and_started_again() {
    let home = Home::new();
    let model = Server::start(|_, nth| match nth {
        0 => Answer::reply(PLAN),
        1 => Answer::reply(GOOD),
        2 => Answer::broken_chunks([event("It is 300\u{202e}"), event(" and something")]).hanging(),
        _ => {
            Answer::chunks([event("It is 300"), event("840."), finish("stop"), "data: [DONE]\n\n".to_owned()])
        }
    });
    let start = |listen: &str| {
        let args = ["--base-url", &model.url(), "--model", "m", "--listen", listen];
        Service::start(&home, &args)
    };
    let mut service = start("127.0.0.1:0");
    let Some(mut tab) = Tab::open(&service.address, "/") else { return };
    tab.loses_connection = true;
    tab.fill("textbox", "Question", SUM);
    tab.click("button", "Ask");
    tab.shows(&["It is 300U+202E"]);
    assert!(!tab.text().contains("840."));
    service.signal("-KILL");
    tab.shows(&["Connection lost. Trying again…"]);
    let _service = start(service.address.trim_start_matches("http://"));
    tab.shows(&["Connected again.", "It is 300840."]);
    assert_eq!(tab.count("It is 300"), 1, "{}", tab.text());
}

/// Begins a thread, approves its plan and reads the answer, by Tab and Enter and what is typed.
#[test]
fn whole_story_goes_by_the_keyboard_alone() {
    let home = Home::new();
    wants_approval(&home, THREAD);
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = Tab::open(&service.address, "/") else { return };
    tab.shows(&[THREAD]);
    tab.tab_to("link", THREAD);
    tab.press("Enter");
    tab.find("heading", "Approve this plan?");
    tab.tab_to("button", "Reject");
    tab.press("Enter");
    assert_eq!(
        tab.focused(),
        ("textbox".to_owned(), "Reason".to_owned()),
        "the field that opens has the focus"
    );
    tab.press("Shift+Tab");
    tab.tab_to("button", "Approve");
    tab.press("Enter");
    tab.shows(&["12"]);
    tab.tab_to("textbox", "Message");
    tab.type_text("7*6?");
    tab.press("Enter");
    tab.shows(&["42"]);
}

/// A search for `ab` is answered before the one for `a`.
const LATE: &str = "(() => {
    const send = window.fetch;
    let reached;
    const newer = new Promise((resolve) => { reached = resolve; });
    const found = (threads) => new Response(JSON.stringify({ threads }));
    window.fetch = (path, options) => {
        if (String(path).endsWith('words=ab')) {
            setTimeout(reached, 300);
            return Promise.resolve(found([{ thread: 'abacus', status: 'done', title: 'q', updated: 1 }]));
        }
        if (!String(path).endsWith('words=a')) return send(path, options);
        window.late = newer.then(() => new Promise((resolve) => setTimeout(resolve, 100, true)));
        return newer.then(() => found([]));
    };
})()";

#[test]
fn key_is_asked_for_and_threads_are_searched() {
    let home = Home::new();
    let key = make_key(&home, "alice", &["--may", "run,answer,read"]);
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = Tab::open(&service.address, "/") else { return };
    tab.find("dialog", "This service wants a key");
    is_accessible(&tab, "key that is wanted");
    tab.fill("textbox", "Key", &key);
    tab.press("Enter");
    tab.fill("textbox", "Question", "12/4+9?");
    tab.fill("textbox", "Thread", "합계");
    tab.click("button", "Ask");
    tab.shows(&["12/4+9 = 12"]);
    tab.fill("searchbox", "Search threads", "none is called so");
    tab.shows(&["No thread is like this."]);
    tab.fill("searchbox", "Search threads", "12/4");
    tab.find("link", "합계 done 12/4+9?");
    // What was answered is found as well.
    tab.fill("searchbox", "Search threads", "= 12");
    tab.find("link", "합계 done 12/4+9?");
    // What is found late for an earlier text is no longer shown.
    tab.value(LATE).unwrap();
    tab.fill("searchbox", "Search threads", "a");
    tab.until("it is asked for", || tab.is("Boolean(window.late)"));
    tab.fill("searchbox", "Search threads", "ab");
    tab.find("link", "abacus");
    tab.value("window.late").unwrap();
    tab.find("link", "abacus");
    tab.fill("searchbox", "Search threads", "12/4");
    tab.click("radio", "Waiting");
    tab.shows(&["No thread is like this."]);
    tab.click("button", "Forget key");
    tab.find("dialog", "This service wants a key");
    tab.hides(&["12/4+9"]);
}
