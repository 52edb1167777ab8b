//! A run of a thousand steps: the page draws what is in view, and a scroll asks for no more than that.

use serde_json::{Value, json};

use super::tab::Tab;
use super::world::address;
use crate::cli_support::Home;
use crate::cli_support::store::{keep_records, store};
use crate::serve::Service;
use crate::view::long_run;

/// Frames of a scroll.
const FRAMES: u64 = 60;
/// The most lines of a long list in the document: those in view, and twelve above and below.
const MOST_LINES: u64 = 13 + 2 * 12;

/// What the browser has spent on the page so far: milliseconds of the main thread in tasks and on the processor, and
/// how often it laid out.
fn spent(tab: &Tab) -> [f64; 3] {
    let metrics = tab.call("Performance.getMetrics", json!({}))["metrics"].clone();
    let metrics = metrics.as_array().unwrap();
    [("TaskDuration", 1e3), ("ThreadTime", 1e3), ("LayoutCount", 1.0)].map(|(name, scale)| {
        let found = metrics.iter().find(|metric| metric["name"] == name).unwrap();
        found["value"].as_f64().unwrap() * scale
    })
}

/// Scrolls what a selector names from its beginning to its end, a part each frame. Gives the longest time between two
/// frames in milliseconds, the most lines of a list that were in the document at once, and how many elements were made.
const SCROLL: &str = "((selector, frames) => new Promise((resolve) => {
    const area = selector ? document.querySelector(selector) : document.documentElement;
    const most = () => area.scrollHeight - area.clientHeight;
    const times = [];
    let [lines, made] = [0, 0];
    const watch = new MutationObserver((changes) => {
        for (const { addedNodes } of changes) made += [...addedNodes].filter((node) => node.nodeType === 1).length;
    });
    watch.observe(document.querySelector('main'), { subtree: true, childList: true });
    const frame = (now) => {
        times.push(now);
        lines = Math.max(lines, area.querySelectorAll('.list-line').length);
        area.scrollTop = (most() * times.length) / frames;
        if (times.length < frames) return requestAnimationFrame(frame);
        watch.disconnect();
        const longest = Math.max(...times.slice(1).map((time, nth) => time - times[nth]));
        resolve({ longest, lines, made, reached: area.scrollTop > 0.5 * most() });
    };
    area.scrollTop = 0;
    requestAnimationFrame(() => requestAnimationFrame(frame));
}))";

/// What scrolls: the page, the steps of the plan, what was asked, the records.
const AREAS: [&str; 4] = ["", ".steps-many", "[aria-label='Requests and replies']", ".records"];

/// Scrolls one of the areas. Gives its longest frame, and what the main thread spent on each in the middle.
fn scroll(tab: &Tab, area: &str) -> [f64; 2] {
    let before = spent(tab);
    let scrolled = tab.value(&format!("{SCROLL}({area:?}, {FRAMES})")).unwrap();
    let after = spent(tab);
    let count = |name: &str| scrolled[name].as_u64().unwrap();
    assert_eq!(scrolled["reached"], Value::Bool(true), "{area}: {scrolled}");
    // A frame lays out once where it moves what is drawn and once for what comes into view, and nothing forces another.
    let layouts = (after[2] - before[2]) as u64;
    assert!(layouts <= 2 * FRAMES + 20, "{area}: {layouts} layouts");
    match area {
        "" => assert!(count("made") < 100, "what is drawn is scrolled as it is: {scrolled}"),
        ".steps-many" => assert!(count("made") < 1_000, "{scrolled}"),
        // What goes out of view comes in again elsewhere: lines are made as often as the list comes to rest.
        _ => {
            assert!(count("lines") <= MOST_LINES, "{area}: {scrolled}");
            assert!(count("made") <= 3 * MOST_LINES, "{area}: {scrolled}");
        }
    }
    [scrolled["longest"].as_f64().unwrap(), (after[0] - before[0]) / FRAMES as f64]
}

/// Prints what is measured, the best of three (`-- --nocapture`); what is asserted is how much is drawn.
fn check(steps: usize, records: &str) {
    let home = Home::new();
    keep_records(&store(&home), "long", long_run("plan-then-execute", steps));
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = Tab::open(&service.address, "/") else { return };
    tab.call("Performance.enable", json!({}));
    let reads =
        "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/view')).length";
    let drawn = || tab.value("document.querySelectorAll('*').length").unwrap().as_u64().unwrap();
    let (mut measured, mut elements) = (Vec::new(), 0);
    for round in 1..=3 {
        tab.go("/#/");
        tab.shows(&["What should be done?"]);
        let before = spent(&tab);
        tab.go(&address("long", "/1"));
        tab.shows(&[records]);
        let after = spent(&tab);
        elements = drawn();
        assert!(elements < 2_500, "{elements} elements are drawn");
        let scrolled = AREAS.map(|area| scroll(&tab, area));
        assert_eq!(tab.value(reads).unwrap(), round, "a run that is over is read once");
        measured.push([[after[0] - before[0], after[1] - before[1]]].into_iter().chain(scrolled));
    }
    let measured: Vec<Vec<[f64; 2]>> = measured.into_iter().map(Iterator::collect).collect();
    let best = |at: usize, of: usize| measured.iter().map(|one| one[at][of]).fold(f64::INFINITY, f64::min);
    let opened = format!("{:.0} ms of the main thread, {:.0} ms of the processor", best(0, 0), best(0, 1));
    let scrolled = ["page", "plan", "timeline", "records"].iter().enumerate();
    let scrolled = scrolled.map(|(at, area)| {
        format!("{area}: longest frame {:.0} ms, {:.1} ms of work", best(at + 1, 0), best(at + 1, 1))
    });
    let scrolled = scrolled.collect::<Vec<_>>().join("; ");
    println!("{steps} steps: opened in {opened}; {elements} elements; {scrolled}");
}

#[test]
fn thousand_steps_are_drawn_as_they_come_into_view() {
    check(1_000, "all 2003 records");
}

#[test]
fn ten_thousand_records_are_drawn_as_they_come_into_view() {
    check(5_000, "all 10003 records");
}
