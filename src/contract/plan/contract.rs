//! The contract of a plan: the JSON schema that goes out, and the whole-plan check. Nothing of a plan
//! runs that fails any of it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::links::{Before, Links, link};
use super::written::WrittenPlan;
use super::{FinalStep, Plan, PlanPolicy, PlanStep, ReadPlan, StepField, references};
use crate::contract::read::parse_object;
use crate::contract::schema::{Schema, has_references, moved_to, strict_object};
use crate::contract::{ContractError, FINAL_ANSWER, HITL, ToolContract, excerpt};

/// What plans of one agent must look like.
#[derive(Clone, Debug)]
pub struct PlanContract {
    /// Tools, then agents.
    tools: Vec<ToolContract>,
    /// What each of them takes.
    inputs: Vec<Schema>,
    /// What each of them returns as data, if it declares any.
    outputs: Vec<Option<Schema>>,
    tool_count: usize,
    policy: PlanPolicy,
    hitl: bool,
    pub(super) max_input_bytes: usize,
}

fn refuse<T>(path: impl AsRef<str>, problem: impl AsRef<str>) -> Result<T, ContractError> {
    Err(ContractError::at(path, problem))
}

impl PlanContract {
    /// The contract for plans over `tools` and `agents`, with steps for a person if `hitl`.
    pub fn new(
        mut tools: Vec<ToolContract>,
        agents: Vec<ToolContract>,
        policy: PlanPolicy,
        hitl: bool,
        max_input_bytes: usize,
    ) -> Self {
        let tool_count = tools.len();
        tools.extend(agents);
        // A spec whose tool has no sound schema is refused before.
        let compile = |schema: &Value| Schema::new(schema).unwrap_or_else(|_| Schema::nothing());
        let inputs = tools.iter().map(|tool| compile(&tool.input)).collect();
        let outputs = tools.iter().map(|tool| tool.output.as_ref().map(compile)).collect();
        PlanContract { tools, inputs, outputs, tool_count, policy, hitl, max_input_bytes }
    }

    /// The agents that plans may name, as what they declare about themselves.
    pub fn agents(&self) -> &[ToolContract] {
        &self.tools[self.tool_count..]
    }

    /// Tools and agents together.
    pub fn all(&self) -> &[ToolContract] {
        &self.tools
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.tools.iter().position(|tool| tool.name == name)
    }

    /// The contract of one tool or agent.
    pub fn tool(&self, name: &str) -> Option<&ToolContract> {
        self.position(name).map(|at| &self.tools[at])
    }

    /// What a tool returns as data, if it declares any.
    pub(crate) fn output(&self, tool: &str) -> Option<&Schema> {
        self.outputs[self.position(tool)?].as_ref()
    }

    /// The position of an agent among the agents.
    pub fn agent(&self, name: &str) -> Option<usize> {
        self.agents().iter().position(|agent| agent.name == name)
    }

    /// Parses a plan out of a model's reply and checks it whole.
    pub fn parse(&self, before: Before<'_>, text: &str, max_bytes: usize) -> Result<ReadPlan, ContractError> {
        let (plan, ignored) = parse_object::<WrittenPlan>(text, max_bytes)?.into_plan(self.doer())?;
        let links = self.check(before, &plan)?;
        Ok(ReadPlan { plan: Arc::new(plan), links, ignored, refused: Vec::new() })
    }

    /// Checks a plan: its size, tools, inputs, ids, references and last step. A step may refer to earlier
    /// steps only, so a plan that passes has no cycle.
    pub fn check(&self, before: Before<'_>, plan: &Plan) -> Result<Links, ContractError> {
        let says = self.policy.says;
        let texts = [
            ("goal", says.goal, &plan.goal),
            ("reasoning", says.reasoning, &plan.reasoning),
            ("strategy", says.strategy, &plan.strategy),
        ];
        if let Some((field, ..)) = texts.iter().find(|(_, must, text)| *must && text.is_none()) {
            return refuse("$", format!("missing field `{field}`"));
        }
        self.check_count(plan.steps.len())?;
        self.check_steps(before, &plan.steps)
    }

    pub(super) fn check_count(&self, count: usize) -> Result<(), ContractError> {
        let PlanPolicy { min_steps, max_steps, .. } = self.policy;
        if count < min_steps as usize || count > max_steps as usize {
            return refuse("$.steps", format!("expected {min_steps} to {max_steps} steps, found {count}"));
        }
        Ok(())
    }

    /// Checks an input that takes the place of a step's own.
    pub(crate) fn check_input(&self, tool: &str, input: &Value) -> Result<(), ContractError> {
        self.check_input_size("$", Some(input))?;
        self.check_value(tool, input)
    }

    /// Checks that a value is what a tool takes.
    pub fn check_value(&self, tool: &str, value: &Value) -> Result<(), ContractError> {
        match self.position(tool) {
            Some(at) => self.inputs[at].check(value),
            None => refuse("$", self.unknown_tool(tool)),
        }
    }

