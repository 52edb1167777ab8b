//! What a tool declares about itself before any plan may name it.

use core::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ContractError, schema};

/// What calling a tool does to the world outside the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolEffect {
    /// Touches nothing outside: arithmetic, local documents.
    Pure,
    /// Asks the outside world; its arguments leave the machine.
    Read,
    /// Changes something outside.
    Write,
}

impl ToolEffect {
    /// As it is written: `pure`, `read` or `write`.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolEffect::Pure => "pure",
            ToolEffect::Read => "read",
            ToolEffect::Write => "write",
        }
    }
}

/// Whether what a tool returns may steer the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Anyone may have written it. Reading it taints the run.
    #[default]
    Untrusted,
    /// Written by the tool itself out of nothing but its input.
    Trusted,
}

/// The contract of one tool: all that a planner, a checker and a driver need to know of it.
///
/// ```
/// use planwright::contract::{ToolContract, ToolEffect, Trust};
///
/// let contract = ToolContract::text("weather", "Today's weather in a city.", ToolEffect::Read);
/// assert_eq!(contract.trust, Trust::Untrusted);
/// assert!(contract.takes_text());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolContract {
    /// The name plans use: 1 to 64 letters, digits, `_` or `-`.
    pub name: String,
    /// What it does and when to use it, in a sentence or two; planners read this.
    pub description: String,
    /// JSON schema of its input (the subset that [`schema`] lists).
    #[serde(default = "text_schema")]
    pub input: Value,
    /// What calling it does to the world.
    pub effect: ToolEffect,
    /// Whether calling it twice with the same input and idempotency key equals calling it once.
    /// Left out, it is `true` for `pure` and `read`, `false` for `write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// Whether a person must allow each call, where the agent asks people about such calls
    /// (`approval = "risky"`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_approval: bool,
    /// Whether its output may steer the run; `untrusted` unless declared otherwise.
    #[serde(default)]
    pub trust: Trust,
    /// Longest time one call may take, in milliseconds. Only a `pure` tool may do without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Largest output kept, in bytes of UTF-8; what is longer is cut and marked as cut.
    #[serde(default = "default_max_output_bytes")]
    pub max_output_bytes: u32,
}

fn default_max_output_bytes() -> u32 {
    16_000
}

/// The schema of a tool that takes one non-empty text.
pub fn text_schema() -> Value {
    json!({"type": "string", "minLength": 1})
}

impl ToolContract {
    /// A contract for a tool that takes one text, with a time-out of 20 s unless it is `pure`.
    pub fn text(name: &str, description: &str, effect: ToolEffect) -> Self {
        ToolContract {
            name: name.to_owned(),
            description: description.to_owned(),
            input: text_schema(),
            effect,
            idempotent: None,
            needs_approval: false,
            trust: Trust::default(),
            timeout_ms: (effect != ToolEffect::Pure).then_some(20_000),
            max_output_bytes: default_max_output_bytes(),
        }
    }

    /// A contract for a tool that takes a JSON object, to be completed by [`input`](Self::input) and its
    /// like.
    ///
    /// ```
    /// use std::time::Duration;
    /// use planwright::contract::{ToolContract, ToolEffect};
    /// use serde_json::json;
    ///
    /// let book = ToolContract::json("book_room", "Books a meeting room.", ToolEffect::Write)
    ///     .input(json!({
    ///         "type": "object",
    ///         "properties": {"room": {"type": "string"}, "hours": {"type": "integer", "minimum": 1}},
    ///         "required": ["room", "hours"],
    ///     }))
    ///     .needs_approval()
    ///     .timeout(Duration::from_secs(5));
    /// assert!(book.check().is_ok() && book.happens_once());
    /// ```
    pub fn json(name: &str, description: &str, effect: ToolEffect) -> Self {
        ToolContract::text(name, description, effect).input(json!({"type": "object"}))
    }

    /// Sets the JSON schema of the input.
    #[must_use]
    pub fn input(mut self, schema: Value) -> Self {
        self.input = schema;
        self
    }

    /// Declares that calling it twice with the same input and idempotency key equals calling it once.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = Some(true);
        self
    }

    /// Declares that a person must allow each call.
    #[must_use]
    pub fn needs_approval(mut self) -> Self {
        self.needs_approval = true;
        self
    }

    /// Declares that its output may steer the run.
    #[must_use]
    pub fn trusted(mut self) -> Self {
        self.trust = Trust::Trusted;
        self
    }

    /// Sets the longest time of one call.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout_ms = Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Sets the largest output that is kept, in bytes.
    #[must_use]
    pub fn max_output_bytes(mut self, bytes: u32) -> Self {
        self.max_output_bytes = bytes;
        self
    }

    /// Whether calling it again with the same input and key is the same as calling it once.
    pub fn is_idempotent(&self) -> bool {
        self.idempotent.unwrap_or(self.effect != ToolEffect::Write)
    }

    /// Whether calling it a second time would change something a second time.
    pub fn happens_once(&self) -> bool {
        self.effect == ToolEffect::Write && !self.is_idempotent()
    }

    /// Whether a plan may hand it a plain text (and so another step's output).
    pub fn takes_text(&self) -> bool {
        self.input.get("type").and_then(Value::as_str) == Some("string")
    }

    /// Checks the declaration itself.
    ///
    /// # Errors
    /// Names the field that is out of range, or the schema keyword that is not supported.
    pub fn check(&self) -> Result<(), ContractError> {
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(legal) {
            return Err(ContractError::at(
                "name",
                format!("expected 1 to 64 letters, digits, `_` or `-`, found {:?}", self.name),
            ));
        }
        if [super::FINAL_ANSWER, super::HITL].contains(&self.name.as_str()) {
            return Err(ContractError::at("name", format!("{:?} is reserved", self.name)));
        }
        if self.description.trim().is_empty() {
            return Err(ContractError::at("description", "expected a sentence, found nothing"));
        }
        if self.timeout_ms == Some(0) {
            return Err(ContractError::at("timeout_ms", "expected at least 1, found 0"));
        }
        if self.timeout_ms.is_none() && self.effect != ToolEffect::Pure {
            let problem = "expected a time-out: only a `pure` tool may do without";
            return Err(ContractError::at("timeout_ms", problem));
        }
        if self.max_output_bytes == 0 {
            return Err(ContractError::at("max_output_bytes", "expected at least 1, found 0"));
        }
        schema::check_supported(&self.input).map_err(|error| error.under("input"))
    }
}
