//! What a tool declares about itself before any plan may name it.

use core::time::Duration;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::ContractError;
use super::schema::{Schema, moved_to, strict_object};
use super::trust::{ArgumentRole, FieldType, OutputField, OutputFormat, Trust};

/// The pseudo-tool that ends a plan. It is recorded and never called.
pub const FINAL_ANSWER: &str = "final_answer";

/// The pseudo-tool that asks a person. It pauses the run until they have answered.
pub const HITL: &str = "hitl";

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

impl fmt::Display for ToolEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The contract of one tool: all that a planner, a checker and a driver need to know of it.
///
/// ```
/// use std::time::Duration;
/// use planwright::contract::{ToolContract, ToolEffect, Trust};
/// use serde_json::json;
///
/// let weather = ToolContract::text("weather", "Today's weather in a city.", ToolEffect::Read);
/// assert_eq!(weather.trust, Trust::Untrusted);
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolContract {
    /// The name plans use: 1 to 64 letters, digits, `_`, `-` or, between others, `.`.
    pub name: String,
    /// What it does and when to use it, in a sentence or two. Planners read this.
    pub description: String,
    /// JSON schema of its input, of drafts 7 to 2020-12. References lead into the schema itself (`#/$defs/…`),
    /// patterns look around at their beginning only, and `format` is an annotation. A contract whose schema asks
    /// for something that is not checked is refused.
    #[serde(default = "text_schema")]
    pub input: Value,
    /// JSON schema of the structured output that goes beside its text, if it gives one. What does not conform is
    /// not taken: a call that only reads has failed then, of a write the text is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// What calling it does to the world.
    pub effect: ToolEffect,
    /// Whether calling it twice with the same input and idempotency key equals calling it once.
    /// Default: `true` for `pure` and `read`, `false` for `write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// Whether a person must approve each call under `approval = "risky"`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_approval: bool,
    /// Whether its output may steer the run: its text, and each field of its data that [`fields`](Self::fields) says
    /// nothing of. Default: `untrusted`.
    #[serde(default)]
    pub trust: Trust,
    /// What the arguments of a write decide, by JSON pointer into its input; `*` is every item or field. What is not
    /// named is a [`Target`](ArgumentRole::Target).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, ArgumentRole>,
    /// The arguments of a read that leave for a place which they name themselves, by JSON pointer: the address of a
    /// page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub egress: Vec<String>,
    /// Whether not even the content of a write may be taken from what others wrote without a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grave: bool,
    /// Who chose the fields of its structured output, by JSON pointer; `*` is every item or field.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, OutputField>,
    /// How its text becomes data, if it gives no data of its own. Default: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_format: Option<OutputFormat>,
    /// Longest time of one call, in milliseconds. Only a `pure` tool may do without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Largest output that is kept, in bytes of UTF-8. A longer one is cut and marked as cut.
    #[serde(default = "default_max_output_bytes")]
    pub max_output_bytes: u32,
}

fn default_max_output_bytes() -> u32 {
    16_000
}

/// The schema of a tool that takes one non-empty text.
fn text_schema() -> Value {
    json!({"type": "string", "minLength": 1})
}

/// The one argument of a native call of a tool that takes no object.
const INPUT: &str = "input";

impl ToolContract {
    /// A contract for a tool that takes one text, with a time-out of 20 s unless it is `pure`.
    pub fn text(name: &str, description: &str, effect: ToolEffect) -> Self {
        ToolContract {
            name: name.to_owned(),
            description: description.to_owned(),
            input: text_schema(),
            output: None,
            effect,
            idempotent: None,
            needs_approval: false,
            trust: Trust::default(),
            arguments: BTreeMap::new(),
            egress: Vec::new(),
            grave: false,
            fields: BTreeMap::new(),
            output_format: None,
            timeout_ms: (effect != ToolEffect::Pure).then_some(20_000),
            max_output_bytes: default_max_output_bytes(),
        }
    }

    /// A contract for a tool that takes a JSON object; [`input`](Self::input) gives its fields.
    pub fn json(name: &str, description: &str, effect: ToolEffect) -> Self {
        ToolContract::text(name, description, effect).input(json!({"type": "object"}))
    }

    /// Sets the JSON schema of the input.
    #[must_use]
    pub fn input(self, input: Value) -> Self {
        ToolContract { input, ..self }
    }

    /// Sets the JSON schema of the structured output.
    #[must_use]
    pub fn output(self, output: Value) -> Self {
        ToolContract { output: Some(output), ..self }
    }

    /// Declares that calling it twice with the same input and idempotency key equals calling it once.
    #[must_use]
    pub fn idempotent(self) -> Self {
        ToolContract { idempotent: Some(true), ..self }
    }

    /// Declares that a person must approve each call.
    #[must_use]
    pub fn needs_approval(self) -> Self {
        ToolContract { needs_approval: true, ..self }
    }

    /// Declares what an argument of a write decides.
    #[must_use]
    pub fn argument(mut self, pointer: &str, role: ArgumentRole) -> Self {
        self.arguments.insert(pointer.to_owned(), role);
        self
    }

    /// Declares that an argument of a read leaves for a place which it names itself.
    #[must_use]
    pub fn egress(mut self, pointer: &str) -> Self {
        self.egress.push(pointer.to_owned());
        self
    }

    /// Declares that nothing others wrote may be part of a call without a person.
    #[must_use]
    pub fn grave(self) -> Self {
        ToolContract { grave: true, ..self }
    }

    /// Declares who chose a field of its structured output, and what it looks like.
    #[must_use]
    pub fn field(mut self, pointer: &str, trust: Trust, kind: FieldType) -> Self {
        self.fields.insert(pointer.to_owned(), OutputField { trust, kind });
        self
    }

