//! One story in pictures: a plan is rejected, the next one done, and its run looked at, forked at a record and compared.

use std::time::Duration;

use serde_json::{Value, json};

use super::axe::is_accessible;
use super::tab::Tab;
use super::world::{keep_plan, open};
use crate::cli_support::Home;
use crate::serve::Service;
use crate::support::{Answer, Server};
use crate::world::GOOD;

const THREAD: &str = "late invoice";
const QUESTION: &str = "How late may an invoice be paid, and what does it cost?";

fn docs(words: &str) -> Value {
    json!({"tool": "docs", "input": words})
}

fn plan(steps: &[Value]) -> String {
    let last = json!({"tool": "final_answer", "input": "say how late, and at what cost"});
    let steps = [steps, &[last]].concat();
    json!({"goal": "the deadline and the fee of late payment", "steps": steps}).to_string()
}

/// The service with its documents, and the model's replies in their order, each of which takes its time.
fn service(home: &Home, replies: &[&str]) -> (Service, Server) {
    home.write("notes/payment.md", "# Payment\n\n## Deadline\n\nAn invoice is paid within 14 days.\n");
    home.write(
        "notes/fees.md",
        "# Fees\n\n## Late payment\n\nA late payment costs 2 % of the invoice, and 5 euros.\n",
    );
    let slow = |reply: &&str| Answer::reply(reply).trickling(Duration::from_millis(80));
    let model = Server::answering(replies.iter().map(slow));
    let service = Service::start(home, &["--base-url", &model.url(), "--model", "m", "--docs", "notes"]);
    (service, model)
}

fn rejects_and_approves(tab: &Tab) {
    tab.find("heading", "Approve this plan?");
    tab.shows(&["docs: payment deadline"]);
    tab.shoot("waiting");
    tab.click("button", "Reject");
    tab.fill("textbox", "Reason", "The fee is missing.");
    tab.click("button", "Send rejection");
    tab.shows(&["late payment fee"]);
    is_accessible(tab, "plan that waits");
    tab.click("button", "Approve");
    tab.shows(&["Within 14 days. Later it costs 29 euros."]);
}

fn looks_at_the_run(tab: &Tab) {
    tab.click("link", "Look at the run of turn 1");
    for part in ["At a glance", "Phases", "Time travel", "Plan", "Timeline", "Trace", "Records"] {
        tab.find("region", part);
    }
    tab.find("image", "Phases of the agent. The run is in DONE");
    let words =
        "[...document.querySelectorAll('.graph .edge-words')].every((words) => words.textContent !== '')";
    assert!(tab.is(words), "each edge says by what it is taken");
    tab.shows(&["Draft 2", "Draft 1", "The fee is missing."]);
    is_accessible(tab, "run");
    tab.shoot("light");
    tab.look("dark");
    tab.shoot("dark");
    tab.look("light");
    tab.resize(360, 740);
    tab.fits();
    is_accessible(tab, "run, narrow");
    tab.shoot("narrow");
    tab.resize(3840, 2160);
    tab.fits();
    tab.shoot("wide");
    tab.resize(1280, 900);
    for (part, name) in [("Phases", "phases"), ("Plan", "replanned")] {
        tab.click("button", part);
        tab.shoot(name);
    }
}

/// Goes back record by record: what is pressed keeps the focus, and can be pressed again.
fn goes_back(tab: &Tab) {
    tab.tab_to("button", "Back");
    for left in ["after 20 of 21 records", "after 19 of 21 records", "after 18 of 21 records"] {
        tab.press("Enter");
        tab.shows(&[left]);
    }
    tab.find("image", "Phases of the agent. The run is in VALIDATE");
    tab.tab_to("button", "Now");
    tab.press("Enter");
    tab.shows(&["all 21 records"]);
}

/// Goes back to where the first plan waited, and forks there.
fn forks(tab: &Tab) {
    tab.click("option", "#4");
    tab.find("heading", "Waits here: Approve this plan?");
    tab.shows(&["1. docs: payment deadline\n2. final_answer"]);
    is_accessible(tab, "run as it was");
    tab.fill("textbox", "Fork from here as", "another way");
    tab.click("button", "Fork");
    tab.find("heading", "another way");
    tab.find("heading", "Approve this plan?");
    tab.shows(&["Forked from late invoice, turn 1"]);
    tab.until("the list says so", || tab.all("link", "Forked from late invoice").len() == 1);
    tab.click("button", "Approve");
    tab.shows(&["Within 14 days."]);
}

fn compares(tab: &Tab) {
    tab.click("link", "Look at the run of turn 1");
    tab.shows(&["Forked from"]);
    tab.click("link", "Compare with it");
    tab.find("heading", "Compare two runs");
    tab.shows(&["They part at", "parts here", "Forked from late invoice, turn 1, after "]);
    is_accessible(tab, "comparison");
    tab.click("button", "Show where they part");
    tab.shoot("compared");
    tab.resize(360, 740);
    tab.fits();
    tab.resize(1280, 900);
}

#[test]
fn rejected_plan_is_made_anew_its_run_looked_at_forked_and_compared() {
    let home = Home::new();
    keep_plan(&home, THREAD, QUESTION, &plan(&[docs("payment deadline")]));
    let sum = json!({"tool": "calc", "input": "1200 * 2 / 100 + 5"});
    let second = plan(&[docs("payment deadline"), docs("late payment fee"), sum]);
    let replies = [&*second, GOOD, "Within 14 days. Later it costs 29 euros.", GOOD, "Within 14 days."];
    let (service, model) = service(&home, &replies);
    let Some(tab) = open(&service, THREAD, "") else { return };
    rejects_and_approves(&tab);
    assert!(model.seen()[0].json().to_string().contains("The fee is missing."), "the planner is told why");
    looks_at_the_run(&tab);
    goes_back(&tab);
    forks(&tab);
    compares(&tab);
}
