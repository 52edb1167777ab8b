//! The contract of a plan: the JSON schema that goes out, and the whole-plan check. Nothing of a plan
//! runs that fails any of it.

use serde_json::{Map, Value, json};

use super::links::{Before, Links, link};
use super::written::WrittenPlan;
use super::{FinalStep, Plan, PlanShape, PlanStep, ReadPlan, StepField};
use crate::contract::read::parse_object;
use crate::contract::schema::{self, strict_object};
use crate::contract::{ContractError, FINAL_ANSWER, HITL, ToolContract, excerpt};

/// What plans of one agent must look like.
#[derive(Clone, Debug)]
pub struct PlanContract {
    /// Tools, then agents.
    tools: Vec<ToolContract>,
    tool_count: usize,
    /// Positions in `tools`, in the order of their names.
    by_name: Vec<usize>,
    shape: PlanShape,
}

impl PlanContract {
    /// The contract for plans over `tools` and `agents`.
    pub fn new(mut tools: Vec<ToolContract>, agents: Vec<ToolContract>, shape: PlanShape) -> Self {
        let tool_count = tools.len();
        tools.extend(agents);
        let mut by_name: Vec<usize> = (0..tools.len()).collect();
        by_name.sort_by_key(|&at| &tools[at].name);
        PlanContract { tools, tool_count, by_name, shape }
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
        // Among a few, names of another length are passed over without a look.
        if self.tools.len() <= 8 {
            return self.tools.iter().position(|tool| tool.name == name);
        }
        let found = self.by_name.binary_search_by(|&at| self.tools[at].name.as_str().cmp(name)).ok()?;
        Some(self.by_name[found])
    }

    /// The contract of one tool or agent.
    pub fn tool(&self, name: &str) -> Option<&ToolContract> {
        self.position(name).map(|at| &self.tools[at])
    }

    /// The position of an agent among the agents.
    pub fn agent(&self, name: &str) -> Option<usize> {
        if self.agents().is_empty() {
            return None;
        }
        self.position(name)?.checked_sub(self.tool_count)
    }

    /// Parses a plan out of a model's reply and checks it whole.
    ///
    /// # Errors
    /// The first thing that does not fit, with its JSON path.
    pub fn parse(&self, before: Before<'_>, text: &str, max_bytes: usize) -> Result<ReadPlan, ContractError> {
        let (plan, ignored) = parse_object::<WrittenPlan>(text, max_bytes)?.into_plan()?;
        let links = self.check(before, &plan)?;
        Ok(ReadPlan { plan, links, ignored })
    }

    /// Checks a plan: its size, tools, inputs, ids, references and last step. A step may refer to earlier
    /// steps only, so a plan that passes has no cycle.
    ///
    /// # Errors
    /// The first thing that does not fit, with its JSON path.
    pub fn check(&self, before: Before<'_>, plan: &Plan) -> Result<Links, ContractError> {
        let PlanShape { says, min_steps, max_steps, .. } = self.shape;
        let texts = [
            ("goal", says.goal, &plan.goal),
            ("reasoning", says.reasoning, &plan.reasoning),
            ("strategy", says.strategy, &plan.strategy),
        ];
        if let Some((field, ..)) = texts.iter().find(|(_, must, text)| *must && text.is_none()) {
            return Err(ContractError::at("$", format!("missing field `{field}`")));
        }
        let count = plan.steps.len();
        if count < min_steps || count > max_steps {
            let problem = format!("expected {min_steps} to {max_steps} steps, found {count}");
            return Err(ContractError::at("$.steps", problem));
        }
        self.check_steps(before, &plan.steps)
    }

    /// Checks an input that takes the place of a step's own.
    ///
    /// # Errors
    /// What does not fit, with its JSON path.
    pub(crate) fn check_input(&self, tool: &str, input: &Value) -> Result<(), ContractError> {
        let Some(contract) = self.tool(tool) else {
            return Err(ContractError::at("$", self.unknown_tool(tool)));
        };
        self.check_input_size(Some(input)).map_err(|error| ContractError::at("$", error.problem()))?;
        schema::check(&contract.input, input)
    }

