//! What a validator must say about the results of a plan.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ContractError, read, schema};

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

/// Which contract a validator answers under.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictForm {
    /// `{ok, reason, fix_hint}`.
    #[default]
    Verdict,
    /// `{sufficient, missing_info, reason}`: read as the same verdict, with `missing_info` as its
    /// hint.
    Sufficiency,
}

#[derive(Deserialize)]
struct Sufficiency {
    sufficient: bool,
    #[serde(deserialize_with = "read::joined_texts")]
    missing_info: Option<String>,
    reason: String,
}

impl VerdictForm {
    /// Reads a verdict of this form out of a model's reply.
    ///
    /// ```
    /// use planwright::contract::VerdictForm;
    ///
    /// let reply = r#"{"sufficient": false, "missing_info": "the term of notice", "reason": "not found"}"#;
    /// let verdict = VerdictForm::Sufficiency.read(reply, 1_000)?;
    /// assert!(!verdict.ok);
    /// assert_eq!(verdict.fix_hint, "the term of notice");
    /// # Ok::<(), planwright::contract::ContractError>(())
    /// ```
    ///
    /// # Errors
    /// A [`ContractError`] with the JSON path of the first thing that does not fit.
    pub fn read(self, text: &str, max_bytes: usize) -> Result<Verdict, ContractError> {
        match self {
            VerdictForm::Verdict => Verdict::read(text, max_bytes),
            VerdictForm::Sufficiency => {
                let Sufficiency { sufficient, missing_info, reason } = read::object(text, max_bytes)?;
                Ok(Verdict { ok: sufficient, reason, fix_hint: missing_info.unwrap_or_default() })
            }
        }
    }

    /// The JSON schema sent with the request (strict-mode compatible).
    pub fn schema(self) -> Value {
        match self {
            VerdictForm::Verdict => Verdict::schema(),
            VerdictForm::Sufficiency => schema::strict_object(json!({
                "sufficient": {"type": "boolean"},
                "missing_info": {"type": "string"},
                "reason": {"type": "string"},
            })),
        }
    }
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
        schema::strict_object(json!({
            "ok": {"type": "boolean"},
            "reason": {"type": "string"},
            "fix_hint": {"type": "string"},
        }))
    }
}
