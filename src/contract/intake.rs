//! What the roles before the first plan must say: whether the question is in scope, whether earlier turns
//! matter, what is wanted.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use super::read::{deserialize_texts, parse_object, parse_words};
use super::schema::strict_object;
use super::{ContractError, excerpt};

/// Whether a question is in the agent's scope. A refusal must say something to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Whether it is.
    pub in_scope: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What the user is told if it is not: polite, in their language.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub refusal: String,
}

impl Scope {
    /// Parses a model's reply.
    pub fn parse(text: &str, max_bytes: usize) -> Result<Self, ContractError> {
        let scope: Scope = parse_object(text, max_bytes)?;
        if !scope.in_scope && scope.refusal.trim().is_empty() {
            return Err(ContractError::at("$.refusal", "expected what the user is told, found nothing"));
        }
        Ok(scope)
    }

    /// The JSON schema sent with the request.
    pub fn schema() -> Value {
        strict_object(json!({
            "in_scope": {"type": "boolean"}, "reason": {"type": "string"}, "refusal": {"type": "string"},
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
    /// Parses a model's reply.
    pub fn parse(text: &str, max_bytes: usize) -> Result<Self, ContractError> {
        parse_object(text, max_bytes)
    }

    /// The JSON schema sent with the request.
    pub fn schema() -> Value {
        strict_object(json!({"need_previous_context": {"type": "boolean"}, "reason": {"type": "string"}}))
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
    /// Whether a tool is needed to answer. Default: true.
    #[serde(default = "yes", deserialize_with = "deserialize_needs_tool", skip_serializing_if = "is_true")]
    pub needs_tool: bool,
    /// What earlier turns demand of the answer.
    #[serde(default, deserialize_with = "deserialize_texts", skip_serializing_if = "Option::is_none")]
    pub constraints: Option<String>,
    /// How sure the model is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
}

fn yes() -> bool {
    true
}

fn is_true(value: &bool) -> bool {
    *value
}

fn deserialize_needs_tool<'de, D: Deserializer<'de>>(source: D) -> Result<bool, D::Error> {
    Ok(Option::deserialize(source)?.unwrap_or(true))
}

impl Intent {
    /// Parses a model's reply. `kinds` are those that the role may give; any if there are none.
    pub fn parse(form: IntentForm, kinds: &[String], text: &str, max: usize) -> Result<Self, ContractError> {
        let (path, intent) = match form {
            IntentForm::Query => ("$.intent", parse_object(text, max)),
            IntentForm::Kind => {
                let intent = parse_object(text, max);
                ("$.intent_type", intent.map_err(|error| error.rename_field("intent", "intent_type")))
            }
            IntentForm::Text => {
                let of_words = |intent| Intent { intent, needs_tool: true, ..Intent::default() };
                ("$", parse_words(text, max).map(of_words))
            }
        };
        let mut intent: Intent = intent?;
        if intent.intent.trim().is_empty() {
            return Err(ContractError::at(path, "expected an intent, found nothing"));
        }
        if form == IntentForm::Query && intent.rewritten_query.is_none() {
            return Err(ContractError::at("$", "missing field `rewritten_query`"));
        }
        if !kinds.is_empty() && !kinds.contains(&intent.intent) {
            let found = excerpt(&intent.intent, 60);
            let problem = format!("expected one of {}, found {found:?}", kinds.join(", "));
            return Err(ContractError::at(path, problem));
        }
        intent.rewritten_query = intent.rewritten_query.filter(|query| !query.trim().is_empty());
        intent.constraints = intent.constraints.filter(|text| !text.trim().is_empty());
        Ok(intent)
    }

    /// The JSON schema sent with the request; `None` for free text.
    pub fn schema(form: IntentForm, kinds: &[String]) -> Option<Value> {
        let kind = match kinds {
            [] => json!({"type": "string"}),
            kinds => json!({"type": "string", "enum": kinds}),
        };
        match form {
            IntentForm::Query => Some(strict_object(json!({
                "intent": kind,
                "rewritten_query": {"type": "string"},
                "needs_tool": {"type": "boolean"},
                "constraints": {"type": ["string", "null"]},
            }))),
            IntentForm::Kind => {
                Some(strict_object(json!({"intent_type": kind, "confidence": Confidence::schema()})))
            }
            IntentForm::Text => None,
        }
    }
}

/// How sure a model says it is, from 0 to 1. Kept in whole per cent so that it is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Confidence(u8);

impl Confidence {
    /// In per cent, 0 to 100.
    pub(crate) fn percent(self) -> u8 {
        self.0
    }

    pub(super) fn schema() -> Value {
        json!({"type": "number", "minimum": 0, "maximum": 1})
    }
}

impl TryFrom<f64> for Confidence {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        let is_in_range = (0.0..=1.0).contains(&value);
        let confidence = is_in_range.then(|| Confidence((value * 100.0).round() as u8));
        confidence.ok_or_else(|| format!("expected a number from 0 to 1, found {value}"))
    }
}

impl From<Confidence> for f64 {
    fn from(confidence: Confidence) -> f64 {
        f64::from(confidence.0) / 100.0
    }
}
