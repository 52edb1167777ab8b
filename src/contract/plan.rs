//! The plan: what a planner must say, checked whole before step 1 runs.

use std::collections::HashMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::{ContractError, ToolContract, read, schema};

/// The pseudo-tool that ends a plan. It is recorded and never called.
pub const FINAL_ANSWER: &str = "final_answer";

/// A plan: a goal and the steps that lead there. Frozen once it is accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What the plan is for, in the planner's words.
    pub goal: String,
    /// The steps, in plan order.
    pub steps: Vec<PlanStep>,
}

/// One step of a plan. It carries only what a plan may say; what happened to the step is kept by
/// the run, and a reply that sets it (`status`, `output`, …) is read without those fields.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanStep {
    /// The step's own name. Left out, it is `step_N` with N its position from 1.
    #[serde(
        default,
        alias = "step_id",
        deserialize_with = "step_name",
        skip_serializing_if = "Option::is_none"
    )]
    pub id: Option<String>,
    /// The tool to call, or [`FINAL_ANSWER`].
    pub tool: String,
    /// What the tool is called with: a text, or a JSON value where the tool's schema asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The earlier step whose output is this step's input, instead of `input`.
    #[serde(default, deserialize_with = "step_name", skip_serializing_if = "Option::is_none")]
    pub input_from: Option<String>,
    /// Earlier steps that must be finished before this one starts.
    #[serde(default, deserialize_with = "step_names", skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// What the step is for, in the planner's words.
    #[serde(default, alias = "task", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl PlanStep {
    /// Whether this is the pseudo-step that ends a plan.
    pub fn is_final(&self) -> bool {
        self.tool == FINAL_ANSWER
    }

    /// The step's name in a plan where it stands at `index` (from 0).
    pub fn name(&self, index: usize) -> String {
        self.id.clone().unwrap_or_else(|| default_name(index))
    }

    /// Whether `name` names this step, standing at `index` (from 0).
    pub fn has_name(&self, index: usize, name: &str) -> bool {
        match &self.id {
            Some(id) => id == name,
            None => name.strip_prefix("step_").and_then(|n| n.parse().ok()) == index.checked_add(1),
        }
    }

    fn refers(&self) -> bool {
        self.input_from.is_some() || !self.depends_on.is_empty()
    }
}

fn default_name(index: usize) -> String {
    format!("step_{}", index + 1)
}

/// Models write ids as texts or as numbers; the number N means `step_N`.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a step id: a text or a whole number")]
enum StepName {
    Number(u32),
    Text(String),
}

impl StepName {
    fn text(self) -> Option<String> {
        match self {
            StepName::Number(number) => Some(format!("step_{number}")),
            StepName::Text(text) => Some(text).filter(|text| !text.is_empty()),
        }
    }
}

fn step_name<'de, D: Deserializer<'de>>(source: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<StepName>::deserialize(source)?.and_then(StepName::text))
}

fn step_names<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<String>, D::Error> {
    let names = Option::<Vec<StepName>>::deserialize(source)?.unwrap_or_default();
    Ok(names.into_iter().filter_map(StepName::text).collect())
}

/// Whether a plan must end in [`FINAL_ANSWER`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinalStep {
    /// The last step, and only the last, is [`FINAL_ANSWER`].
    #[default]
    Required,
    /// Plans have no such step.
    None,
}

/// An optional field of a plan step that the planner's schema offers. What the schema does not
/// offer is read all the same where a model sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepField {
    /// `id`: a name for the step.
    Id,
    /// `input_from`: an earlier step's output as input.
    InputFrom,
    /// `depends_on`: earlier steps to wait for.
    DependsOn,
    /// `description`: what the step is for.
    Description,
}

/// Which steps of a plan wait for which, by position. Both lists are empty where no step refers to
/// another; else they hold one entry per step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Links {
    /// For each step, the earlier steps it waits for, ascending.
    pub needs: Vec<Vec<u32>>,
    /// For each step, the later steps that wait for it, ascending.
    pub dependents: Vec<Vec<u32>>,
}

/// What plans of one agent must look like.
#[derive(Clone, Debug)]
pub struct PlanContract {
    tools: Vec<ToolContract>,
    /// Positions in `tools`, in the order of their names.
    by_name: Vec<usize>,
    min_steps: usize,
    max_steps: usize,
    final_step: FinalStep,
    max_input_bytes: usize,
}

