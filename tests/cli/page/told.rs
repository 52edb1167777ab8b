//! What became of an answer, of a thread and of what is asked is said as it is, and what has the focus stays to be used.

use planwright::agents;
use planwright::contract::ToolEffect;
use planwright::driver::Agent;
use planwright::journal::FileJournal;
use planwright::machine::Input;
use planwright::spec::Approval;
use serde_json::json;

use super::axe::is_accessible;
use super::tab::Tab;
use super::world::{keep_plan, open};
use crate::cli_support::store::{keep, wants_approval};
use crate::cli_support::{Home, Says, Script, ended_journal};
use crate::damage::bend;
use crate::serve::Service;

#[cfg(target_os = "linux")]
#[test]
fn write_that_is_in_doubt_again_once_it_was_settled_is_said_to_be_so() {
    use crate::mcp_ends::{PROGRAM, WRITE, world};
    let (home, _model) = world(PROGRAM, WRITE);
    home.write("dies", "");
    let service = Service::start(&home, &["--agent", "./notes.toml"]);
    let ask = json!({"message": "q", "thread_id": "t"});
    service.refuses(("POST", "/chat", &ask), 409, "write-in-doubt", "notes.write");
    let Some(tab) = open(&service, "t", "") else { return };
    tab.click("button", "It did not happen");
    tab.click("button", "Settle: do it now");
    tab.shows(&["Your “It did not happen” was taken: the call was made again, and is in doubt again."]);
    assert!(!tab.text().contains("answered elsewhere"), "{}", tab.text());
    is_accessible(&tab, "in doubt again");
    let calls = std::fs::read_to_string(home.path("told")).unwrap().matches("tools/call").count();
    assert_eq!(calls, 2);
    tab.click("button", "It happened");
    tab.click("button", "Settle: it happened");
    tab.shows(&["끝"]);
    tab.hides(&["in doubt again"]);
}

#[test]
fn focus_goes_from_an_answer_to_what_stays() {
    let home = Home::new();
    wants_approval(&home, "chat");
    wants_approval(&home, "run");
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = open(&service, "chat", "") else { return };
    for (address, place) in
        [("/#/t/chat", ("textbox", "Message")), ("/#/t/run/1", ("heading", "At a glance"))]
    {
        tab.go(address);
        tab.tab_to("button", "Approve");
        tab.press("Enter");
        tab.until("nobody is asked", || tab.all("button", "Approve").is_empty());
        tab.until(&format!("{place:?} has the focus"), || {
            tab.focused() == (place.0.to_owned(), place.1.to_owned())
        });
    }
}

#[test]
fn name_of_a_fork_follows_the_record_until_a_person_gives_one() {
    let home = Home::new();
    wants_approval(&home, "plan");
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = open(&service, "plan", "/1") else { return };
    let name = || tab.find("textbox", "Fork from here as").node["value"]["value"].clone();
    tab.until("it has a name", || name() == "plan-4");
    let attribute = "document.querySelector('input[type=range]').getAttribute('aria-valuetext')";
    let stands = || tab.value(attribute).unwrap().to_string();
    assert!(stands().contains("all 4 records"), "{}", stands());
    tab.click("button", "Back");
    tab.until("it is another name", || name() == "plan-3");
    assert!(stands().contains("after 3 of 4 records"), "{}", stands());
    tab.fill("textbox", "Fork from here as", "mine");
    tab.click("button", "Back");
    tab.shows(&["after 2 of 4 records"]);
    assert_eq!(name(), "mine");
}

/// Counts what is asked, by the last part of its path.
const COUNT: &str = "(() => {
    const send = window.fetch;
    window.asked = {};
    window.fetch = (path, options) => {
        const name = String(path).split('?')[0].split('/').pop();
        window.asked[name] = (window.asked[name] ?? 0) + 1;
        return send(path, options);
    };
})()";

