//! What the roles after the first plan must say: the orchestrator, the validator, the writer.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::intake::Confidence;
use super::read::{deserialize_texts, parse_object, parse_words};
use super::schema::{Schema, strict_object};
use super::{ContractError, ToolContract, excerpt};

/// What an orchestrator may do to what remains of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The next step runs as planned.
    #[default]
    Continue,
    /// The named agent runs next, though the plan did not say so.
    AddAgent,
    /// What remains of the plan is left out.
    SkipRemaining,
    /// One agent runs next on what another has found.
    Collaborate,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Which agents work together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collaboration {
    /// The agent that runs next.
    pub primary_agent: String,
    /// The agent whose output it works on.
    pub supporting_agent: String,
    /// What the work is, in the orchestrator's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collaboration_type: Option<String>,
}

/// An orchestrator's decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What to do: `continue`, `add_agent`, `skip_remaining` or `collaborate`.
    pub action: Action,
    /// Why.
    #[serde(default)]
    pub reasoning: String,
    /// How sure the model is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// The agent that runs next, for [`Action::AddAgent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_agent: Option<String>,
    /// What it is to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The agents that work together, for [`Action::Collaborate`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collaboration_needed: Option<Collaboration>,
}

impl Decision {
    /// Parses a model's reply. `known` says which agents there are.
    #[doc(hidden)]
    pub fn parse(text: &str, known: impl Fn(&str) -> bool, max_bytes: usize) -> Result<Self, ContractError> {
        let decision: Decision = parse_object(text, max_bytes)?;
        let needed = format!("needed by `{}`, and missing", decision.action);
        let missing = |path: &str| Err(ContractError::at(path, &needed));
        let agents = match (decision.action, &decision.next_agent, &decision.collaboration_needed) {
            (Action::Continue | Action::SkipRemaining, ..) => Vec::new(),
            (Action::AddAgent, Some(next), _) => vec![("$.next_agent", next)],
            (Action::AddAgent, None, _) => return missing("$.next_agent"),
            (Action::Collaborate, _, Some(both)) => vec![
                ("$.collaboration_needed.primary_agent", &both.primary_agent),
                ("$.collaboration_needed.supporting_agent", &both.supporting_agent),
            ],
            (Action::Collaborate, _, None) => return missing("$.collaboration_needed"),
        };
        match agents.into_iter().find(|(_, name)| !known(name)) {
            Some((path, name)) => {
                Err(ContractError::at(path, format!("there is no agent {:?}", excerpt(name, 60))))
            }
            None => Ok(decision),
        }
    }

    /// The JSON schema sent with the request.
    pub(crate) fn schema(agents: &[ToolContract]) -> Value {
        let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
        let agent = json!({"type": "string", "enum": names});
        let both = strict_object(json!({
            "primary_agent": agent, "supporting_agent": agent, "collaboration_type": {"type": "string"},
        }));
        strict_object(json!({
            "action": {"type": "string", "enum": ["continue", "add_agent", "skip_remaining", "collaborate"]},
            "reasoning": {"type": "string"},
            "confidence": Confidence::schema(),
            "next_agent": {"anyOf": [agent, {"type": "null"}]},
            "task": {"type": ["string", "null"]},
            "collaboration_needed": {"anyOf": [both, {"type": "null"}]},
        }))
    }
}

/// What an executor must say: the value of one hole.
#[derive(Deserialize)]
pub(crate) struct Filling {
    value: Value,
}

impl Filling {
    /// Parses a model's reply: a value that fits the hole's schema.
    pub fn parse(text: &str, schema: &Value, max_bytes: usize) -> Result<Value, ContractError> {
        let Filling { value } = parse_object(text, max_bytes)?;
        Schema::new(schema)?.check(&value).map_err(|error| error.under("$.value"))?;
        Ok(value)
    }

    /// The JSON schema sent with the request, the same for every hole: what the value must fit stands in the request.
    pub fn schema() -> Value {
        strict_object(json!({"value": {}}))
    }
}

/// What is wrong with what a validator rejects, as one of four words. After untrusted output was read, this and
/// [`Verdict::steps`] are all that a re-planner is told of a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shortfall {
    /// It is about something else.
    WrongSubject,
    /// It covers a part of the question.
    Incomplete,
    /// Steps failed, and without them there is no answer.
    Failed,
    /// There is too little to answer from. A word of a model's own says no more than that.
    #[default]
    #[serde(other)]
    Insufficient,
}

