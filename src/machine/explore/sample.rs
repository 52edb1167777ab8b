//! Inputs for tools: values that fit a schema.

use serde_json::Value;

use crate::contract::schema::Schema;
use crate::contract::{AnswerForm, PlanContract, ToolContract};
use crate::spec::{CompiledSpec, RoleName, Spec};

/// Stands in every letter where text stands that whoever wrote what a run reads may have chosen: outputs and
/// failures of untrusted tools, verdicts, decisions, agents' replies, earlier answers.
pub const CANARY: &str = "☣";

/// The earlier answer in a walk of an agent that is not shown it before it writes.
pub const EARLIER_ANSWER: &str = "☣ earlier";

/// A small value that fits a schema, if a simple one does.
pub(super) fn sample(schema: &Value) -> Value {
    let first = |keyword: &str| schema.get(keyword).and_then(Value::as_array).and_then(|list| list.first());
    if let Some(value) = schema.get("const").or_else(|| first("enum")) {
        return value.clone();
    }
    if let Some(choice) = first("anyOf") {
        return sample(choice);
    }
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_u64).unwrap_or(0) as usize;
    let kind = schema.get("type").and_then(Value::as_str).or_else(|| first("type")?.as_str());
    match kind.unwrap_or("object") {
        "string" => Value::from("x".repeat(bound("minLength").clamp(1, 4_096))),
        "boolean" => Value::Bool(true),
        "integer" | "number" => {
            schema.get("minimum").or(schema.get("maximum")).cloned().unwrap_or(Value::from(1))
        }
        "array" => vec![schema.get("items").map_or(Value::Null, sample); bound("minItems").min(64)].into(),
        "object" => {
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            let field = |name: &str| (name.to_owned(), sample(&schema["properties"][name]));
            required.filter_map(Value::as_str).map(field).collect()
        }
        _ => Value::Null,
    }
}

/// An input that no other step has, if the tool's schema leaves room for one.
pub(super) fn fresh_input(compiled: &CompiledSpec, tool: &ToolContract, nth: usize) -> Value {
    fresh_input_of(compiled.plan(), tool, nth)
}

/// An input that no other step has, for plans of a contract.
pub(super) fn fresh_input_of(plan: &PlanContract, tool: &ToolContract, nth: usize) -> Value {
    let input = sample(&tool.input);
    let longer = input.as_str().map(|text| Value::from(format!("{text}{nth}")));
    let fits = |longer: &Value| plan.check_value(&tool.name, longer).is_ok();
    longer.filter(fits).unwrap_or(input)
}

/// Takes what no sample fits for any value of its type, and notes of which tools. To the machine an input fits or it
/// does not, so the states are the same.
pub(super) fn widen_inputs(spec: &mut Spec, notes: &mut Vec<String>) {
    let fits =
        |schema: &Value| Schema::new(schema).is_ok_and(|checked| checked.check(&sample(schema)).is_ok());
    for tool in &mut spec.tools {
        if !fits(&tool.input) {
            let kind = tool.input.get("type").cloned().unwrap_or("object".into());
            notes.push(format!(
                "input of {} explored as any {}",
                tool.name,
                kind.as_str().unwrap_or("value")
            ));
            tool.input = serde_json::json!({"type": kind});
        }
    }
    let writer = spec.roles.get_mut(&RoleName::Writer).and_then(|writer| writer.form.as_mut());
    if let Some(AnswerForm::Schema(schema)) = writer
        && !fits(schema)
    {
        notes.push("the answer explored as any object".to_owned());
        *schema = serde_json::json!({"type": "object"});
    }
    for inner in spec.agents.iter_mut().filter_map(|agent| agent.spec.as_mut()) {
        widen_inputs(inner, notes);
    }
}