#[test]
fn thread_that_is_deleted_is_said_to_be_in_every_view_of_it_and_not_asked_for_again() {
    let home = Home::new();
    let journal = home.path("ended.jsonl");
    ended_journal(&journal);
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = Tab::open(&service.address, "/") else { return };
    for (waits, view) in [(true, ""), (true, "/1"), (false, ""), (false, "/1"), (false, "/1/2")] {
        if waits {
            wants_approval(&home, "gone")
        } else {
            keep(&home, "gone", &journal)
        }
        tab.go(&format!("/#/t/gone{view}"));
        tab.shows(&[if waits { "waits for a person" } else { "done" }]);
        assert_eq!(service.send("DELETE", "/threads/gone", "", &[]).0, 204);
        tab.shows(&["This thread was deleted. Go to the threads"]);
        tab.value(COUNT).unwrap();
        let left = "[...document.querySelectorAll('main .chip, main form, main .asked')]
            .filter((one) => one.checkVisibility()).length";
        assert_eq!(tab.value(left).unwrap(), 0, "{view}: {}", tab.text());
        tab.until("the list is looked at twice", || tab.is("window.asked.threads >= 2"));
        // What happens in it is asked for once more at most: the stream ends where the thread does.
        assert!(tab.is("(window.asked.events ?? 0) <= 1"), "{view}");
        tab.go("/#/");
    }
}

#[test]
fn thread_that_does_not_read_says_what_to_do() {
    for (sql, can_be_deleted) in [
        ("UPDATE record SET body = replace(body, 'e', 'f') WHERE at = (1 << 36) + 3", true),
        ("UPDATE thread SET records = 99 WHERE id = 1", false),
    ] {
        let home = Home::new();
        let journal = home.path("ended.jsonl");
        ended_journal(&journal);
        keep(&home, "told", &journal);
        bend(&home, sql);
        let service = Service::start(&home, &["--offline"]);
        let Some(mut tab) = open(&service, "told", "") else { return };
        // That it does not read is an answer.
        tab.loses_connection = true;
        tab.shows(&["planwright threads check"]);
        tab.find("link", "told unreadable");
        assert!(tab.all("textbox", "Message").is_empty(), "{}", tab.text());
        assert_eq!(tab.all("button", "Delete").len(), usize::from(can_be_deleted));
        is_accessible(&tab, "thread that does not read");
        tab.go("/#/t/told/1");
        tab.shows(&["planwright threads check"]);
    }
}

#[test]
fn nothing_of_what_is_approved_is_hidden() {
    let home = Home::new();
    let long = format!("{}END", "B".repeat(250));
    let plan = json!({"goal": "g", "steps": [{"tool": "docs", "input": long}, {"tool": "final_answer", "input": "x"}]});
    keep_plan(&home, "plan", "What?", &plan.to_string());
    let mut spec = agents::shipped("plan-then-execute").unwrap().with_tools(|tool| tool.name == "calc");
    spec.policy.approval = Approval::RISKY;
    spec.tools[0].input = json!({"type": "string"});
    (spec.tools[0].effect, spec.tools[0].needs_approval) = (ToolEffect::Write, true);
    let sum = format!("{}2222", "1+".repeat(3000));
    let plan = json!({"goal": "g", "steps": [{"tool": "calc", "input": sum}, {"tool": "final_answer", "input": "x"}]});
    let calc = Says(spec.tools[0].clone(), Ok("12".to_owned()));
    let agent = Agent::builder(spec).model(Script::of(&[&plan.to_string()])).tool(calc).build().unwrap();
    let mut journal = FileJournal::create(home.path("made.jsonl")).unwrap();
    assert!(agent.job(Input::question("Sum?")).journal(&mut journal).run().unwrap().is_waiting());
    keep(&home, "call", &home.path("made.jsonl"));
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = open(&service, "plan", "") else { return };
    tab.shows(&["It is cut above", "BEND"]);
    is_accessible(&tab, "long plan");
    tab.go("/#/t/call");
    tab.shows(&["1+2222"]);
    assert!(tab.all("button", "Show all").is_empty());
}

#[test]
fn address_that_cannot_be_read_and_a_turn_that_is_not_there_are_said_to_be_so() {
    let home = Home::new();
    wants_approval(&home, "plan");
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = Tab::open(&service.address, "/#/t/%E0%A4%A") else { return };
    tab.shows(&["This address cannot be read", "What should be done?"]);
    for (turn, says) in [("0", "expected a number from 1"), ("2", "has 1 turn, and none of the number 2")] {
        tab.go(&format!("/#/t/plan/{turn}"));
        tab.shows(&[says]);
        tab.hides(&["This address cannot be read"]);
    }
    tab.go("/#/t/plan/99999999999");
    tab.shows(&["has 1 turn, and none of the number 4294967295"]);
    tab.resize(360, 740);
    tab.find("button", "Theme: auto");
}