impl Shortfall {
    /// What a re-planner is told to do about it.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Shortfall::Insufficient => "Too little was found: look in other places, or for other words.",
            Shortfall::WrongSubject => {
                "What was found is about something else: name the subject more exactly, or ask another tool."
            }
            Shortfall::Incomplete => {
                "A part was found: plan a step of its own for each part of the question that has none."
            }
            Shortfall::Failed => "Plan another way to what the failed step was for.",
        }
    }
}

/// A validator's judgement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether an answer can be written from what was collected.
    pub ok: bool,
    /// What is wrong, if it was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Shortfall>,
    /// The steps that it is about, by their positions in the plan (`step_index`), from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<u32>,
    /// Why, in the user's language.
    pub reason: String,
    /// What the next plan should do differently; may be empty.
    pub fix_hint: String,
}

/// Whether a model judges, and under which contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validate {
    /// No. The whole-plan check is the only validation.
    Off,
    /// The validator gives a verdict: `{ok, verdict, steps, reason, fix_hint}`.
    #[default]
    Verdict,
    /// The validator says whether there is enough: `{sufficient, missing_info, reason}`. What is missing
    /// becomes the hint.
    Sufficiency,
}

#[derive(Deserialize)]
struct Sufficiency {
    sufficient: bool,
    #[serde(deserialize_with = "deserialize_texts")]
    missing_info: Option<String>,
    reason: String,
}

impl Validate {
    /// Parses a validator's reply.
    #[doc(hidden)]
    pub fn parse(self, text: &str, max_bytes: usize) -> Result<Verdict, ContractError> {
        if self != Validate::Sufficiency {
            let verdict: Verdict = parse_object(text, max_bytes)?;
            return Ok(match verdict.ok {
                true => Verdict { verdict: None, steps: Vec::new(), ..verdict },
                false => verdict,
            });
        }
        let Sufficiency { sufficient: ok, missing_info, reason } = parse_object(text, max_bytes)?;
        Ok(Verdict { ok, reason, fix_hint: missing_info.unwrap_or_default(), ..Verdict::default() })
    }

    /// The JSON schema sent with the request; `None` if validation is off.
    #[doc(hidden)]
    pub fn schema(self) -> Option<Value> {
        let (text, flag) = (json!({"type": "string"}), json!({"type": "boolean"}));
        Some(strict_object(match self {
            Validate::Off => return None,
            Validate::Verdict => json!({
                "ok": flag,
                "verdict": text,
                "steps": {"type": "array", "items": {"type": "integer"}},
                "reason": text,
                "fix_hint": text,
            }),
            Validate::Sufficiency => json!({"sufficient": flag, "missing_info": text, "reason": text}),
        }))
    }
}

/// The form of the writer's reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerForm {
    /// Plain text: the whole reply is the answer.
    #[default]
    Text,
    /// A JSON object `{"final": string}`.
    Final,
    /// A JSON object of this JSON schema. It is the answer, as JSON; see
    /// [`Run::answer_as`](crate::driver::Run::answer_as).
    Schema(Value),
}

#[derive(Deserialize)]
struct FinalReply {
    r#final: String,
}

impl AnswerForm {
    /// Parses a model's reply. The answer may not be empty. Whether an object conforms to a schema of the spec's own
    /// is checked by [`CompiledSpec::parse_answer`](crate::spec::CompiledSpec::parse_answer).
    #[doc(hidden)]
    pub fn parse(&self, text: &str, max_bytes: usize) -> Result<String, ContractError> {
        let (path, answer) = match self {
            AnswerForm::Schema(_) => return Ok(parse_object::<Value>(text, max_bytes)?.to_string()),
            AnswerForm::Text => ("$", parse_words(text, max_bytes)?),
            AnswerForm::Final => {
                ("$.final", parse_object::<FinalReply>(text, max_bytes)?.r#final.trim().to_owned())
            }
        };
        if answer.is_empty() {
            return Err(ContractError::at(path, "expected an answer, found nothing"));
        }
        Ok(answer)
    }

    /// The JSON schema sent with the request; `None` for plain text.
    #[doc(hidden)]
    pub fn schema(&self) -> Option<Value> {
        match self {
            AnswerForm::Text => None,
            AnswerForm::Final => Some(strict_object(json!({"final": {"type": "string"}}))),
            AnswerForm::Schema(schema) => Some(schema.clone()),
        }
    }
}
