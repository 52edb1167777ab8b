//! The shape of a plan: what the planner's frame lets it say.

use serde_json::{Map, Value, json};

use super::plan::Step;
use crate::contract::{FINAL_ANSWER, ToolContract, ToolEffect, schema};
use crate::spec::RequestFrame;

/// Most steps that a plan is filled up to where its contract asks for many.
const MAX_FILL: usize = 64;
/// Most characters of a query, whatever the tool would take.
const MAX_QUERY: usize = 300;

/// What plans may look like.
pub(super) struct Shape<'a> {
    /// The tools that may be planned: those of the contract, without those that write.
    pub tools: Vec<&'a ToolContract>,
    /// Whether the last step is `final_answer`.
    pub ends: bool,
    min: usize,
    max: usize,
    /// The optional fields that the schema wants to see.
    fields: Vec<&'a str>,
}

impl<'a> Shape<'a> {
    pub(super) fn of(frame: &'a RequestFrame) -> Self {
        let steps = frame.schema.as_ref().and_then(|schema| schema.pointer("/properties/steps"));
        let bound = |keyword| steps.and_then(|steps| steps.get(keyword)).and_then(Value::as_u64);
        let forms = steps.map(forms).unwrap_or_default();
        let names = forms.iter().filter_map(|form| form.pointer("/properties/tool/enum")?.as_array());
        let names: Vec<&str> = names.flatten().filter_map(Value::as_str).collect();
        let allows = |name: &str| names.is_empty() || names.contains(&name);
        // A plan by rule is made without judgement, so it never changes anything outside.
        let tools = frame.tools.iter().filter(|tool| tool.effect != ToolEffect::Write && allows(&tool.name));
        let properties = forms.first().and_then(|form| form.get("properties")).and_then(Value::as_object);
        let fields = properties.into_iter().flat_map(Map::keys).map(String::as_str);
        Shape {
            tools: tools.collect(),
            ends: allows(FINAL_ANSWER),
            min: bound("minItems").map_or(1, |least| usize::try_from(least).unwrap_or(usize::MAX)),
            max: bound("maxItems").map_or(6, |most| usize::try_from(most).unwrap_or(usize::MAX)),
            fields: fields.filter(|field| !["tool", "input"].contains(field)).collect(),
        }
    }

    pub(super) fn tool(&self, name: &str) -> Option<&'a ToolContract> {
        self.tools.iter().find(|tool| tool.name == name).copied()
    }

    /// Most steps that call a tool.
    pub(super) fn most(&self) -> usize {
        self.max.saturating_sub(usize::from(self.ends))
    }

    /// Fewest steps that call a tool.
    pub(super) fn least(&self) -> usize {
        self.min.saturating_sub(usize::from(self.ends))
    }

    /// A step that asks a tool for this; `None` where the tool's schema does not take it.
    pub(super) fn step(&self, tool: &ToolContract, query: &str) -> Option<Step> {
        let query: String = query.trim().chars().take(MAX_QUERY).collect();
        let input = fill(&tool.input, query.trim_end(), 0)?;
        schema::check(&tool.input, &input).ok()?;
        Some(Step { tool: tool.name.clone(), input })
    }

    /// Brings a list of steps to the length that the contract asks for; `None` where that cannot
    /// be done.
    pub(super) fn fit(&self, mut steps: Vec<Step>) -> Option<Vec<Step>> {
        steps.truncate(self.most());
        let least = self.least();
        if steps.len() < least && (steps.is_empty() || least > MAX_FILL) {
            return None;
        }
        let own = steps.len();
        for at in own..least {
            steps.push(steps[at % own].clone());
        }
        Some(steps)
    }

    /// The plan as JSON.
    pub(super) fn plan(&self, goal: &str, steps: &[Step]) -> Value {
        let steps: Vec<Value> = steps.iter().enumerate().map(|(at, step)| self.entry(at, step)).collect();
        json!({"goal": goal, "steps": steps})
    }

    fn entry(&self, at: usize, step: &Step) -> Value {
        let mut entry = Map::new();
        for field in &self.fields {
            let value = match *field {
                "id" => json!(format!("step_{}", at + 1)),
                "depends_on" => json!([]),
                "input_from" | "description" => Value::Null,
                _ => continue,
            };
            entry.insert((*field).to_owned(), value);
        }
        entry.insert("tool".to_owned(), json!(step.tool));
        entry.insert("input".to_owned(), step.input.clone());
        Value::Object(entry)
    }
}

/// The forms that a step may have.
fn forms(steps: &Value) -> Vec<&Value> {
    let Some(items) = steps.get("items") else { return Vec::new() };
    match items.get("anyOf").and_then(Value::as_array) {
        Some(forms) => forms.iter().collect(),
        None => vec![items],
    }
}

/// A value of this schema that holds the query. Nothing is guessed: where the schema needs more
/// than texts and what it fixes itself, there is none.
fn fill(schema: &Value, query: &str, depth: usize) -> Option<Value> {
    if let Some(fixed) = schema.get("const").or(schema.get("default")) {
        return Some(fixed.clone());
    }
    match schema.get("type")?.as_str()? {
        "string" => {
            let most = schema.get("maxLength").and_then(Value::as_u64).unwrap_or(u64::MAX);
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            let text: String = query.chars().take(most).collect();
            Some(Value::String(text.trim_end().to_owned()))
        }
        "object" if depth < 4 => {
            let mut object = Map::new();
            for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
                let name = name.as_str()?;
                let field = schema.get("properties")?.get(name)?;
                object.insert(name.to_owned(), fill(field, query, depth + 1)?);
            }
            Some(Value::Object(object))
        }
        _ => None,
    }
}
