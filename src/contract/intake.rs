//! What the roles before the first plan must say: whether the question is in scope, whether earlier
//! turns matter, what is wanted.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::{ContractError, read, schema};

/// Whether a question is in the agent's scope.
///
/// ```
/// use planwright::contract::Scope;
///
/// assert!(Scope::read(r#"{"in_scope": true}"#, 1_000)?.in_scope);
/// // Who turns a question away says so to the user.
/// assert!(Scope::read(r#"{"in_scope": false, "refusal": " "}"#, 1_000).is_err());
/// # Ok::<(), planwright::contract::ContractError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Whether it is.
    pub in_scope: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What the user is told where it is not: polite, in their language.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub refusal: String,
}

impl Scope {
    /// Reads it out of a model's reply.
    ///
    /// # Errors
    /// The JSON path of the first thing that does not fit.
    pub fn read(text: &str, max_bytes: usize) -> Result<Self, ContractError> {
        let scope: Scope = read::object(text, max_bytes)?;
        if !scope.in_scope && scope.refusal.trim().is_empty() {
            return Err(ContractError::at("$.refusal", "expected what the user is told, found nothing"));
        }
        Ok(scope)
    }

    /// The JSON schema sent with the request.
    pub fn schema() -> Value {
        schema::strict_object(json!({
            "in_scope": {"type": "boolean"},
            "reason": {"type": "string"},
            "refusal": {"type": "string"},
        }))
    }
}

/// Whether the answer needs the earlier turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviousContext {
    /// Whether it does.
    pub need_previous_context: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl PreviousContext {
    /// Reads it out of a model's reply.
    ///
    /// # Errors
    /// The JSON path of the first thing that does not fit.
    pub fn read(text: &str, max_bytes: usize) -> Result<Self, ContractError> {
        read::object(text, max_bytes)
    }

    /// The JSON schema sent with the request.
    pub fn schema() -> Value {
        schema::strict_object(
            json!({"need_previous_context": {"type": "boolean"}, "reason": {"type": "string"}}),
        )
    }
}

/// The form of the intent role's reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentForm {
    /// `{intent, rewritten_query, needs_tool, constraints?}`: the question made to stand alone.
    #[default]
    Query,
    /// `{intent_type, confidence, keywords?}`: the question sorted into a kind.
    Kind,
    /// Free text: what the user wants, in words.
    Text,
}

/// What the user wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The kind, or the whole in words.
    #[serde(alias = "intent_type")]
    pub intent: String,
    /// The question made to stand alone: what earlier turns asked for is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewritten_query: Option<String>,
    /// Whether a tool is needed to answer. It is, unless the model says otherwise.
    #[serde(default = "needed", deserialize_with = "needed_unless_said", skip_serializing_if = "is_needed")]
    pub needs_tool: bool,
    /// What earlier turns demand of the answer.
    #[serde(default, deserialize_with = "joined", skip_serializing_if = "Option::is_none")]
    pub constraints: Option<String>,
    /// How sure the model is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
}

fn needed() -> bool {
    true
}

fn is_needed(needs_tool: &bool) -> bool {
    *needs_tool
}

fn needed_unless_said<'de, D: Deserializer<'de>>(source: D) -> Result<bool, D::Error> {
    Ok(Option::<bool>::deserialize(source)?.unwrap_or(true))
}

fn joined<'de, D: Deserializer<'de>>(source: D) -> Result<Option<String>, D::Error> {
    Ok(read::joined_texts(source)?.filter(|text| !text.trim().is_empty()))
}

impl Intent {
    /// Reads it out of a model's reply. `kinds` are the ones that the role may give; any where there
    /// are none.
    ///
    /// # Errors
    /// The JSON path of the first thing that does not fit.
    pub fn read(
        form: IntentForm,
        kinds: &[String],
        text: &str,
        max_bytes: usize,
    ) -> Result<Self, ContractError> {
        let field = match form {
            IntentForm::Query => "$.intent",
            IntentForm::Kind => "$.intent_type",
            IntentForm::Text => "$",
        };
        let mut intent = match form {
            IntentForm::Query | IntentForm::Kind => read::object::<Intent>(text, max_bytes)?,
            IntentForm::Text => {
                read::within(text, max_bytes)?;
                Intent { intent: read::spoken(text).to_owned(), needs_tool: true, ..Intent::default() }
            }
        };
        if intent.intent.trim().is_empty() {
            return Err(ContractError::at(field, "expected an intent, found nothing"));
        }
        if form == IntentForm::Query && intent.rewritten_query.is_none() {
            return Err(ContractError::at("$", "missing field `rewritten_query`"));
        }
        if !kinds.is_empty() && !kinds.contains(&intent.intent) {
            let found = read::excerpt(&intent.intent, 60);
            let problem = format!("expected one of {}, found {found:?}", kinds.join(", "));
            return Err(ContractError::at(field, problem));
        }
        intent.rewritten_query = intent.rewritten_query.filter(|query| !query.trim().is_empty());
        Ok(intent)
    }

    /// The JSON schema sent with the request; none for free text.
    pub fn schema(form: IntentForm, kinds: &[String]) -> Option<Value> {
        let kind = match kinds {
            [] => json!({"type": "string"}),
            kinds => json!({"type": "string", "enum": kinds}),
        };
        match form {
            IntentForm::Query => Some(schema::strict_object(json!({
                "intent": kind,
                "rewritten_query": {"type": "string"},
                "needs_tool": {"type": "boolean"},
                "constraints": {"type": ["string", "null"]},
            }))),
            IntentForm::Kind => Some(schema::strict_object(
                json!({"intent_type": kind, "confidence": {"type": "number", "minimum": 0, "maximum": 1}}),
            )),
            IntentForm::Text => None,
        }
    }
}

/// How sure a model says it is: from 0 to 1, kept in whole per cent so that it is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Confidence(u8);

impl Confidence {
    /// In per cent, 0 to 100.
    pub fn percent(self) -> u8 {
        self.0
    }
}

impl Serialize for Confidence {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        sink.serialize_f64(f64::from(self.0) / 100.0)
    }
}

impl<'de> Deserialize<'de> for Confidence {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(source)?;
        if !(0.0..=1.0).contains(&value) {
            return Err(serde::de::Error::custom(format!("expected a number from 0 to 1, found {value}")));
        }
        Ok(Confidence((value * 100.0).round() as u8))
    }
}
