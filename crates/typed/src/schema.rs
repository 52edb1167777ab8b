//! The schema of a type, as models are shown it: without names of Rust's, and closed where that says the same.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// What a model may write: the input of a tool, or an answer. Every type with `serde::Deserialize` and
/// `schemars::JsonSchema` is.
#[diagnostic::on_unimplemented(
    message = "a model cannot write a `{Self}`",
    note = "derive `serde::Deserialize` and `schemars::JsonSchema` for `{Self}`"
)]
pub trait Readable: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> Readable for T {}

/// What a tool may return. Every type with `serde::Serialize` and `schemars::JsonSchema` is.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return a `{Self}`",
    note = "derive `serde::Serialize` and `schemars::JsonSchema` for `{Self}`"
)]
pub trait Writable: Serialize + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> Writable for T {}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    })
}

/// The schema of what is read as `T`, and what the type says of itself.
pub(crate) fn of_input<T: Readable>() -> (Value, String) {
    tidy(settings().for_deserialize().into_generator(), SchemaGenerator::into_root_schema_for::<T>, false)
}

/// The schema of what a `T` is written as.
pub(crate) fn of_output<T: Writable>() -> Value {
    tidy(settings().for_serialize().into_generator(), SchemaGenerator::into_root_schema_for::<T>, false).0
}

/// The schema of an answer, as strict-mode servers take it where the type allows: every field is required, one that
/// may be missing may be null.
pub(crate) fn of_answer<T: Readable>() -> Value {
    let generator = settings().for_deserialize().into_generator();
    let (mut schema, description) = tidy(generator, SchemaGenerator::into_root_schema_for::<T>, true);
    if !description.is_empty() {
        schema["description"] = description.into();
    }
    schema
}

fn tidy(
    generator: SchemaGenerator,
    generate: impl FnOnce(SchemaGenerator) -> Schema,
    strict: bool,
) -> (Value, String) {
    let mut schema = generate(generator);
    schema.remove("title");
    let closes = !is_mixed(schema.as_value());
    Tidy { closes, strict: strict && closes }.transform(&mut schema);
    let description = schema.remove("description");
    let description = description.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
    (schema.to_value(), description)
}

/// Whether an object takes its fields from several schemas, of which none may be closed.
fn is_mixed(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            let others = ["$ref", "allOf", "anyOf", "oneOf", "unevaluatedProperties"];
            let has_fields = fields.get("properties").is_some_and(Value::is_object);
            let has_others = others.iter().any(|keyword| fields.contains_key(*keyword));
            fields.contains_key("allOf") || has_fields && has_others || fields.values().any(is_mixed)
        }
        Value::Array(items) => items.iter().any(is_mixed),
        _ => false,
    }
}

/// Takes off what says nothing to a model, and closes objects.
struct Tidy {
    closes: bool,
    strict: bool,
}

impl Transform for Tidy {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        if schema.get("type").is_some_and(|kind| kind != "string") {
            schema.remove("format");
        }
        if self.strict {
            schema.remove("default");
            if let Some(choices) = schema.remove("oneOf") {
                schema.insert("anyOf".to_owned(), choices);
            }
        }
        let is_object = schema.get("type").is_some_and(|kind| kind == "object");
        if !self.closes || !is_object || schema.get("additionalProperties").is_some() {
            return;
        }
        let names = schema.get("properties").and_then(Value::as_object);
        let names: Vec<String> = names.into_iter().flat_map(|names| names.keys().cloned()).collect();
        schema.insert("additionalProperties".to_owned(), Value::Bool(false));
        if self.strict {
            schema.insert("properties".to_owned(), schema.get("properties").cloned().unwrap_or(json!({})));
            schema.insert("required".to_owned(), json!(names));
        }
    }
}
