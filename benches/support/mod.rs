//! What the benchmarks share: the canned world, and ratios that noise does not spoil.
#![allow(dead_code, reason = "each benchmark uses a part of it")]

pub mod by_hand;

use std::time::{Duration, Instant};

use planwright::contract::{ToolContract, ToolEffect};
use planwright::machine::{Effect, EffectId, Event, ModelReply, Step, ToolOutcome};
use planwright::spec::{CompiledSpec, RoleName, Spec};

pub const QUESTION: &str = "How far is the Moon, and how long does light take to get there?";

/// The tools of every benchmark: `pure`, so they need no time-out and are called where the loop runs.
pub const TOOLS: [&str; 3] = ["wiki", "docs", "calc"];

pub const MAX_REPLANS: u32 = 2;

const PLANS: [&str; 2] = [
    r#"{"goal": "Say how far the Moon is and how long light takes", "steps": [
        {"tool": "wiki", "input": "Moon"},
        {"tool": "docs", "input": "speed of light in vacuum"},
        {"tool": "calc", "input": "384400 / 300000"},
        {"tool": "final_answer", "input": "The distance in kilometres and the time in seconds"}]}"#,
    r#"{"goal": "Say how far the Moon is and how long light takes, exactly", "steps": [
        {"tool": "wiki", "input": "Lunar distance"},
        {"tool": "docs", "input": "speed of light in km/s"},
        {"tool": "calc", "input": "384399 / 299792.458"},
        {"tool": "final_answer", "input": "The mean distance in kilometres and the time in seconds"}]}"#,
];
const VERDICTS: [&str; 2] = [
    r#"{"ok": false, "reason": "The speed of light is rounded.", "fix_hint": "Use the exact value in km/s."}"#,
    r#"{"ok": true, "reason": "Distance and time are there.", "fix_hint": ""}"#,
];
const OUTPUTS: [&str; 3] = [
    "The Moon orbits Earth at an average distance of 384399 km, about 30 times Earth's diameter.",
    "The speed of light in vacuum is exactly 299792.458 km/s.",
    "1.28222",
];
const ANSWER: &str = "The Moon is 384,399 km away on average. Light takes about 1.28 seconds to get there.";

/// The replies of one replan run. A reply is an owned text, as it would be off the wire.
#[derive(Default)]
pub struct Replies {
    plans: usize,
    verdicts: usize,
}

impl Replies {
    pub fn model(&mut self, role: RoleName) -> String {
        let nth = |texts: [&str; 2], count: &mut usize| {
            *count += 1;
            texts[*count - 1].to_owned()
        };
        match role {
            RoleName::Planner | RoleName::Replanner => nth(PLANS, &mut self.plans),
            RoleName::Validator => nth(VERDICTS, &mut self.verdicts),
            RoleName::Writer => ANSWER.to_owned(),
            other => unreachable!("the agent has no {other}"),
        }
    }

    pub fn tool(&self, step: usize) -> String {
        OUTPUTS[step].to_owned()
    }

    /// The event that answers an effect.
    pub fn event(&mut self, effect: Effect) -> Event {
        match effect {
            Effect::AskModel { id, role } => replied(id, self.model(role)),
            Effect::CallTool { id, step } => returned(id, self.tool(step as usize)),
            other => unreachable!("the agent never asks for {other:?}"),
        }
    }
}

pub fn replied(effect: EffectId, text: String) -> Event {
    Event::ModelReplied { effect, reply: ModelReply::text(text) }
}

pub fn returned(effect: EffectId, output: String) -> Event {
    Event::ToolReturned { effect, outcome: ToolOutcome::returned(output) }
}

/// The shipped agent that validates and replans, over the tools of the benchmarks.
pub fn spec() -> Spec {
    let mut spec = planwright::agents::shipped("validated").expect("ships with the crate");
    spec.tools =
        TOOLS.map(|name| ToolContract::text(name, "Answers from a list.", ToolEffect::Pure)).to_vec();
    spec.limits.max_replans = MAX_REPLANS;
    spec
}

pub fn compiled() -> CompiledSpec {
    spec().check().expect("the shipped agent with other tools")
}

/// Moves a run by one event.
pub fn advance(compiled: &CompiledSpec, step: Step, event: Event) -> Step {
    planwright::machine::transition(compiled, step.state, event).expect("answers what was asked")
}

/// The fastest of many runs of each function, taken in turns, so that whatever else the computer
/// does meets all of them alike.
pub fn fastest<const N: usize>(rounds: usize, mut functions: [&mut dyn FnMut(); N]) -> [Duration; N] {
    const BATCH: u32 = 20;
    let mut best = [Duration::MAX; N];
    for _ in 0..rounds {
        for (best, function) in best.iter_mut().zip(&mut functions) {
            let began = Instant::now();
            for _ in 0..BATCH {
                function();
            }
            *best = (*best).min(began.elapsed() / BATCH);
        }
    }
    best
}

/// Whether this is `cargo bench`, and not `cargo test` that only tries the benchmarks out.
pub fn measures() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}