    /// Checks steps that take the place of those that have not begun. Together with the `begun` ones
    /// there are no more than a plan may have, and the plan ends as plans must.
    ///
    /// # Errors
    /// The first thing that does not fit, with its JSON path.
    pub(crate) fn check_edit(
        &self,
        before: Before<'_>,
        begun: usize,
        steps: &[PlanStep],
    ) -> Result<Links, ContractError> {
        if steps.is_empty() && self.shape.final_step == FinalStep::Required {
            let problem = format!("expected {FINAL_ANSWER:?} as the last step, found no step");
            return Err(ContractError::at("$.steps", problem));
        }
        // What an orchestrator added may have used the room up; nothing more always fits.
        let count = begun + steps.len();
        if count > self.shape.max_steps && !steps.is_empty() {
            let problem = format!("expected at most {} steps in all, found {count}", self.shape.max_steps);
            return Err(ContractError::at("$.steps", problem));
        }
        self.check_steps(before, steps)
    }

    /// Checks steps however many there are.
    ///
    /// # Errors
    /// The first thing that does not fit, with its JSON path.
    pub(crate) fn check_steps(&self, before: Before<'_>, steps: &[PlanStep]) -> Result<Links, ContractError> {
        for (at, step) in steps.iter().enumerate() {
            let last = at + 1 == steps.len();
            self.check_step(step, last).map_err(|error| error.under(&format!("$.steps[{at}]")))?;
        }
        link(before, steps, self.shape.max_depth)
    }

    fn check_step(&self, step: &PlanStep, last: bool) -> Result<(), ContractError> {
        let ends = self.shape.final_step == FinalStep::Required;
        if ends && last && !step.is_final() {
            let problem = format!("expected {FINAL_ANSWER:?} as the last step, found {:?}", step.tool);
            return Err(ContractError::at("tool", problem));
        }
        let texts = [
            ("task", &step.task),
            ("description", &step.description),
            ("hitl_question", &step.hitl_question),
        ];
        for (field, text) in texts {
            self.check_bytes(field, text.as_ref().map_or(0, String::len))?;
        }
        if ends && step.is_final() && !last {
            let problem = format!("{FINAL_ANSWER:?} must be the last step, and only the last");
            return Err(ContractError::at("tool", problem));
        }
        if (ends && step.is_final()) || (self.shape.hitl && step.is_hitl()) {
            return self.check_input_size(step.input.as_ref());
        }
        let Some(at) = self.position(&step.tool) else {
            return Err(ContractError::at("tool", self.unknown_tool(&step.tool)));
        };
        self.check_required(step)?;
        if at < self.tool_count {
            self.check_tool_step(&self.tools[at], step)
        } else {
            self.check_agent_step(step)
        }
    }

