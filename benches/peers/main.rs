//! The work on which planwright was measured beside other engines (`canned.json` holds every text of it): as a
//! bare typed loop, by the machine alone and by the whole driver. Run it on one core of a quiet computer.
//!
//! A run with one replan: PLAN (three steps, read and checked), EXECUTE ×3, VALIDATE (rejects), PLAN, EXECUTE ×3,
//! VALIDATE, WRITE. A long run: PLAN of so many steps, each step, VALIDATE, WRITE.

mod bare;
mod ours;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;

use planwright::machine::{PhaseName, State};
use serde::Deserialize;

/// The texts of the work, as the models and tools of every engine give them back.
#[derive(Deserialize)]
struct Canned {
    question: String,
    max_replans: u32,
    llm: Replies,
    tools: BTreeMap<String, String>,
    scale: Scale,
}

#[derive(Clone, Deserialize)]
struct Replies {
    plan_1: String,
    plan_2: String,
    validate_fail: String,
    validate_ok: String,
    write: String,
}

/// A plan of any length: each `@` of a step becomes its number.
#[derive(Deserialize)]
struct Scale {
    head: String,
    step: String,
    sep: String,
    tail: String,
}

/// One piece of work: with one replan, or of so many steps.
struct Work {
    question: String,
    max_replans: u32,
    plans: [String; 2],
    verdicts: [String; 2],
    answer: String,
    outputs: [String; 3],
    results: usize,
}

const TOOLS: [&str; 3] = ["search", "fetch", "calc"];

impl Work {
    fn of(steps: Option<usize>) -> Work {
        let canned: Canned = serde_json::from_str(include_str!("canned.json")).expect("the texts read");
        let Canned { question, max_replans, llm, tools, scale } = canned;
        let (plans, verdicts) = match steps {
            None => ([llm.plan_1, llm.plan_2], [llm.validate_fail, llm.validate_ok]),
            Some(steps) => {
                let steps: Vec<_> =
                    (1..=steps).map(|nth| scale.step.replace('@', &nth.to_string())).collect();
                let plan = format!("{}{}{}", scale.head, steps.join(&scale.sep), scale.tail);
                ([plan, String::new()], [llm.validate_ok, String::new()])
            }
        };
        let outputs = TOOLS.map(|name| tools[name].clone());
        let results = steps.unwrap_or(TOOLS.len());
        Work { question, max_replans, plans, verdicts, answer: llm.write, outputs, results }
    }

    fn check(&self, state: &State) {
        assert_eq!((state.phase(), state.answer()), (PhaseName::Done, Some(self.answer.as_str())));
        assert_eq!(state.current_steps().count(), self.results);
    }

    /// What the step at a position returns: a short plan uses each tool once, a long one only `fetch`.
    fn output(&self, step: usize) -> String {
        self.outputs[if self.results == TOOLS.len() { step } else { 1 }].clone()
    }
}

fn main() {
    // As a test it only tries each once.
    let rounds = if support::measures() { 2_000 } else { 1 };
    print("one run with one replan", None, rounds);
    print("one run of 10,000 steps", Some(10_000), rounds.div_ceil(100));
}

fn print(what: &str, steps: Option<usize>, rounds: usize) {
    let work = Work::of(steps);
    let ours = ours::Ours::of(&work);
    ours.by_machine(&work);
    let [bare, machine, driver] = support::fastest(
        rounds,
        [&mut || bare::run(&work), &mut || ours.by_machine(&work), &mut || ours.by_driver(&work)],
    );
    let times = |time: std::time::Duration| time.as_secs_f64() / bare.as_secs_f64();
    println!("{what}, the fastest batches, taken in turns:");
    println!("  bare loop   {bare:?}");
    println!("  the machine {machine:?}, {:.2} times that", times(machine));
    println!("  the driver  {driver:?}, {:.2} times that", times(driver));
}
