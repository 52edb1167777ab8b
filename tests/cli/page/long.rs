//! A run of a thousand steps: the page draws what is in view.

use serde_json::json;

use super::tab::Tab;
use super::world::address;
use crate::cli_support::Home;
use crate::cli_support::store::{keep_records, store};
use crate::serve::Service;
use crate::view::long_run;

const STEPS: usize = 1_000;
const THREAD: &str = "long";

/// What the browser's main thread has spent so far on scripts, styles, layout and the rest, in milliseconds.
fn busy(tab: &Tab) -> f64 {
    let metrics = tab.call("Performance.getMetrics", json!({}))["metrics"].clone();
    let all = metrics.as_array().unwrap().iter();
    all.filter(|metric| metric["name"] == "TaskDuration")
        .map(|metric| metric["value"].as_f64().unwrap())
        .sum::<f64>()
        * 1e3
}

/// Scrolls from the top to the end and back, and gives the longest time between two frames in milliseconds, and how
/// many frames there were.
const SCROLL: &str = "new Promise((resolve) => {
    const times = [];
    const most = document.documentElement.scrollHeight - innerHeight;
    const frame = (now) => {
        times.push(now);
        const part = times.length / 200;
        scrollTo(0, most * (part <= 1 ? part : 2 - part));
        if (part < 2) return requestAnimationFrame(frame);
        const lengths = times.slice(1).map((time, nth) => time - times[nth]);
        resolve([Math.max(...lengths), lengths.filter((length) => length > 50).length, most]);
    };
    requestAnimationFrame(frame);
})";

/// Prints what is measured (`-- --nocapture`); what is asserted is how much is drawn.
#[test]
fn thousand_steps_are_drawn_as_they_come_into_view() {
    let home = Home::new();
    keep_records(&store(&home), THREAD, long_run("plan-then-execute", STEPS));
    let service = Service::start(&home, &["--offline"]);
    let Some(tab) = Tab::open(&service.address, "/") else { return };
    tab.call("Performance.enable", json!({}));
    tab.shows(&["sum of many numbers"]);
    let before = busy(&tab);
    tab.go(&address(THREAD, "/1"));
    tab.shows(&["1,000"]);
    let opened = busy(&tab) - before;
    let rows = "document.querySelectorAll('*').length";
    let drawn = tab.value(rows).unwrap().as_u64().unwrap();
    assert!(drawn < 5_000, "{drawn} elements are drawn");
    let scrolled = tab.value(SCROLL).unwrap();
    let after = tab.value(rows).unwrap().as_u64().unwrap();
    assert!(after < 5_000, "{after} elements are drawn after scrolling");
    println!("opened in {opened:.0} ms of the main thread; {drawn} elements, {after} after scrolling");
    println!("longest frame {} ms, {} over 50 ms, {} px scrolled", scrolled[0], scrolled[1], scrolled[2]);
}