    /// Declares that its output may steer the run.
    #[must_use]
    pub fn trusted(self) -> Self {
        ToolContract { trust: Trust::Trusted, ..self }
    }

    /// Sets the longest time of one call.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        ToolContract { timeout_ms: Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)), ..self }
    }

    /// Sets the largest output that is kept, in bytes.
    #[must_use]
    pub fn max_output_bytes(self, max_output_bytes: u32) -> Self {
        ToolContract { max_output_bytes, ..self }
    }

    /// Whether calling it again with the same input and key equals calling it once.
    pub fn is_idempotent(&self) -> bool {
        self.idempotent.unwrap_or(self.effect != ToolEffect::Write)
    }

    /// Whether calling it a second time would change something a second time.
    pub fn happens_once(&self) -> bool {
        self.effect == ToolEffect::Write && !self.is_idempotent()
    }

    /// Whether a plan may hand it a plain text, and so another step's output.
    pub fn takes_text(&self) -> bool {
        input_type(&self.input) == Some("string")
    }

    fn takes_object(&self) -> bool {
        input_type(&self.input) == Some("object")
    }

    /// The JSON schema of a native call's arguments: the input if that is an object, else an object that
    /// holds it as `input`.
    pub fn parameters(&self) -> Value {
        if self.takes_object() {
            self.input.clone()
        } else {
            let input = moved_to(&self.input, "#/properties/input");
            strict_object(json!({INPUT: input}))
        }
    }

    /// The arguments of a native call with this input.
    pub fn arguments(&self, input: &Value) -> Value {
        if self.takes_object() { input.clone() } else { json!({INPUT: input}) }
    }

    /// The input that a native call's arguments hold.
    pub(super) fn parse_arguments(&self, arguments: Map<String, Value>) -> Result<Value, ContractError> {
        if self.takes_object() {
            return Ok(Value::Object(arguments));
        }
        // Models rename a lone argument (`query`, `title`, …); what it holds is clear all the same.
        let lone = arguments.len() == 1;
        let input = arguments.into_iter().find(|(name, _)| lone || name == INPUT);
        Ok(input.ok_or_else(|| ContractError::at(INPUT, "expected an input, found none"))?.1)
    }

    /// Checks the declaration itself.
    ///
    /// # Errors
    /// Names the field that is out of range, or the schema keyword that is not supported.
    pub fn check(&self) -> Result<(), ContractError> {
        check_name(&self.name)?;
        let endless = self.timeout_ms.is_none() && self.effect != ToolEffect::Pure;
        let rows = [
            ("description", self.description.trim().is_empty(), "expected a sentence, found nothing"),
            ("timeout_ms", self.timeout_ms == Some(0), "expected at least 1, found 0"),
            ("timeout_ms", endless, "expected a time-out: only a `pure` tool may do without"),
            ("max_output_bytes", self.max_output_bytes == 0, "expected at least 1, found 0"),
        ];
        if let Some((field, _, problem)) = rows.into_iter().find(|(_, wrong, _)| *wrong) {
            return Err(ContractError::at(field, problem));
        }
        for (field, schema) in [(INPUT, Some(&self.input)), ("output", self.output.as_ref())] {
            schema
                .map_or(Ok(()), |schema| Schema::new(schema).map(drop))
                .map_err(|error| error.under(field))?;
        }
        self.check_roles()
    }

    /// Says what a run that goes by this contract would get wrong about the tool at hand: the tool does
    /// more than the contract says, may not be called as often, or takes no such input. A contract may
    /// ask for more care than its tool needs, never for less.
    #[doc(hidden)]
    pub fn find_mismatch(&self, tool: &ToolContract) -> Option<String> {
        if tool.effect > self.effect {
            return Some(format!("effect: expected {}, found {}", tool.effect, self.effect));
        }
        if tool.happens_once() && !self.happens_once() {
            return Some("idempotent: expected false, found true".to_owned());
        }
        if self.output.is_some() && tool.output.is_none() {
            return Some("output: expected structured output, found a tool that declares none".to_owned());
        }
        if let Some(careless) = self.find_careless(tool) {
            return Some(careless);
        }
        // What is not clear from types and named fields is left to the call.
        let (found, expected) = (input_type(&self.input)?, input_type(&tool.input)?);
        if found != expected && !(found == "integer" && expected == "number") {
            return Some(format!("input: expected {expected}, found {found}"));
        }
        let fields = self.input.get("properties").and_then(Value::as_object)?;
        let required = tool.input.get("required").and_then(Value::as_array)?;
        let missing = required.iter().filter_map(Value::as_str).find(|field| !fields.contains_key(*field))?;
        Some(format!("input: expected the field {missing:?}, found none of that name"))
    }
}

fn input_type(schema: &Value) -> Option<&str> {
    schema.get("type").and_then(Value::as_str)
}

/// Refuses a name that a tool or an agent may not have.
pub(crate) fn check_name(name: &str) -> Result<(), ContractError> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_edged = name.starts_with('.') || name.ends_with('.');
    if name.is_empty() || name.len() > 64 || is_edged || !name.chars().all(legal) {
        let problem = format!("expected 1 to 64 letters, digits, `_`, `-` or `.`, found {name:?}");
        return Err(ContractError::at("name", problem));
    }
    if [FINAL_ANSWER, HITL].contains(&name) {
        return Err(ContractError::at("name", format!("{name:?} is reserved")));
    }
    Ok(())
}

/// A source that an answer can name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Its title, for people.
    pub title: String,
    /// The document or collection it belongs to: a file, a contract, a site.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// The part of that document (`제5조`), by which a run knows what of the outline it has read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Where it can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl Source {
    /// A source of which only the title is known.
    pub fn titled(title: impl Into<String>) -> Self {
        Source { title: title.into(), ..Source::default() }
    }
}
