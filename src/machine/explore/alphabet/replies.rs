//! Every kind of reply of every role, and replies that break each contract in one way each.

use serde_json::json;

use super::letter::{Replies, text};
use super::plans;
use crate::contract::{AnswerForm, IntentForm, VerdictForm};
use crate::machine::{ModelReply, State};
use crate::spec::{CompiledSpec, Planner, RoleName};

/// Every kind of reply of a role.
pub(super) fn of(rules: &CompiledSpec, state: &State, role: RoleName) -> Replies {
    let mut replies = match role {
        RoleName::Scope => scopes(),
        RoleName::PreviousContext => contexts(),
        RoleName::Intent => intents(rules),
        RoleName::Planner | RoleName::Replanner => match rules.policy().planner {
            Planner::Json => plans::written(rules, state),
            Planner::ToolCalls => plans::called(rules, state),
            Planner::ReactText => plans::acted(rules, state),
        },
        RoleName::Orchestrator => decisions(rules),
        RoleName::Validator => verdicts(rules.policy().validate.form().unwrap_or_default()),
        RoleName::Writer => answers_written(rules.form()),
        RoleName::Conversation | RoleName::Agent => answers_written(AnswerForm::Text),
    };
    let too_large = "x".repeat(rules.spec().limits.max_reply_bytes as usize + 1);
    replies.push(("empty reply".into(), ModelReply::text("")));
    replies.push(("reply too large".into(), ModelReply::text(too_large)));
    replies
}

fn scopes() -> Replies {
    vec![
        text("in scope", json!({"in_scope": true}).to_string()),
        text("out of scope", json!({"in_scope": false, "refusal": "sorry"}).to_string()),
        text("out of scope without a word", json!({"in_scope": false}).to_string()),
    ]
}

fn contexts() -> Replies {
    vec![
        text("needed", json!({"need_previous_context": true}).to_string()),
        text("not needed", json!({"need_previous_context": false}).to_string()),
        text("no answer", json!({"need_previous_context": "maybe"}).to_string()),
    ]
}

fn intents(rules: &CompiledSpec) -> Replies {
    let policy = &rules.policy().intent;
    let at_once = policy.answer_at_once.first();
    let other = policy.kinds.iter().find(|kind| !policy.answer_at_once.contains(kind));
    let kind = other.map_or("a question", String::as_str);
    match policy.form {
        IntentForm::Query => {
            let intent = |needs_tool: bool, kind: &str| {
                json!({"intent": kind, "rewritten_query": "q", "needs_tool": needs_tool}).to_string()
            };
            let mut replies = vec![
                text("needs a tool", intent(true, kind)),
                text("needs no tool", intent(false, kind)),
                text("no intent", json!({"intent": 7}).to_string()),
            ];
            replies.extend(at_once.map(|kind| text("answered at once", intent(true, kind))));
            replies
        }
        IntentForm::Kind => {
            let intent = |kind: &str| json!({"intent_type": kind, "confidence": 0.5}).to_string();
            let mut replies = vec![text("to be planned", intent(kind)), text("no intent", intent(""))];
            replies.extend(at_once.map(|kind| text("answered at once", intent(kind))));
            replies
        }
        IntentForm::Text => vec![text("in words", "wants something")],
    }
}

fn verdicts(form: VerdictForm) -> Replies {
    let verdict = |ok: bool, hint: &str| match form {
        VerdictForm::Verdict => json!({"ok": ok, "reason": "…", "fix_hint": hint}).to_string(),
        VerdictForm::Sufficiency => {
            json!({"sufficient": ok, "reason": "…", "missing_info": hint}).to_string()
        }
    };
    vec![
        text("accepted", verdict(true, "")),
        text("rejected with a hint", verdict(false, "look elsewhere")),
        text("rejected without a hint", verdict(false, " ")),
        text("no verdict", "{\"ok\": \"yes\", \"sufficient\": \"yes\"}"),
    ]
}

fn answers_written(form: AnswerForm) -> Replies {
    match form {
        AnswerForm::Text => vec![text("answer", "an answer")],
        AnswerForm::Final => vec![
            text("answer", json!({"final": "an answer"}).to_string()),
            text("no answer", json!({"final": 7}).to_string()),
        ],
    }
}

fn decisions(rules: &CompiledSpec) -> Replies {
    let agents: Vec<&str> = rules.plan().agents().iter().map(|agent| agent.name.as_str()).collect();
    let (first, last) = (agents.first().copied().unwrap_or("?"), agents.last().copied().unwrap_or("?"));
    let both = |primary: &str, supporting: &str| {
        let needed = json!({"primary_agent": primary, "supporting_agent": supporting});
        json!({"action": "collaborate", "collaboration_needed": needed}).to_string()
    };
    vec![
        text("continue", json!({"action": "continue"}).to_string()),
        text("add an agent", json!({"action": "add_agent", "next_agent": first}).to_string()),
        text("add nobody", json!({"action": "add_agent"}).to_string()),
        text("skip the rest", json!({"action": "skip_remaining"}).to_string()),
        text("collaborate", both(last, first)),
        text("collaborate the other way", both(first, last)),
        text("no decision", json!({"action": "dance"}).to_string()),
    ]
}
