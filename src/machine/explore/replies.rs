//! Every kind of reply of every role, and replies that break each contract in one way each.

use serde_json::{Value, json};

use super::drafts::{Replies, actions, calls, plans, reference, text};
use super::sample::{CANARY, fresh_input_of, sample};
use crate::contract::{AnswerForm, IntentForm, ToolContract, ToolEffect, Validate};
use crate::machine::state::ExecuteStage;
use crate::machine::{Phase, State};
use crate::spec::{CompiledSpec, Planner, RoleName};

pub(super) fn replies(compiled: &CompiledSpec, state: &State, role: RoleName) -> Replies {
    let mut replies = match role {
        RoleName::Scope => vec![
            text("in scope", json!({"in_scope": true})),
            text("out of scope", json!({"in_scope": false, "refusal": "sorry"})),
            text("out of scope without a word", json!({"in_scope": false})),
        ],
        RoleName::PreviousContext => vec![
            text("needed", json!({"need_previous_context": true})),
            text("not needed", json!({"need_previous_context": false})),
            text("no answer", json!({"need_previous_context": "maybe"})),
        ],
        RoleName::Intent => intents(compiled),
        RoleName::Grant => grants(compiled),
        RoleName::Planner | RoleName::Replanner => match compiled.policy().planner {
            Planner::Json => plans(compiled, state),
            Planner::ToolCalls => calls(compiled, state),
            Planner::ReactText => actions(compiled, state),
        },
        RoleName::Orchestrator => decisions(compiled),
        RoleName::Executor => values(state),
        RoleName::Validator => verdicts(compiled.policy().validate),
        RoleName::Writer if *compiled.form() != AnswerForm::Text => {
            let answer = match compiled.form() {
                AnswerForm::Schema(schema) => sample(schema),
                _ => json!({"final": format!("an answer{CANARY}")}),
            };
            vec![text("answer", answer), text("no answer", json!({"final": 7}).to_string() + "{")]
        }
        RoleName::Writer | RoleName::Conversation | RoleName::Agent => {
            vec![text("answer", format!("an answer{CANARY}"))]
        }
    };
    let too_large = "x".repeat(compiled.max_reply_bytes() + 1);
    replies.extend([text("empty reply", ""), text("reply too large", too_large)]);
    replies
}

fn intents(compiled: &CompiledSpec) -> Replies {
    let policy = &compiled.policy().intent;
    if policy.form == IntentForm::Text {
        return vec![text("in words", "wants something")];
    }
    let other = policy.kinds.iter().find(|kind| !policy.answer_at_once.contains(kind));
    let kind = other.map_or("a question", String::as_str);
    let intent = |name: &str, kind: &str, needs_tool: bool| match policy.form {
        IntentForm::Kind => text(name, json!({"intent_type": kind, "confidence": 0.5})),
        _ => text(name, json!({"intent": kind, "rewritten_query": "q", "needs_tool": needs_tool})),
    };
    let broken = text("no intent", json!({"intent": 7, "intent_type": ""}));
    let mut replies = vec![intent("to be planned", kind, true), broken];
    if policy.form == IntentForm::Query {
        replies.push(intent("needs no tool", kind, false));
    }
    replies.extend(policy.answer_at_once.first().map(|kind| intent("answered at once", kind, true)));
    replies
}

/// What a question may call for: nothing, a write, and one that refers to a read.
fn grants(compiled: &CompiledSpec) -> Replies {
    let Some(contract) = compiled.grants() else { return Vec::new() };
    let tool = |effect| contract.all().iter().find(|tool| tool.effect == effect);
    let grant = |name: &str, steps: Value| text(name, json!({"steps": steps}));
    let mut replies = vec![
        grant("nothing", json!([])),
        grant("an unknown tool", json!([{"tool": "no such tool", "input": "x"}])),
        text("a grant that is prose", "Whatever it takes."),
    ];
    let Some(write) = tool(ToolEffect::Write) else { return replies };
    replies.push(grant("a write", json!([{"tool": write.name, "input": sample(&write.input)}])));
    if let Some(read) = tool(ToolEffect::Read)
        && let Some(input) = reference(0, read, write)
    {
        let read = json!({"tool": read.name, "input": fresh_input_of(contract, read, 0)});
        let steps = json!([read, {"tool": write.name, "input": input}]);
        replies.push(grant("a write that refers to a read", steps));
    }
    replies
}

fn verdicts(form: Validate) -> Replies {
    let verdict = |ok: bool, hint: &str| match form {
        Validate::Off | Validate::Verdict => {
            json!({"ok": ok, "verdict": "failed", "steps": [0, 99], "reason": CANARY, "fix_hint": hint})
        }
        Validate::Sufficiency => json!({"sufficient": ok, "reason": CANARY, "missing_info": hint}),
    };
    vec![
        text("accepted", verdict(true, "")),
        text("rejected with a hint", verdict(false, &format!("look elsewhere{CANARY}"))),
        text("rejected without a hint", verdict(false, " ")),
        text("no verdict", json!({"ok": "yes", "sufficient": "yes"})),
    ]
}

fn decisions(compiled: &CompiledSpec) -> Replies {
    let name = |agent: Option<&ToolContract>| agent.map_or("?", |agent| agent.name.as_str()).to_owned();
    let (first, last) = (name(compiled.plan().agents().first()), name(compiled.plan().agents().last()));
    let both = |primary: &str, supporting: &str| {
        let needed = json!({"primary_agent": primary, "supporting_agent": supporting});
        json!({"action": "collaborate", "reasoning": CANARY, "collaboration_needed": needed})
    };
    vec![
        text("continue", json!({"action": "continue", "reasoning": CANARY})),
        text("add an agent", json!({"action": "add_agent", "reasoning": CANARY, "next_agent": first})),
        text("add nobody", json!({"action": "add_agent"})),
        text("skip the rest", json!({"action": "skip_remaining"})),
        text("collaborate", both(&last, &first)),
        text("collaborate the other way", both(&first, &last)),
        text("no decision", json!({"action": "dance"})),
    ]
}

/// What a model may write for the value that is open.
fn values(state: &State) -> Replies {
    let Phase::Execute(ExecuteStage::Filling { step, .. }) = &state.phase else { return Vec::new() };
    let open = state.task.progress.as_ref().and_then(|progress| progress.open_hole(*step));
    let value = open.map(|(hole, _)| sample(hole.schema)).unwrap_or_default();
    let value = value.as_str().map_or(value.clone(), |text| format!("{text}{CANARY}").into());
    vec![
        text("a value", json!({"value": value})),
        text("a value of another type", json!({"value": {CANARY: [value]}})),
        text("no value", json!({"wanted": value})),
    ]
}