    /// Checks steps that take the place of those that have not begun. Together with the `begun` ones
    /// there are no more than a plan may have, and the plan ends as plans must.
    pub(crate) fn check_edit(
        &self,
        before: Before<'_>,
        begun: usize,
        steps: &[PlanStep],
    ) -> Result<Links, ContractError> {
        let (most, count) = (self.policy.max_steps as usize, begun + steps.len());
        if steps.is_empty() && self.policy.final_step == FinalStep::Required {
            return refuse("$.steps", format!("expected {FINAL_ANSWER:?} as the last step, found no step"));
        }
        // What an orchestrator added may have used the room up; nothing more always fits.
        if count > most && !steps.is_empty() {
            return refuse("$.steps", format!("expected at most {most} steps in all, found {count}"));
        }
        self.check_steps(before, steps)
    }

    /// Checks steps however many there are.
    pub(crate) fn check_steps(&self, before: Before<'_>, steps: &[PlanStep]) -> Result<Links, ContractError> {
        for (at, step) in steps.iter().enumerate() {
            let last = at + 1 == steps.len();
            self.check_step(step, last).map_err(|error| error.under(&format!("$.steps[{at}]")))?;
        }
        let links =
            link(before, steps, self.policy.max_depth.unwrap_or(u32::MAX), self.offers(StepField::Refs))?;
        let mut holes = 0;
        for (&at, named) in &links.references {
            let at = at as usize - before.steps.len();
            let tools = |name: &str| {
                let source = *named.get(name)? as usize;
                let source = before.steps.get(source).or_else(|| steps.get(source - before.steps.len()))?;
                self.tool(&source.tool)
            };
            let (Some(tool), Some(input)) = (self.position(&steps[at].tool), &steps[at].input) else {
                continue;
            };
            let checked = references::check(&self.inputs[tool], input, &tools);
            let place = format!("$.steps[{at}].input");
            checked.map_err(|error| error.under(&place))?;
            holes += steps[at].holes().len();
            let most = if self.offers_holes() { self.policy.max_holes as usize } else { 0 };
            if holes > most {
                return refuse(
                    place,
                    format!("expected at most {most} values with $fill in a plan, found {holes}"),
                );
            }
        }
        Ok(links)
    }

    fn offers(&self, field: StepField) -> bool {
        self.policy.fields.contains(&field)
    }

    /// Whether a value of an input may be a reference to what an earlier step returned.
    pub(crate) fn offers_references(&self) -> bool {
        self.offers(StepField::Refs)
    }

    /// Whether a value of an input may be left to a model that fills it in.
    pub(crate) fn offers_holes(&self) -> bool {
        self.offers(StepField::Holes)
    }

