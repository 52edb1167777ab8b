//! The stories that the fixtures tell, each as what was asked and what the world said. The models,
//! tools and people are scripted and the time is fixed, so telling a story again gives the same bytes.
#![allow(dead_code)]

mod conversational;
mod docstore;
mod evaluate_loop;
mod intent_first;
mod notebook;
mod orchestrated;
mod plan_then_execute;
mod react;
mod research_team;
mod self_ask;
mod story;
mod supervised;
mod validated;
mod world;

pub use story::Story;

use planwright::contract::Source;
use serde_json::{Value, json};

/// When every story is told.
pub const NOW: &str = "2026-11-20T09:30:00+09:00[Asia/Seoul]";

/// Every story there is.
pub fn all() -> Vec<Story> {
    let told = [
        notebook::stories,
        plan_then_execute::stories,
        validated::stories,
        intent_first::stories,
        evaluate_loop::stories,
        orchestrated::stories,
        supervised::stories,
        react::stories,
        conversational::stories,
        self_ask::stories,
        docstore::stories,
        research_team::stories,
    ];
    told.into_iter().flat_map(|stories| stories()).collect()
}

/// A plan as a planner writes it.
fn plan(goal: &str, steps: &[(&str, &str)]) -> String {
    let steps: Vec<Value> = steps.iter().map(|(tool, input)| json!({"tool": tool, "input": input})).collect();
    json!({"goal": goal, "steps": steps}).to_string()
}

/// A verdict as a validator writes it.
fn verdict(ok: bool, reason: &str, fix_hint: &str) -> String {
    json!({"ok": ok, "reason": reason, "fix_hint": fix_hint}).to_string()
}

/// An answer as the writer of `plan-then-execute` writes it.
fn answer(text: &str) -> String {
    json!({"final": text}).to_string()
}

/// A page on the web, as a source.
fn page(title: &str, url: &str) -> Source {
    Source { url: Some(url.to_owned()), ..Source::titled(title) }
}