impl PlanContract {
    /// The contract for plans over `tools`, of `min_steps` to `max_steps` steps, none of whose
    /// inputs is larger than `max_input_bytes`.
    pub fn new(
        tools: Vec<ToolContract>,
        steps: (usize, usize),
        final_step: FinalStep,
        max_input_bytes: usize,
    ) -> Self {
        let mut by_name: Vec<usize> = (0..tools.len()).collect();
        by_name.sort_by(|&left, &right| tools[left].name.cmp(&tools[right].name));
        PlanContract { tools, by_name, min_steps: steps.0, max_steps: steps.1, final_step, max_input_bytes }
    }

    /// The tools that plans may name.
    pub fn tools(&self) -> &[ToolContract] {
        &self.tools
    }

    /// The contract of one tool.
    pub fn tool(&self, name: &str) -> Option<&ToolContract> {
        let found = self.by_name.binary_search_by(|&at| self.tools[at].name.as_str().cmp(name)).ok()?;
        Some(&self.tools[self.by_name[found]])
    }

    /// Reads a plan out of a model's reply and checks it whole.
    ///
    /// # Errors
    /// The first thing that does not fit, with its JSON path.
    pub fn read(&self, text: &str, max_bytes: usize) -> Result<(Plan, Links), ContractError> {
        let plan: Plan = read::object(text, max_bytes)?;
        let links = self.check(&plan)?;
        Ok((plan, links))
    }

    /// Checks a plan: its size, tools, inputs, ids, references and last step. A step may refer to
    /// earlier steps only, so a plan that passes has no cycle.
    ///
    /// # Errors
    /// The first thing that does not fit, with its JSON path.
    pub fn check(&self, plan: &Plan) -> Result<Links, ContractError> {
        let count = plan.steps.len();
        if count < self.min_steps || count > self.max_steps {
            let problem = format!("expected {} to {} steps, found {count}", self.min_steps, self.max_steps);
            return Err(ContractError::at("$.steps", problem));
        }
        for (at, step) in plan.steps.iter().enumerate() {
            let last = at + 1 == count;
            self.check_step(step, last).map_err(|error| error.under(&format!("$.steps[{at}]")))?;
        }
        link(&plan.steps)
    }

    fn check_step(&self, step: &PlanStep, last: bool) -> Result<(), ContractError> {
        let ends = self.final_step == FinalStep::Required;
        if ends && last && !step.is_final() {
            let problem = format!("expected {FINAL_ANSWER:?} as the last step, found {:?}", step.tool);
            return Err(ContractError::at("tool", problem));
        }
        if ends && step.is_final() {
            if !last {
                let problem = format!("{FINAL_ANSWER:?} must be the last step, and only the last");
                return Err(ContractError::at("tool", problem));
            }
            return self.check_size(step.input.as_ref());
        }
        let Some(tool) = self.tool(&step.tool) else {
            return Err(ContractError::at("tool", self.unknown_tool(&step.tool)));
        };
        match (&step.input, &step.input_from) {
            (Some(input), None) => {
                self.check_size(Some(input))?;
                schema::check(&tool.input, input).map_err(|error| error.under("input"))
            }
            (None, Some(_)) if tool.takes_text() => Ok(()),
            (None, Some(_)) => {
                let problem = format!("{:?} does not take a text, so no step's output either", step.tool);
                Err(ContractError::at("input_from", problem))
            }
            (Some(_), Some(_)) => {
                Err(ContractError::at("input_from", "expected `input` or `input_from`, found both"))
            }
            (None, None) => Err(ContractError::at("input", "expected an input, found none")),
        }
    }

    fn unknown_tool(&self, found: &str) -> String {
        let mut names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
        if self.final_step == FinalStep::Required {
            names.push(FINAL_ANSWER);
        }
        format!("expected one of {}, found {:?}", names.join(", "), read::excerpt(found, 60))
    }

    fn check_size(&self, input: Option<&Value>) -> Result<(), ContractError> {
        let size = match input {
            None => 0,
            Some(Value::String(text)) => text.len(),
            Some(other) => other.to_string().len(),
        };
        if size <= self.max_input_bytes {
            return Ok(());
        }
        let problem = format!("expected at most {} bytes, found {size}", self.max_input_bytes);
        Err(ContractError::at("input", problem))
    }

