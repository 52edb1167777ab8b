//! A `match` over phases with typed replies, read by serde_json: near the floor of what the work costs. It has no
//! prompts, no ids, no limits and no journal.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;

use super::Work;

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Tool {
    Search,
    Fetch,
    Calc,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read, as in every engine")]
struct PlanStep {
    id: u32,
    tool: Tool,
    args: BTreeMap<String, String>,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "read, as in every engine")]
struct Plan {
    goal: String,
    steps: Vec<PlanStep>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Verdict {
    ok: bool,
    reason: String,
    fix_hint: String,
}

#[allow(dead_code, reason = "kept, as in every engine")]
struct ToolResult {
    id: u32,
    tool: Tool,
    output: String,
}

#[allow(dead_code, reason = "kept, as in every engine")]
struct Line {
    seq: usize,
    phase: String,
    note: String,
}

#[derive(Clone, Copy)]
enum Phase {
    Plan,
    Execute,
    Validate,
    Write,
}

pub fn run(work: &Work) {
    let (mut phase, mut trace, mut replans) = (Phase::Plan, Vec::new(), 0);
    let (mut plan, mut results, mut hint) = (None::<Plan>, Vec::new(), String::new());
    let answer = loop {
        let (name, note, next) = match phase {
            Phase::Plan => {
                // An owned text, as the body of a response is.
                let reply = work.plans[replans].clone();
                let read: Plan = serde_json::from_str(&reply).expect("a plan");
                let mut seen = HashSet::with_capacity(read.steps.len());
                assert!(read.steps.iter().all(|step| seen.insert(step.id)), "step ids repeat");
                let note = format!("{} steps", read.steps.len());
                plan = Some(read);
                results.clear();
                ("PLAN", note, Phase::Execute)
            }
            Phase::Execute => {
                for step in plan.iter().flat_map(|plan| &plan.steps) {
                    let output = work.outputs[step.tool as usize].clone();
                    results.push(ToolResult { id: step.id, tool: step.tool, output });
                }
                ("EXECUTE", format!("{} results", results.len()), Phase::Validate)
            }
            Phase::Validate => {
                let reply = work.verdicts[replans].clone();
                let verdict: Verdict = serde_json::from_str(&reply).expect("a verdict");
                let again = !verdict.ok && replans < work.max_replans as usize;
                if again {
                    replans += 1;
                    hint = verdict.fix_hint;
                }
                ("VALIDATE", verdict.reason, if again { Phase::Plan } else { Phase::Write })
            }
            Phase::Write => {
                let answer = work.answer.clone();
                let note = format!("{} chars", answer.len());
                trace.push(Line { seq: trace.len(), phase: "WRITE".to_owned(), note });
                break answer;
            }
        };
        trace.push(Line { seq: trace.len(), phase: name.to_owned(), note });
        phase = next;
    };
    assert!(answer == work.answer && results.len() == work.results);
    assert_eq!((trace.len(), hint.is_empty()), if replans == 0 { (4, true) } else { (7, false) });
}
