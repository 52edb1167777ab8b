//! The alphabet: every kind of event a state can be fed, fitting or not.

use serde_json::{Value, json};

use crate::contract::{AnswerForm, FINAL_ANSWER, FinalStep, ToolContract, schema};
use crate::machine::{
    Effect, EffectId, EffectKind, Event, FailureClass, ModelFailure, ModelReply, State, ToolOutcome,
    outstanding,
};
use crate::spec::{Execution, RoleName, Rules};

/// One kind of event, by name.
#[derive(Clone, Debug)]
pub(super) struct Letter {
    pub name: String,
    pub event: Event,
    /// Whether it answers something outstanding, or may come at any time.
    pub fits: bool,
}

/// Every kind of event for a state.
pub(super) fn letters(rules: &Rules, state: &State) -> Vec<Letter> {
    let mut letters = Vec::new();
    let waiting = outstanding(rules, state);
    for effect in &waiting {
        answers(rules, *effect, &mut letters);
    }
    let live = !state.phase.name().is_terminal();
    letters.push(letter("cancelled", Event::Cancelled { reason: "…".into() }, live));
    letters.push(letter("deadline passed", Event::DeadlinePassed, live));
    strays(state, &waiting, &mut letters);
    letters
}

fn letter(name: impl Into<String>, event: Event, fits: bool) -> Letter {
    Letter { name: name.into(), event, fits }
}

/// Every kind of answer to one effect.
fn answers(rules: &Rules, effect: Effect, letters: &mut Vec<Letter>) {
    let id = effect.id();
    let Effect::AskModel { role, .. } = effect else {
        let outcomes = [
            ("step returned", ToolOutcome::returned("found")),
            ("step failed", ToolOutcome::Failed { kind: "timeout".into(), message: "…".into() }),
        ];
        for (name, outcome) in outcomes {
            letters.push(letter(name, Event::ToolReturned { effect: id, outcome }, true));
        }
        return;
    };
    let replies = match role {
        RoleName::Planner | RoleName::Replanner => plans(rules),
        RoleName::Validator => verdicts(),
        RoleName::Writer => answers_written(rules.form()),
        _ => Vec::new(),
    };
    for (name, text) in replies.into_iter().chain(nonsense(rules)) {
        let name = format!("{role}: {name}");
        letters.push(letter(name, Event::ModelReplied { effect: id, reply: ModelReply::text(text) }, true));
    }
    for class in FailureClass::ALL {
        let failure = ModelFailure { class, message: "…".into() };
        letters.push(letter(format!("{role}: {class}"), Event::ModelFailed { effect: id, failure }, true));
    }
}

fn nonsense(rules: &Rules) -> [(String, String); 2] {
    let too_large = "x".repeat(rules.spec().limits.max_reply_bytes as usize + 1);
    [("empty reply".into(), String::new()), ("reply too large".into(), too_large)]
}

fn verdicts() -> Vec<(String, String)> {
    let verdict = |ok: bool, hint: &str| json!({"ok": ok, "reason": "…", "fix_hint": hint}).to_string();
    vec![
        ("accepted".into(), verdict(true, "")),
        ("rejected with a hint".into(), verdict(false, "look elsewhere")),
        ("rejected without a hint".into(), verdict(false, " ")),
        ("no verdict".into(), "{\"ok\": \"yes\"}".into()),
    ]
}

fn answers_written(form: AnswerForm) -> Vec<(String, String)> {
    match form {
        AnswerForm::Text => vec![("answer".into(), "an answer".into())],
        AnswerForm::Final => vec![
            ("answer".into(), json!({"final": "an answer"}).to_string()),
            ("no answer".into(), json!({"final": 7}).to_string()),
        ],
    }
}

