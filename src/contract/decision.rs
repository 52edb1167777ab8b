//! What an orchestrator must say between the steps of a plan.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Confidence, ContractError, read, schema};

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
        f.write_str(match self {
            Action::Continue => "continue",
            Action::AddAgent => "add_agent",
            Action::SkipRemaining => "skip_remaining",
            Action::Collaborate => "collaborate",
        })
    }
}

/// Which agents work together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collaboration {
    /// Who runs next.
    pub primary_agent: String,
    /// Whose output it works on.
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
    /// Who runs next, for [`Action::AddAgent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_agent: Option<String>,
    /// What it is to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Who works together, for [`Action::Collaborate`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collaboration_needed: Option<Collaboration>,
}

impl Decision {
    /// The plan goes on as it is.
    pub fn carry_on(reasoning: impl Into<String>) -> Self {
        Decision {
            action: Action::Continue,
            reasoning: reasoning.into(),
            confidence: None,
            next_agent: None,
            task: None,
            collaboration_needed: None,
        }
    }

    /// Reads a decision out of a model's reply. `known` says which agents there are.
    ///
    /// ```
    /// use planwright::contract::{Action, Decision};
    ///
    /// let known = |name: &str| name == "search_team";
    /// let decision = Decision::read(r#"{"action": "add_agent", "next_agent": "search_team"}"#, known, 1_000)?;
    /// assert_eq!(decision.action, Action::AddAgent);
    ///
    /// let error = Decision::read(r#"{"action": "add_agent", "next_agent": "chef"}"#, known, 1_000).unwrap_err();
    /// assert_eq!(error.path(), "$.next_agent");
    /// # Ok::<(), planwright::contract::ContractError>(())
    /// ```
    ///
    /// # Errors
    /// The JSON path of the first thing that does not fit: an action without what it needs, or an
    /// agent that there is not.
    pub fn read(text: &str, known: impl Fn(&str) -> bool, max_bytes: usize) -> Result<Self, ContractError> {
        let decision: Decision = read::object(text, max_bytes)?;
        let check = |path: &str, name: &str| match known(name) {
            true => Ok(()),
            false => Err(ContractError::at(path, format!("there is no agent {:?}", read::excerpt(name, 60)))),
        };
        match (decision.action, &decision.next_agent, &decision.collaboration_needed) {
            (Action::AddAgent, None, _) => {
                return Err(ContractError::at("$.next_agent", "needed by `add_agent`, and missing"));
            }
            (Action::AddAgent, Some(name), _) => check("$.next_agent", name)?,
            (Action::Collaborate, _, None) => {
                return Err(ContractError::at(
                    "$.collaboration_needed",
                    "needed by `collaborate`, and missing",
                ));
            }
            (Action::Collaborate, _, Some(both)) => {
                check("$.collaboration_needed.primary_agent", &both.primary_agent)?;
                check("$.collaboration_needed.supporting_agent", &both.supporting_agent)?;
            }
            (Action::Continue | Action::SkipRemaining, ..) => {}
        }
        Ok(decision)
    }

    /// The JSON schema sent with the request.
    pub fn schema(agents: &[&str]) -> Value {
        let agent = json!({"type": "string", "enum": agents});
        let or_null = |value: Value| json!({"anyOf": [value, {"type": "null"}]});
        schema::strict_object(json!({
            "action": {"type": "string", "enum": ["continue", "add_agent", "skip_remaining", "collaborate"]},
            "reasoning": {"type": "string"},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "next_agent": or_null(agent.clone()),
            "task": {"type": ["string", "null"]},
            "collaboration_needed": or_null(schema::strict_object(json!({
                    "primary_agent": agent,
                    "supporting_agent": agent,
                    "collaboration_type": {"type": "string"},
                }))),
        }))
    }
}