    /// The key under which a step names who does it.
    fn doer(&self) -> &'static str {
        if self.tool_count == 0 && !self.tools.is_empty() { "agent" } else { "tool" }
    }

    fn check_step(&self, step: &PlanStep, last: bool) -> Result<(), ContractError> {
        let ends = self.policy.final_step == FinalStep::Required;
        if ends && last && !step.is_final() {
            let problem = format!("expected {FINAL_ANSWER:?} as the last step, found {:?}", step.tool);
            return refuse(self.doer(), problem);
        }
        let PlanStep { task, description, hitl_question, .. } = step;
        for (field, text) in [("task", task), ("description", description), ("hitl_question", hitl_question)]
        {
            self.check_bytes(field, text.as_ref().map_or(0, String::len))?;
        }
        if ends && step.is_final() && !last {
            return refuse(self.doer(), format!("{FINAL_ANSWER:?} must be the last step, and only the last"));
        }
        if (ends && step.is_final()) || (self.hitl && step.is_hitl()) {
            return self.check_input_size("input", step.input.as_ref());
        }
        let Some(at) = self.position(&step.tool) else {
            return refuse(self.doer(), self.unknown_tool(&step.tool));
        };
        if let Some(field) = self.policy.required.iter().find(|field| !step.has(**field)) {
            return refuse(field.to_string(), "needed, and missing");
        }
        if at >= self.tool_count { self.check_agent_step(step) } else { self.check_tool_step(at, step) }
    }

    fn check_tool_step(&self, at: usize, step: &PlanStep) -> Result<(), ContractError> {
        let tool = &self.tools[at];
        match (&step.input, &step.input_from) {
            (Some(input), None) => {
                self.check_input_size("input", Some(input))?;
                // With references it is checked once these are known to name earlier steps.
                if self.offers(StepField::Refs) && step.has(StepField::Refs) {
                    return Ok(());
                }
                self.inputs[at].check(input).map_err(|error| error.under("input"))
            }
            (None, Some(_)) if tool.takes_text() => Ok(()),
            (None, Some(_)) => {
                let problem = format!("{:?} does not take a text, so no step's output either", step.tool);
                refuse("input_from", problem)
            }
            (Some(_), Some(_)) => refuse("input_from", "expected `input` or `input_from`, found both"),
            (None, None) => refuse("input", "expected an input, found none"),
        }
    }

    /// An agent is told what to do in words: its input, its task or the step's description.
    fn check_agent_step(&self, step: &PlanStep) -> Result<(), ContractError> {
        let found = match &step.input {
            None | Some(Value::String(_)) => "",
            Some(Value::Null) => "null",
            Some(Value::Bool(_)) => "a boolean",
            Some(Value::Number(_)) => "a number",
            Some(Value::Array(_)) => "an array",
            Some(Value::Object(_)) => "an object",
        };
        if !found.is_empty() {
            return refuse("input", format!("expected a text, found {found}"));
        }
        self.check_input_size("input", step.input.as_ref())?;
        match step.instruction().is_empty() && step.input_from.is_none() {
            true => refuse("task", "expected a task, an input or a description, found none"),
            false => Ok(()),
        }
    }

    /// The names that a step may have besides those of tools and agents.
    fn pseudo_tools(&self) -> impl Iterator<Item = &str> {
        let hitl = self.hitl.then_some(HITL);
        hitl.into_iter().chain((self.policy.final_step == FinalStep::Required).then_some(FINAL_ANSWER))
    }

    fn unknown_tool(&self, found: &str) -> String {
        let names = self.tools.iter().map(|tool| tool.name.as_str()).chain(self.pseudo_tools());
        let names: Vec<&str> = names.collect();
        format!("expected one of {}, found {:?}", names.join(", "), excerpt(found, 60))
    }

    fn check_input_size(&self, path: &str, input: Option<&Value>) -> Result<(), ContractError> {
        let size = input.map_or(0, |input| match input {
            Value::String(text) => text.len(),
            other => serde_json::to_vec(other).map_or(usize::MAX, |text| text.len()),
        });
        self.check_bytes(path, size)
    }

    fn check_bytes(&self, path: &str, size: usize) -> Result<(), ContractError> {
        let most = self.max_input_bytes;
        if size <= most {
            Ok(())
        } else {
            refuse(path, format!("expected at most {most} bytes, found {size}"))
        }
    }

    /// The JSON schema that strict-mode servers take, if they take the tools' own: every property is required, an
    /// optional one may be `null`. A tool's schema that refers to its own parts stands under `$defs`.
    pub fn schema(&self) -> Value {
        let text = json!({"type": "string"});
        let mut parts = Map::new();
        let steps = if self.tools.iter().all(ToolContract::takes_text) {
            let names = self.tools.iter().map(|tool| tool.name.as_str());
            self.step_schema(names.chain(self.pseudo_tools()).collect(), &self.open_input(text.clone()))
        } else {
            let tools = self.tools.iter().map(|ToolContract { name, input, .. }| {
                if !has_references(input) {
                    return self.step_schema(vec![name], &self.open_input(input.clone()));
                }
                let place = format!("#/$defs/{name}");
                parts.insert(name.clone(), self.open_input(moved_to(input, &place)));
                self.step_schema(vec![name], &json!({"$ref": place}))
            });
            let pseudo = self.pseudo_tools().map(|name| self.step_schema(vec![name], &text));
            json!({"anyOf": tools.chain(pseudo).collect::<Vec<Value>>()})
        };
        if self.offers(StepField::Refs) {
            parts.insert(references::DEFINITION.into(), references::define(self.offers_holes()));
        }
        let PlanPolicy { says, min_steps, max_steps, .. } = self.policy;
        let said = [("goal", says.goal), ("reasoning", says.reasoning), ("strategy", says.strategy)];
        let said = said.into_iter().filter(|(_, must)| *must);
        let mut properties: Map<String, Value> =
            said.map(|(field, _)| (field.into(), text.clone())).collect();
        let list = json!({"type": "array", "items": steps, "minItems": min_steps, "maxItems": max_steps});
        properties.insert("steps".into(), list);
        let mut schema = strict_object(properties.into());
        if !parts.is_empty() {
            schema["$defs"] = parts.into();
        }
        schema
    }

    /// The schema of an input as the policy offers it: its values may be expressions.
    fn open_input(&self, input: Value) -> Value {
        if self.offers(StepField::Refs) { references::open_input(&input) } else { input }
    }

    fn step_schema(&self, names: Vec<&str>, input: &Value) -> Value {
        let offers = |field: StepField| self.offers(field);
        let (text, optional) = (json!({"type": "string"}), json!({"type": ["string", "null"]}));
        let input = match offers(StepField::InputFrom) || self.doer() == "agent" {
            true => json!({"anyOf": [input, {"type": "null"}]}),
            false => input.clone(),
        };
        let properties = [
            ("id", offers(StepField::Id), text.clone()),
            (self.doer(), true, json!({"type": "string", "enum": names})),
            ("with", offers(StepField::With), optional.clone()),
            ("task", offers(StepField::Task), optional.clone()),
            ("input", true, input),
            ("input_from", offers(StepField::InputFrom), optional.clone()),
            ("depends_on", offers(StepField::DependsOn), json!({"type": "array", "items": text})),
            ("description", offers(StepField::Description), optional.clone()),
            ("hitl_question", offers(StepField::HitlQuestion), optional),
        ];
        let offered = properties.into_iter().filter(|(_, offered, _)| *offered);
        strict_object(offered.map(|(name, _, schema)| (name.to_owned(), schema)).collect())
    }
}
