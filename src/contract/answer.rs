//! What a writer must say.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ContractError, read, schema};

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
    /// Reads the answer out of a model's reply. An empty answer is none.
    ///
    /// ```
    /// use planwright::contract::AnswerForm;
    ///
    /// assert_eq!(AnswerForm::Text.read("  42\n", 100)?, "42");
    /// assert_eq!(AnswerForm::Final.read(r#"{"final": "42"}"#, 100)?, "42");
    /// assert!(AnswerForm::Text.read(" ", 100).is_err());
    /// # Ok::<(), planwright::contract::ContractError>(())
    /// ```
    ///
    /// # Errors
    /// A [`ContractError`] where the reply is too large, not of this form, or empty.
    pub fn read(self, text: &str, max_bytes: usize) -> Result<String, ContractError> {
        let (path, answer) = match self {
            AnswerForm::Text => {
                read::within(text, max_bytes)?;
                ("$", read::spoken(text).to_owned())
            }
            AnswerForm::Final => {
                let reply: FinalReply = read::object(text, max_bytes)?;
                ("$.final", reply.r#final.trim().to_owned())
            }
        };
        if answer.is_empty() {
            return Err(ContractError::at(path, "expected an answer, found nothing"));
        }
        Ok(answer)
    }

    /// The JSON schema sent with the request; none for plain text.
    pub fn schema(self) -> Option<Value> {
        match self {
            AnswerForm::Text => None,
            AnswerForm::Final => Some(schema::strict_object(json!({"final": {"type": "string"}}))),
        }
    }
}