/// Plans of every size worth telling apart, over every kind of tool, and plans that break the
/// contract in one way each.
fn plans(rules: &Rules) -> Vec<(String, String)> {
    let policy = rules.policy();
    let ends = policy.plan.final_step == FinalStep::Required;
    let (least, most) = (policy.plan.min_steps, policy.plan.max_steps);
    let kinds = kinds(rules);
    let mut replies = Vec::new();
    for size in least..=most {
        let calls = if ends { size - 1 } else { size };
        if calls == 0 {
            replies.push(("plan of only the final step".into(), plan(&[], ends, |_| Value::Null)));
            continue;
        }
        for tool in &kinds {
            let tools = vec![*tool; calls as usize];
            let name = format!("plan of {calls} × {}", tool.name);
            replies.push((name, plan(&tools, ends, |_| Value::Null)));
        }
        if kinds.len() > 1 && calls > 1 {
            let tools: Vec<&ToolContract> = kinds.iter().copied().cycle().take(calls as usize).collect();
            replies.push((format!("plan of {calls} mixed steps"), plan(&tools, ends, |_| Value::Null)));
        }
        if calls == 4 && !kinds.is_empty() && policy.execution != Execution::Sequential {
            let diamond = |at: usize| match at {
                1 | 2 => json!(["step_1"]),
                3 => json!(["step_2", "step_3"]),
                _ => Value::Null,
            };
            replies.push(("plan of a diamond".into(), plan(&[kinds[0]; 4], ends, diamond)));
        }
        if calls == 3 && !kinds.is_empty() {
            let chain = |at: usize| if at == 0 { Value::Null } else { json!([format!("step_{at}")]) };
            replies.push(("plan of a chain".into(), plan(&[kinds[0]; 3], ends, chain)));
        }
    }
    replies.extend(bad_plans(most));
    replies
}

/// One tool of each kind that a branch can tell apart: its effect, whether it may happen twice, and
/// whether its output is trusted.
fn kinds(rules: &Rules) -> Vec<&ToolContract> {
    let mut kinds: Vec<&ToolContract> = Vec::new();
    for tool in rules.plan().tools() {
        let kind = |tool: &ToolContract| (tool.effect, tool.is_idempotent(), tool.trust);
        if !kinds.iter().any(|known| kind(known) == kind(tool)) {
            kinds.push(tool);
        }
    }
    kinds
}

fn plan(tools: &[&ToolContract], ends: bool, depends_on: impl Fn(usize) -> Value) -> String {
    let step = |(at, tool): (usize, &&ToolContract)| json!({"tool": tool.name, "input": schema::sample(&tool.input), "depends_on": depends_on(at)});
    let mut steps: Vec<Value> = tools.iter().enumerate().map(step).collect();
    if ends {
        steps.push(json!({"tool": FINAL_ANSWER, "input": "answer"}));
    }
    json!({"goal": "…", "steps": steps}).to_string()
}

fn bad_plans(most: u32) -> Vec<(String, String)> {
    let unknown = json!({"goal": "…", "steps": [{"tool": "no such tool", "input": "x"}]});
    let last = json!({"tool": FINAL_ANSWER, "input": "x"});
    let long = vec![last.clone(); most as usize + 1];
    vec![
        ("plan with an unknown tool".into(), unknown.to_string()),
        ("plan without steps".into(), json!({"goal": "…", "steps": []}).to_string()),
        ("plan with too many steps".into(), json!({"goal": "…", "steps": long}).to_string()),
        ("plan that is prose".into(), "First I would search.".into()),
        (
            "plan with a cycle".into(),
            json!({"goal": "…", "steps": [{"id": "a", "tool": FINAL_ANSWER, "input": "x", "depends_on": ["a"]}]})
                .to_string(),
        ),
    ]
}

/// Events that answer nothing outstanding: late, repeated, foreign, of the wrong kind.
fn strays(state: &State, waiting: &[Effect], letters: &mut Vec<Letter>) {
    let task = &state.task;
    let reply = |effect| Event::ModelReplied { effect, reply: ModelReply::text("{}") };
    let returned = |effect| Event::ToolReturned { effect, outcome: ToolOutcome::returned("late") };
    let failed = |effect| Event::ModelFailed {
        effect,
        failure: ModelFailure { class: FailureClass::Refusal, message: "…".into() },
    };
    let mut drafts = vec![0, 1, task.draft, task.draft + 1];
    drafts.dedup();
    for draft in drafts {
        for ask in [0, 1, 2, u32::MAX] {
            let ids = [
                EffectKind::Plan { draft, ask },
                EffectKind::Validate { draft, ask },
                EffectKind::Write { draft, ask },
                EffectKind::Step { draft, step: ask.wrapping_sub(1), attempt: 1 },
                EffectKind::Step { draft, step: 0, attempt: ask },
            ];
            for id in ids.map(EffectId::from) {
                let here = waiting.iter().any(|effect| effect.id() == id);
                let is_step = matches!(id.kind, EffectKind::Step { .. });
                if !here || is_step {
                    letters.push(letter("stray reply", reply(id), false));
                    letters.push(letter("stray failure", failed(id), false));
                }
                if !here || !is_step {
                    letters.push(letter("stray result", returned(id), false));
                }
            }
        }
    }
}
