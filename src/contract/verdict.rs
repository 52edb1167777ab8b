//! What a validator must say about the results of a plan.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ContractError, read};

/// A validator's judgement.
///
/// ```
/// use planwright::contract::Verdict;
///
/// let verdict = Verdict::read(r#"{"ok": false, "reason": "wrong topic", "fix_hint": "search again"}"#, 10_000)?;
/// assert!(!verdict.ok);
///
/// let error = Verdict::read(r#"{"ok": "no", "reason": "", "fix_hint": ""}"#, 10_000).unwrap_err();
/// assert_eq!(error.path(), "$.ok");
/// # Ok::<(), planwright::contract::ContractError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether an answer can be written from what was collected.
    pub ok: bool,
    /// Why, in the user's language.
    pub reason: String,
    /// What the next plan should do differently; empty where there is nothing to say.
    pub fix_hint: String,
}

impl Verdict {
    /// Reads a verdict out of a model's reply.
    ///
    /// # Errors
    /// A [`ContractError`] with the JSON path of the first thing that does not fit.
    pub fn read(text: &str, max_bytes: usize) -> Result<Self, ContractError> {
        read::object(text, max_bytes)
    }

    /// The JSON schema sent with the request (strict-mode compatible).
    pub fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "ok": {"type": "boolean"},
                "reason": {"type": "string"},
                "fix_hint": {"type": "string"},
            },
            "required": ["ok", "reason", "fix_hint"],
            "additionalProperties": false,
        })
    }
}