    /// The JSON schema sent with the request (strict-mode compatible: every property is required,
    /// an optional one may be `null`, none may be added).
    pub fn schema(&self, fields: &[StepField]) -> Value {
        let with_final = self.final_step == FinalStep::Required;
        let all_text = self.tools.iter().all(ToolContract::takes_text);
        let steps = if all_text {
            let mut names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
            if with_final {
                names.push(FINAL_ANSWER);
            }
            step_schema(json!({"type": "string", "enum": names}), json!({"type": "string"}), fields)
        } else {
            let one = |name: &str, input: &Value| {
                step_schema(json!({"type": "string", "enum": [name]}), input.clone(), fields)
            };
            let mut forms: Vec<Value> = self.tools.iter().map(|tool| one(&tool.name, &tool.input)).collect();
            if with_final {
                forms.push(one(FINAL_ANSWER, &json!({"type": "string"})));
            }
            json!({"anyOf": forms})
        };
        json!({
            "type": "object",
            "properties": {
                "goal": {"type": "string"},
                "steps": {
                    "type": "array", "items": steps,
                    "minItems": self.min_steps, "maxItems": self.max_steps,
                },
            },
            "required": ["goal", "steps"],
            "additionalProperties": false,
        })
    }
}

fn step_schema(tool: Value, input: Value, fields: &[StepField]) -> Value {
    let mut properties = Map::new();
    let optional_text = || json!({"type": ["string", "null"]});
    if fields.contains(&StepField::Id) {
        properties.insert("id".into(), json!({"type": "string"}));
    }
    properties.insert("tool".into(), tool);
    if fields.contains(&StepField::InputFrom) {
        properties.insert("input".into(), json!({"anyOf": [input, {"type": "null"}]}));
        properties.insert("input_from".into(), optional_text());
    } else {
        properties.insert("input".into(), input);
    }
    if fields.contains(&StepField::DependsOn) {
        properties.insert("depends_on".into(), json!({"type": "array", "items": {"type": "string"}}));
    }
    if fields.contains(&StepField::Description) {
        properties.insert("description".into(), optional_text());
    }
    let required: Vec<&String> = properties.keys().collect();
    let required = json!(required);
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Resolves ids and references to positions.
fn link(steps: &[PlanStep]) -> Result<Links, ContractError> {
    if !steps.iter().any(|step| step.refers() || step.id.is_some()) {
        return Ok(Links::default());
    }
    let mut positions: HashMap<String, usize> = HashMap::with_capacity(steps.len());
    for (at, step) in steps.iter().enumerate() {
        let name = step.name(at);
        if let Some(first) = positions.get(&name) {
            let problem = format!("the id {name:?} is taken by step {}", first + 1);
            return Err(ContractError::at(format!("$.steps[{at}].id"), problem));
        }
        positions.insert(name, at);
    }
    if !steps.iter().any(PlanStep::refers) {
        return Ok(Links::default());
    }
    let mut links = Links { needs: vec![Vec::new(); steps.len()], dependents: vec![Vec::new(); steps.len()] };
    for (at, step) in steps.iter().enumerate() {
        let named =
            step.depends_on.iter().enumerate().map(|(nth, name)| (format!("depends_on[{nth}]"), name));
        let named = named.chain(step.input_from.iter().map(|name| ("input_from".to_owned(), name)));
        for (field, name) in named {
            let fail = |problem| Err(ContractError::at(format!("$.steps[{at}].{field}"), problem));
            match positions.get(name) {
                None => return fail(format!("no step has the id {:?}", read::excerpt(name, 60))),
                Some(&needed) if needed == at => return fail("a step cannot wait for itself".to_owned()),
                Some(&needed) if needed > at => {
                    return fail(format!("{name:?} is a later step; expected an earlier one"));
                }
                Some(&needed) => links.needs[at].push(needed as u32),
            }
        }
        links.needs[at].sort_unstable();
        links.needs[at].dedup();
        for &needed in &links.needs[at] {
            links.dependents[needed as usize].push(at as u32);
        }
    }
    Ok(links)
}
