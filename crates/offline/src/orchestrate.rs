//! Orchestrator: whether the plan goes on as it is.
//!
//! Only one thing is ever added: a second search in other words, where the first found nothing. What
//! remains is never left out, for nothing here can tell that it is not needed.

use serde_json::{Value, json};

use super::duties::{Duty, leave_the_subject};
use super::payload::Payload;
use super::planner::strongest;
use super::question::Question;
use super::terms::{Term, query};
use super::text::line;
use planwright::spec::RequestFrame;

/// The reply of the role.
pub(super) fn reply(frame: &RequestFrame, payload: &Payload<'_>) -> Value {
    let mut question = Question::parse(payload.query(), false);
    leave_the_subject(&mut question);
    let decide =
        |action: &str, reasoning: String, confidence: f64, agent: Option<&str>, task: Option<String>| {
            json!({
                "action": action, "reasoning": reasoning, "confidence": confidence, "next_agent": agent,
                "task": task, "collaboration_needed": null,
            })
        };
    let done = payload.list("situation_summary");
    let last =
        done.last().and_then(|entry| Some((entry.get("agent")?.as_str()?, entry.get("results")?.as_u64()?)));
    if let Some((agent, 0)) = last
        && searches(frame, agent)
        && !added_before(payload, agent)
    {
        let reasoning = match question.korean {
            false => format!("{agent} found nothing: it searches once more, in other words"),
            true => format!("{agent}의 결과가 없어 다른 말로 한 번 더 검색합니다"),
        };
        return decide("add_agent", reasoning, 0.7, Some(agent), Some(other_words(&question)));
    }
    let reasoning = match (done.is_empty(), payload.list("remaining_steps").is_empty()) {
        (true, _) => question
            .say("nothing has run yet: the plan goes on", "아직 실행된 단계가 없어 계획대로 진행합니다"),
        (false, true) => question.say("every step has run", "모든 단계를 실행했습니다"),
        (false, false) => question.say("the plan goes on as it is", "계획대로 계속 진행합니다"),
    };
    decide("continue", reasoning.to_owned(), 0.9, None, None)
}

fn searches(frame: &RequestFrame, agent: &str) -> bool {
    frame.tools.iter().any(|known| known.name == agent && Duty::of(known) == Some(Duty::Search))
}

/// Whether this agent was added before, by a decision or by having run twice.
fn added_before(payload: &Payload<'_>, agent: &str) -> bool {
    let names = |entry: &&Value, key: &str| entry.get(key).and_then(Value::as_str) == Some(agent);
    let added = payload.list("decisions").iter().any(|decision| {
        // A decision may stand by itself or under its step.
        let decision = decision.get("decision").unwrap_or(decision);
        decision.get("action").and_then(Value::as_str) == Some("add_agent") && names(&decision, "next_agent")
    });
    added || payload.list("situation_summary").iter().filter(|entry| names(entry, "agent")).count() > 1
}

/// The words that say most, widened.
fn other_words(question: &Question) -> String {
    let terms: Vec<Term> = question.terms().into_iter().cloned().collect();
    let words = if terms.is_empty() { line(&question.text, 200) } else { query(strongest(&terms, 2), 160) };
    format!("{words} {}", question.say("overview", "개요"))
}
