//! A run as one file: opened from the disk with the network off, it shows what the page shows, and asks nobody anything.

use super::axe::is_accessible;
use super::hostile::keep_hostile;
use super::tab::Tab;
use crate::cli_support::{ANSWER, Home, QUESTION, exhausted, replanned};
use crate::replayed::{asks_what_was_not_recorded, changed};
use crate::view::long_run;
use planwright::journal::{Fixture, Record};
use planwright::machine::{Event, ToolOutcome};
use planwright_app::records_of_fixture;

/// Opens a file that the program wrote, with the network off.
fn open(home: &Home, name: &str) -> Option<Tab> {
    let path = home.path(name).display().to_string();
    let tab = Tab::open("file://", &path)?;
    tab.reload_offline();
    Some(tab)
}

#[test]
fn exported_run_opens_from_the_disk_with_the_network_off() {
    let home = Home::new();
    home.fixture("run.json");
    home.check(&["view", "run.json", "--output", "run.html"], 0);
    let Some(tab) = open(&home, "run.html") else { return };
    for part in ["At a glance", "Phases", "Plan", "Timeline", "Trace", "Records"] {
        tab.find("region", part);
    }
    tab.shows(&[QUESTION, ANSWER.lines().next().unwrap(), "Draft 2", "예시가 없다"]);
    tab.click("option", "replanner plan.2.1");
    tab.find("region", "replanner plan.2.1");
    tab.shows(&["Request", "Reply", "예시를 찾아라"]);
    // A record says what it holds here as well.
    tab.click("option", &tab.all("option", "#0")[0].name);
    tab.shows(&["record #0, header"]);
    is_accessible(&tab, "exported run");
    tab.resize(360, 740);
    tab.fits();
}

#[test]
fn exported_comparison_shows_where_two_runs_part() {
    let home = Home::new();
    home.fixture("one.json");
    exhausted().save(home.path("other.json")).unwrap();
    home.check(&["compare", "one.json", "other.json", "--output", "both.html"], 1);
    let Some(tab) = open(&home, "both.html") else { return };
    tab.shows(&["They part at", "parts here"]);
    is_accessible(&tab, "exported comparison");
    tab.resize(360, 740);
    tab.fits();
}

/// Keeps a run as a fixture, each of its answers changed.
fn save(home: &Home, name: &str, mut records: Vec<Record>, change: impl Fn(&mut Event)) {
    for record in &mut records {
        if let Record::Answered { event, .. } = record {
            change(event);
        }
    }
    Fixture::of_records(&records, None).unwrap().save(home.path(name)).unwrap();
}

#[test]
fn exported_comparison_shows_what_differs_at_the_end_of_a_long_line() {
    let home = Home::new();
    for (name, end) in [("one.json", "the old end"), ("other.json", "the new\u{202e} end")] {
        save(&home, name, records_of_fixture(&replanned()).unwrap(), |event| {
            if let Event::ToolReturned { outcome: ToolOutcome::Returned { output, .. }, .. } = event {
                *output = format!("{}{end}", "x".repeat(5_000));
            }
        });
    }
    home.check(&["compare", "one.json", "other.json", "--output", "both.html"], 1);
    let Some(tab) = open(&home, "both.html") else { return };
    tab.hides(&["the old end"]);
    tab.click("button", "Show where they part");
    tab.shows(&["reply differs", "the old end", "the newU+202E end"]);
    is_accessible(&tab, "difference at the end of a line");
}

#[test]
fn exported_comparison_says_what_the_service_says_of_a_reply_that_calls() {
    let home = Home::new();
    save(&home, "one.json", long_run("react", 2), |_| {});
    save(&home, "other.json", long_run("react", 2), |event| {
        if let Event::ModelReplied { reply, .. } = event {
            reply.usage.input_tokens = 9;
        }
    });
    home.check(&["compare", "one.json", "other.json", "--output", "both.html"], 0);
    let Some(tab) = open(&home, "both.html") else { return };
    tab.shows(&["Both runs are the same."]);
    tab.click("option", &tab.all("option", "#1")[0].name);
    tab.shows(&["Nothing differs that counts."]);
}

#[test]
fn exported_drift_shows_where_the_replay_stopped() {
    let home = Home::new();
    let fixture = changed(&home, "asks.json", asks_what_was_not_recorded);
    home.check(&["compare", &fixture, "--output", "drift.html"], 1);
    let Some(tab) = open(&home, "drift.html") else { return };
    tab.shows(&["The replay stopped", "2 recorded requests behind it: not reached", "parts here: input"]);
    tab.click("button", "Show where they part");
    tab.shows(&[
        "input differs",
        "what was asked then",
        "ReAct pattern",
        "Recording, whole",
        "Replay, whole",
    ]);
    is_accessible(&tab, "drift");
    tab.shoot("drift");
    tab.resize(360, 740);
    tab.fits();
}

/// The nested run of an agent that read documents: its answer, what was asked after it, and the answer to it all.
#[test]
fn exported_text_of_a_nested_agent_is_marked_wherever_it_is_shown() {
    let home = Home::new();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/orchestrated/document.json");
    home.check(&["view", root, "--output", "run.html"], 0);
    let Some(tab) = open(&home, "run.html") else { return };
    tab.shows(&["rests on untrusted text"]);
    let steps = tab.find("list", "Steps of draft 1").node["backendDOMNodeId"].clone();
    assert!(!steps.is_null());
    let marked = "[...document.querySelectorAll('.steps > .step')].every((step) => step.innerText.includes('untrusted'))";
    assert!(tab.is(marked), "{}", tab.text());
    for asked in [
        "search_team/docs step.1.1.1/step.1.1.1",
        "document_team/planner step.1.2.1/plan.1.1",
        "writer write.1.1",
    ] {
        tab.click("option", asked);
        tab.find("region", asked);
        tab.until("its reply is marked", || tab.count("untrusted from") > 0);
    }
    is_accessible(&tab, "nested agent");
}

/// The second step was added by a decision that was made after the first had read web pages.
#[test]
fn exported_words_of_a_step_that_was_added_later_are_marked_and_those_of_the_plan_are_not() {
    let home = Home::new();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/orchestrated/searched_again.json");
    home.check(&["view", path, "--output", "run.html"], 0);
    let Some(tab) = open(&home, "run.html") else { return };
    tab.find("list", "Steps of draft 1");
    tab.value("document.querySelectorAll('.step > details > summary').forEach((summary) => summary.click())")
        .unwrap();
    tab.shows(&["시세 조회", "강남구 아파트의 최근 실거래가를 동별로 찾는다."]);
    tab.until("one of both is marked", || tab.count("planned after untrusted text was read") == 1);
}

#[test]
fn exported_texts_of_strangers_are_text() {
    let home = Home::new();
    keep_hostile(&home);
    home.check(&["view", "hostile.jsonl", "--output", "run.html"], 0);
    let Some(tab) = open(&home, "run.html") else { return };
    tab.shows(&["<img src=x onerror=window.ran=1>", "U+202E"]);
    assert!(tab.is("typeof window.ran === 'undefined' && !document.querySelector('main img')"));
    assert_eq!(
        tab.value("document.querySelectorAll('script').length").unwrap(),
        2,
        "none but those of the page"
    );
    tab.resize(360, 740);
    tab.fits();
}
