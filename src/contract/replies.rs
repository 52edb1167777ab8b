//! What the roles after the first plan must say: the orchestrator, the validator, the writer.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::intake::Confidence;
use super::read::{check_size, deserialize_texts, parse_object};
use super::schema::strict_object;
use super::{ContractError, excerpt, strip_thoughts};

/// What an orchestrator may do to what remains of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The next step runs as planned.
    Continue,
    /// The named agent runs next, though the plan did not say so.
    AddAgent,
    /// What remains of the plan is left out.
    SkipRemaining,
    /// One agent runs next on what another has found.
    Collaborate,
}

impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What to do.
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
    /// Lets the plan go on as it is.
    pub(crate) fn carry_on(reasoning: String) -> Self {
        let (confidence, next_agent, task, collaboration_needed) = (None, None, None, None);
        Decision { action: Action::Continue, reasoning, confidence, next_agent, task, collaboration_needed }
    }

    /// Parses a model's reply. `known` says which agents there are.
    ///
    /// ```
    /// use planwright::contract::{Action, Decision};
    ///
    /// let known = |name: &str| name == "search_team";
    /// let decision = Decision::parse(r#"{"action": "add_agent", "next_agent": "search_team"}"#, known, 1_000)?;
    /// assert_eq!(decision.action, Action::AddAgent);
    ///
    /// let error = Decision::parse(r#"{"action": "add_agent", "next_agent": "chef"}"#, known, 1_000).unwrap_err();
    /// assert_eq!(error.path(), "$.next_agent");
    /// # Ok::<(), planwright::contract::ContractError>(())
    /// ```
    ///
    /// # Errors
    /// The JSON path of the first thing that does not fit: an action without what it needs, or an
    /// unknown agent.
    pub fn parse(text: &str, known: impl Fn(&str) -> bool, max_bytes: usize) -> Result<Self, ContractError> {
        let decision: Decision = parse_object(text, max_bytes)?;
        let agents = match decision.action {
            Action::Continue | Action::SkipRemaining => Vec::new(),
            Action::AddAgent => {
                let missing = || ContractError::at("$.next_agent", "needed by `add_agent`, and missing");
                vec![("$.next_agent", decision.next_agent.as_ref().ok_or_else(missing)?)]
            }
            Action::Collaborate => {
                let missing =
                    || ContractError::at("$.collaboration_needed", "needed by `collaborate`, and missing");
                let both = decision.collaboration_needed.as_ref().ok_or_else(missing)?;
                vec![
                    ("$.collaboration_needed.primary_agent", &both.primary_agent),
                    ("$.collaboration_needed.supporting_agent", &both.supporting_agent),
                ]
            }
        };
        match agents.into_iter().find(|(_, name)| !known(name)) {
            Some((path, name)) => {
                Err(ContractError::at(path, format!("there is no agent {:?}", excerpt(name, 60))))
            }
            None => Ok(decision),
        }
    }

    /// The JSON schema sent with the request.
    pub fn schema(agents: &[&str]) -> Value {
        let agent = json!({"type": "string", "enum": agents});
        let or_null = |value: Value| json!({"anyOf": [value, {"type": "null"}]});
        strict_object(json!({
            "action": {"type": "string", "enum": ["continue", "add_agent", "skip_remaining", "collaborate"]},
            "reasoning": {"type": "string"},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "next_agent": or_null(agent.clone()),
            "task": {"type": ["string", "null"]},
            "collaboration_needed": or_null(strict_object(json!({
                "primary_agent": agent,
                "supporting_agent": agent,
                "collaboration_type": {"type": "string"},
            }))),
        }))
    }
}

/// A validator's judgement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether an answer can be written from what was collected.
    pub ok: bool,
    /// Why, in the user's language.
    pub reason: String,
    /// What the next plan should do differently; may be empty.
    pub fix_hint: String,
}

/// The contract that a validator answers under.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictForm {
    /// `{ok, reason, fix_hint}`.
    #[default]
    Verdict,
    /// `{sufficient, missing_info, reason}`: `missing_info` becomes the hint.
    Sufficiency,
}

#[derive(Deserialize)]
struct Sufficiency {
    sufficient: bool,
    #[serde(deserialize_with = "deserialize_texts")]
    missing_info: Option<String>,
    reason: String,
}

impl VerdictForm {
    /// Parses a model's reply.
    ///
    /// ```
    /// use planwright::contract::VerdictForm;
    ///
    /// let reply = r#"{"sufficient": false, "missing_info": "the term of notice", "reason": "not found"}"#;
    /// let verdict = VerdictForm::Sufficiency.parse(reply, 1_000)?;
    /// assert!(!verdict.ok);
    /// assert_eq!(verdict.fix_hint, "the term of notice");
    ///
    /// let error = VerdictForm::Verdict.parse(r#"{"ok": "no", "reason": "", "fix_hint": ""}"#, 1_000).unwrap_err();
    /// assert_eq!(error.path(), "$.ok");
    /// # Ok::<(), planwright::contract::ContractError>(())
    /// ```
    ///
    /// # Errors
    /// The JSON path of the first thing that does not fit.
    pub fn parse(self, text: &str, max_bytes: usize) -> Result<Verdict, ContractError> {
        match self {
            VerdictForm::Verdict => parse_object(text, max_bytes),
            VerdictForm::Sufficiency => {
                let Sufficiency { sufficient, missing_info, reason } = parse_object(text, max_bytes)?;
                Ok(Verdict { ok: sufficient, reason, fix_hint: missing_info.unwrap_or_default() })
            }
        }
    }

    /// The JSON schema sent with the request.
    pub fn schema(self) -> Value {
        let (text, flag) = (json!({"type": "string"}), json!({"type": "boolean"}));
        strict_object(match self {
            VerdictForm::Verdict => json!({"ok": flag, "reason": text, "fix_hint": text}),
            VerdictForm::Sufficiency => json!({"sufficient": flag, "missing_info": text, "reason": text}),
        })
    }
}

/// The form of the writer's reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerForm {
    /// Plain text: the whole reply is the answer.
    #[default]
    Text,
    /// A JSON object `{"final": string}`.
    Final,
}

#[derive(Deserialize)]
struct FinalReply {
    r#final: String,
}

impl AnswerForm {
    /// Parses a model's reply. The answer may not be empty.
    ///
    /// ```
    /// use planwright::contract::AnswerForm;
    ///
    /// assert_eq!(AnswerForm::Text.parse("  42\n", 100)?, "42");
    /// assert_eq!(AnswerForm::Final.parse(r#"{"final": "42"}"#, 100)?, "42");
    /// assert!(AnswerForm::Text.parse(" ", 100).is_err());
    /// # Ok::<(), planwright::contract::ContractError>(())
    /// ```
    ///
    /// # Errors
    /// The reply is too large, not of this form, or empty.
    pub fn parse(self, text: &str, max_bytes: usize) -> Result<String, ContractError> {
        let (path, answer) = match self {
            AnswerForm::Text => {
                check_size(text, max_bytes)?;
                ("$", strip_thoughts(text).into_owned())
            }
            AnswerForm::Final => {
                let reply: FinalReply = parse_object(text, max_bytes)?;
                ("$.final", reply.r#final.trim().to_owned())
            }
        };
        if answer.is_empty() {
            return Err(ContractError::at(path, "expected an answer, found nothing"));
        }
        Ok(answer)
    }

    /// The JSON schema sent with the request; `None` for plain text.
    pub fn schema(self) -> Option<Value> {
        match self {
            AnswerForm::Text => None,
            AnswerForm::Final => Some(strict_object(json!({"final": {"type": "string"}}))),
        }
    }
}
