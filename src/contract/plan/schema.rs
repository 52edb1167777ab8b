//! The JSON schema of a plan, as it is sent with the request.

use serde_json::{Map, Value, json};

use super::{FINAL_ANSWER, FinalStep, HITL, PlanContract, StepField};
use crate::contract::ToolContract;
use crate::contract::schema::strict_object;

impl PlanContract {
    /// The JSON schema sent with the request (strict-mode compatible: every property is required,
    /// an optional one may be `null`, none may be added).
    pub fn schema(&self) -> Value {
        let shape = self.shape();
        let fields = &shape.fields;
        let with_final = shape.final_step == FinalStep::Required;
        let key = if self.tools().is_empty() && !self.agents().is_empty() { "agent" } else { "tool" };
        let all_text = self.all().iter().all(ToolContract::takes_text);
        let mut extra = Vec::new();
        if shape.hitl {
            extra.push(HITL);
        }
        if with_final {
            extra.push(FINAL_ANSWER);
        }
        let steps = if all_text {
            let names = self.all().iter().map(|tool| tool.name.as_str());
            let names: Vec<&str> = names.chain(extra).collect();
            step_schema(key, json!({"type": "string", "enum": names}), json!({"type": "string"}), fields)
        } else {
            let one = |name: &str, input: &Value| {
                step_schema(key, json!({"type": "string", "enum": [name]}), input.clone(), fields)
            };
            let mut forms: Vec<Value> = self.all().iter().map(|tool| one(&tool.name, &tool.input)).collect();
            forms.extend(extra.iter().map(|name| one(name, &json!({"type": "string"}))));
            json!({"anyOf": forms})
        };
        let mut properties = Map::new();
        let says = shape.says;
        let said = [("goal", says.goal), ("reasoning", says.reasoning), ("strategy", says.strategy)];
        for (field, _) in said.into_iter().filter(|(_, must)| *must) {
            properties.insert(field.into(), json!({"type": "string"}));
        }
        properties.insert(
            "steps".into(),
            json!({"type": "array", "items": steps, "minItems": shape.min_steps, "maxItems": shape.max_steps}),
        );
        strict_object(properties.into())
    }
}

fn step_schema(key: &str, who: Value, input: Value, fields: &[StepField]) -> Value {
    let mut properties = Map::new();
    let optional_text = || json!({"type": ["string", "null"]});
    if fields.contains(&StepField::Id) {
        properties.insert("id".into(), json!({"type": "string"}));
    }
    properties.insert(key.into(), who);
    if fields.contains(&StepField::With) {
        properties.insert("with".into(), optional_text());
    }
    if fields.contains(&StepField::Task) {
        properties.insert("task".into(), optional_text());
    }
    if fields.contains(&StepField::InputFrom) {
        properties.insert("input".into(), json!({"anyOf": [input, {"type": "null"}]}));
        properties.insert("input_from".into(), optional_text());
    } else if key == "agent" {
        properties.insert("input".into(), json!({"anyOf": [input, {"type": "null"}]}));
    } else {
        properties.insert("input".into(), input);
    }
    if fields.contains(&StepField::DependsOn) {
        properties.insert("depends_on".into(), json!({"type": "array", "items": {"type": "string"}}));
    }
    if fields.contains(&StepField::Description) {
        properties.insert("description".into(), optional_text());
    }
    if fields.contains(&StepField::HitlQuestion) {
        properties.insert("hitl_question".into(), optional_text());
    }
    strict_object(properties.into())
}