    fn check_tool_step(&self, tool: &ToolContract, step: &PlanStep) -> Result<(), ContractError> {
        match (&step.input, &step.input_from) {
            (Some(input), None) => {
                self.check_input_size(Some(input))?;
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

    /// An agent is told what to do in words: its input, its task or the step's description.
    fn check_agent_step(&self, step: &PlanStep) -> Result<(), ContractError> {
        let found = match &step.input {
            None | Some(Value::String(_)) => None,
            Some(Value::Null) => Some("null"),
            Some(Value::Bool(_)) => Some("a boolean"),
            Some(Value::Number(_)) => Some("a number"),
            Some(Value::Array(_)) => Some("an array"),
            Some(Value::Object(_)) => Some("an object"),
        };
        if let Some(found) = found {
            return Err(ContractError::at("input", format!("expected a text, found {found}")));
        }
        self.check_input_size(step.input.as_ref())?;
        if step.instruction().is_empty() && step.input_from.is_none() {
            let problem = "expected a task, an input or a description, found none";
            return Err(ContractError::at("task", problem));
        }
        Ok(())
    }

    fn check_required(&self, step: &PlanStep) -> Result<(), ContractError> {
        let missing = |field: &&StepField| match field {
            StepField::Id => step.id.is_none(),
            StepField::InputFrom => step.input_from.is_none(),
            StepField::DependsOn => step.depends_on.is_empty(),
            StepField::Description => step.description.is_none(),
            StepField::Task => step.task.is_none(),
            StepField::HitlQuestion => step.hitl_question.is_none(),
            StepField::With => step.with.is_none(),
        };
        match self.shape.required.iter().find(missing) {
            Some(field) => Err(ContractError::at(field.to_string(), "needed, and missing")),
            None => Ok(()),
        }
    }

    /// The names that a step may have besides those of tools and agents.
    fn pseudo_tools(&self) -> impl Iterator<Item = &str> {
        let hitl = self.shape.hitl.then_some(HITL);
        hitl.into_iter().chain((self.shape.final_step == FinalStep::Required).then_some(FINAL_ANSWER))
    }

    fn unknown_tool(&self, found: &str) -> String {
        let names: Vec<&str> =
            self.tools.iter().map(|tool| tool.name.as_str()).chain(self.pseudo_tools()).collect();
        format!("expected one of {}, found {:?}", names.join(", "), excerpt(found, 60))
    }

    fn check_input_size(&self, input: Option<&Value>) -> Result<(), ContractError> {
        self.check_bytes(
            "input",
            match input {
                None => 0,
                Some(Value::String(text)) => text.len(),
                Some(other) => other.to_string().len(),
            },
        )
    }

    fn check_bytes(&self, field: &str, size: usize) -> Result<(), ContractError> {
        let most = self.shape.max_input_bytes;
        if size <= most {
            return Ok(());
        }
        Err(ContractError::at(field, format!("expected at most {most} bytes, found {size}")))
    }

    /// The JSON schema sent with the request, as strict-mode servers take it: every property is required,
    /// an optional one may be `null`.
    pub fn schema(&self) -> Value {
        let text = json!({"type": "string"});
        let steps = if self.tools.iter().all(ToolContract::takes_text) {
            let names = self.tools.iter().map(|tool| tool.name.as_str());
            self.step_schema(names.chain(self.pseudo_tools()).collect(), text.clone())
        } else {
            let tools = self.tools.iter().map(|tool| self.step_schema(vec![&tool.name], tool.input.clone()));
            let pseudo = self.pseudo_tools().map(|name| self.step_schema(vec![name], text.clone()));
            json!({"anyOf": tools.chain(pseudo).collect::<Vec<Value>>()})
        };
        let PlanShape { says, min_steps, max_steps, .. } = self.shape;
        let said = [("goal", says.goal), ("reasoning", says.reasoning), ("strategy", says.strategy)];
        let mut properties: Map<String, Value> = said
            .into_iter()
            .filter(|(_, must)| *must)
            .map(|(field, _)| (field.into(), text.clone()))
            .collect();
        let list = json!({"type": "array", "items": steps, "minItems": min_steps, "maxItems": max_steps});
        properties.insert("steps".into(), list);
        strict_object(properties.into())
    }

    fn step_schema(&self, names: Vec<&str>, input: Value) -> Value {
        let agents_alone = self.tool_count == 0 && !self.tools.is_empty();
        let offers = |field: StepField| self.shape.fields.contains(&field);
        let optional = || json!({"type": ["string", "null"]});
        let input = match offers(StepField::InputFrom) || agents_alone {
            true => json!({"anyOf": [input, {"type": "null"}]}),
            false => input,
        };
        let key = if agents_alone { "agent" } else { "tool" };
        let depends_on = json!({"type": "array", "items": {"type": "string"}});
        let properties = [
            ("id", offers(StepField::Id), json!({"type": "string"})),
            (key, true, json!({"type": "string", "enum": names})),
            ("with", offers(StepField::With), optional()),
            ("task", offers(StepField::Task), optional()),
            ("input", true, input),
            ("input_from", offers(StepField::InputFrom), optional()),
            ("depends_on", offers(StepField::DependsOn), depends_on),
            ("description", offers(StepField::Description), optional()),
            ("hitl_question", offers(StepField::HitlQuestion), optional()),
        ];
        let offered = properties.into_iter().filter(|(_, offered, _)| *offered);
        strict_object(offered.map(|(name, _, schema)| (name.to_owned(), schema)).collect())
    }
}
