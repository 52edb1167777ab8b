//! A run of a thousand steps: the page draws what is in view.

use serde_json::json;

use super::tab::Tab;
use super::world::address;
use crate::cli_support::Home;
use crate::cli_support::store::{keep_records, store};
use crate::serve::Service;
use crate::view::long_run;

/// What the browser's main thread has spent so far in milliseconds: in tasks, and on the processor.
fn busy(tab: &Tab) -> [f64; 2] {
    let metrics = tab.call("Performance.getMetrics", json!({}))["metrics"].clone();
    let metrics = metrics.as_array().unwrap();
    ["TaskDuration", "ThreadTime"].map(|name| {
        let found = metrics.iter().find(|metric| metric["name"] == name).unwrap();
        found["value"].as_f64().unwrap() * 1e3
    })
}

/// Scrolls to the end in a second, and gives the longest time between two frames in milliseconds.
const SCROLL: &str = "new Promise((resolve) => {
    const times = [];
    const most = document.documentElement.scrollHeight - innerHeight;
    const frame = (now) => {
        times.push(now);
        scrollTo(0, (most * times.length) / 60);
        if (times.length < 60) return requestAnimationFrame(frame);
        resolve(Math.max(...times.slice(1).map((time, nth) => time - times[nth])));
    };
    requestAnimationFrame(frame);
})";

/// Prints what is measured, the best of three (`-- --nocapture`); what is asserted is how much is drawn.
fn check(steps: usize, records: &str) {
    let home = Home::new();
    keep_records(&store(&home), "long", long_run("plan-then-execute", steps));
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = Tab::open(&service.address, "/") else { return };
    tab.call("Performance.enable", json!({}));
    let drawn = || tab.value("document.querySelectorAll('*').length").unwrap().as_u64().unwrap();
    let mut measured = Vec::new();
    for _ in 0..3 {
        tab.go("/#/");
        tab.shows(&["What should be done?"]);
        let before = busy(&tab);
        tab.go(&address("long", "/1"));
        tab.shows(&[records]);
        let after = busy(&tab);
        assert!(drawn() < 3_000, "{} elements are drawn", drawn());
        let longest = tab.value(SCROLL).unwrap().as_f64().unwrap();
        assert!(drawn() < 3_000, "{} elements are drawn after scrolling", drawn());
        measured.push([after[0] - before[0], after[1] - before[1], longest]);
    }
    let best = |of: usize| measured.iter().map(|one| one[of]).fold(f64::INFINITY, f64::min);
    println!(
        "{steps} steps: opened in {:.0} ms of the main thread, {:.0} ms of the processor; {} elements; longest frame {:.0} ms",
        best(0),
        best(1),
        drawn(),
        best(2)
    );
}

#[test]
fn thousand_steps_are_drawn_as_they_come_into_view() {
    check(1_000, "all 2003 records");
}

#[test]
fn ten_thousand_records_are_drawn_as_they_come_into_view() {
    check(5_000, "all 10003 records");
}
