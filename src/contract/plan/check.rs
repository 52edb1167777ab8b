//! The whole-plan check: nothing of a plan runs that fails any of it.

use serde_json::Value;

use super::links::{Before, Links, link};
use super::written::WrittenPlan;
use super::{FINAL_ANSWER, FinalStep, HITL, Plan, PlanSays, PlanStep, StepField};
use crate::contract::{ContractError, ToolContract, read, schema};

/// The form that plans of one agent have.
#[derive(Clone, Debug)]
pub struct PlanShape {
    /// Fewest steps; 0 where an empty plan says that nothing needs doing.
    pub min_steps: usize,
    /// Most steps.
    pub max_steps: usize,
    /// Most steps that wait for one another in a row.
    pub max_depth: usize,
    /// Whether a plan ends in [`FINAL_ANSWER`].
    pub final_step: FinalStep,
    /// Whether a step may ask a person.
    pub hitl: bool,
    /// What a plan must say beside its steps.
    pub says: PlanSays,
    /// The optional fields that the planner is offered.
    pub fields: Vec<StepField>,
    /// Those of them that every step must have.
    pub required: Vec<StepField>,
    /// Largest input of a step, in bytes.
    pub max_input_bytes: usize,
}

impl Default for PlanShape {
    fn default() -> Self {
        PlanShape {
            min_steps: 1,
            max_steps: 6,
            max_depth: usize::MAX,
            final_step: FinalStep::Required,
            hitl: false,
            says: PlanSays::default(),
            fields: Vec::new(),
            required: Vec::new(),
            max_input_bytes: 16_384,
        }
    }
}

/// A plan that passed, with what was worked out on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadPlan {
    /// The plan.
    pub plan: Plan,
    /// Which of its steps wait for which.
    pub links: Links,
    /// What the reply said of its steps that no plan may say, as JSON paths. It was left out.
    pub ignored: Vec<String>,
}

/// What plans of one agent must look like.
#[derive(Clone, Debug)]
pub struct PlanContract {
    /// Tools, then agents.
    tools: Vec<ToolContract>,
    /// How many of them are tools.
    tool_count: usize,
    /// Positions in `tools`, in the order of their names.
    by_name: Vec<usize>,
    shape: PlanShape,
}

impl PlanContract {
    /// The contract for plans over `tools` and `agents`.
    pub fn new(tools: Vec<ToolContract>, agents: Vec<ToolContract>, shape: PlanShape) -> Self {
        let tool_count = tools.len();
        let tools: Vec<ToolContract> = tools.into_iter().chain(agents).collect();
        let mut by_name: Vec<usize> = (0..tools.len()).collect();
        by_name.sort_by(|&left, &right| tools[left].name.cmp(&tools[right].name));
        PlanContract { tools, tool_count, by_name, shape }
    }

    /// The tools that plans may name.
    pub fn tools(&self) -> &[ToolContract] {
        &self.tools[..self.tool_count]
    }

    /// The agents that plans may name, as what they declare about themselves.
    pub fn agents(&self) -> &[ToolContract] {
        &self.tools[self.tool_count..]
    }

    /// Tools and agents together.
    pub fn all(&self) -> &[ToolContract] {
        &self.tools
    }

    /// The form that plans have.
    pub fn shape(&self) -> &PlanShape {
        &self.shape
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

    /// Which of the agents this is, from 0; `None` where the name is a tool's or nobody's.
    pub fn agent(&self, name: &str) -> Option<usize> {
        if self.tool_count == self.tools.len() {
            return None;
        }
        self.position(name)?.checked_sub(self.tool_count)
    }

    /// Reads a plan out of a model's reply and checks it whole.
    ///
    /// # Errors
    /// The first thing that does not fit, with its JSON path.
    pub fn read(&self, text: &str, max_bytes: usize) -> Result<ReadPlan, ContractError> {
        self.read_after(Before::NOTHING, text, max_bytes)
    }

    /// Checks a plan that follows steps that are kept.
    ///
    /// # Errors
    /// The first thing that does not fit, with its JSON path.
    pub fn read_after(
        &self,
        before: Before<'_>,
        text: &str,
        max_bytes: usize,
    ) -> Result<ReadPlan, ContractError> {
        let (plan, ignored) = read::object::<WrittenPlan>(text, max_bytes)?.into_plan()?;
        let links = self.check_after(before, &plan)?;
        Ok(ReadPlan { plan, links, ignored })
    }

    /// Checks a plan: its size, tools, inputs, ids, references and last step. A step may refer to
    /// earlier steps only, so a plan that passes has no cycle.
    ///
    /// # Errors
    /// The first thing that does not fit, with its JSON path.
    pub fn check(&self, plan: &Plan) -> Result<Links, ContractError> {
        self.check_after(Before::NOTHING, plan)
    }

    /// The same for a plan that follows steps that are kept: those that are done may be referred to.
    ///
    /// # Errors
    /// The first thing that does not fit, with its JSON path.
    pub fn check_after(&self, before: Before<'_>, plan: &Plan) -> Result<Links, ContractError> {
        let says = self.shape.says;
        let said = [
            ("goal", says.goal, &plan.goal),
            ("reasoning", says.reasoning, &plan.reasoning),
            ("strategy", says.strategy, &plan.strategy),
        ];
        if let Some((field, ..)) = said.iter().find(|(_, must, text)| *must && text.is_none()) {
            return Err(ContractError::at("$", format!("missing field `{field}`")));
        }
        let count = plan.steps.len();
        let PlanShape { min_steps, max_steps, max_depth, .. } = self.shape;
        if count < min_steps || count > max_steps {
            let problem = format!("expected {min_steps} to {max_steps} steps, found {count}");
            return Err(ContractError::at("$.steps", problem));
        }
        for (at, step) in plan.steps.iter().enumerate() {
            let last = at + 1 == count;
            self.check_step(step, last).map_err(|error| error.under(&format!("$.steps[{at}]")))?;
        }
        link(before, &plan.steps, max_depth)
    }

    /// Checks an input that takes the place of a step's own, like a planner's.
    ///
    /// # Errors
    /// What does not fit, with its JSON path.
    pub fn check_input(&self, tool: &str, input: &Value) -> Result<(), ContractError> {
        let Some(contract) = self.tool(tool) else {
            return Err(ContractError::at("$", self.unknown_tool(tool)));
        };
        self.check_size(Some(input)).map_err(|error| ContractError::at("$", error.problem().to_owned()))?;
        schema::check(&contract.input, input)
    }

    /// Checks steps that take the place of those that have not begun: everything but how few there may
    /// be and what a planner must say beside them. With the `begun` ones of the same plan, there are
    /// still no more than a plan may have, and it still ends as plans must.
    ///
    /// # Errors
    /// The first thing that does not fit, with its JSON path.
    pub fn check_edit(
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

    /// The same however many there are.
    ///
    /// # Errors
    /// The first thing that does not fit, with its JSON path.
    pub fn check_steps(&self, before: Before<'_>, steps: &[PlanStep]) -> Result<Links, ContractError> {
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
        self.check_texts(step)?;
        if ends && step.is_final() {
            if !last {
                let problem = format!("{FINAL_ANSWER:?} must be the last step, and only the last");
                return Err(ContractError::at("tool", problem));
            }
            return self.check_size(step.input.as_ref());
        }
        if self.shape.hitl && step.is_hitl() {
            return self.check_size(step.input.as_ref());
        }
        let Some(at) = self.position(&step.tool) else {
            return Err(ContractError::at("tool", self.unknown_tool(&step.tool)));
        };
        self.check_required(step)?;
        if at >= self.tool_count {
            return self.check_agent_step(step);
        }
        let tool = &self.tools[at];
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

    /// An agent is told what to do in words: its input, its task or the step's description.
    fn check_agent_step(&self, step: &PlanStep) -> Result<(), ContractError> {
        if let Some(input) = &step.input {
            if !input.is_string() {
                return Err(ContractError::at("input", format!("expected a text, found {}", kind(input))));
            }
            self.check_size(Some(input))?;
        }
        match step.told().is_empty() && step.input_from.is_none() {
            false => Ok(()),
            true => Err(ContractError::at("task", "expected a task, an input or a description, found none")),
        }
    }

    fn check_texts(&self, step: &PlanStep) -> Result<(), ContractError> {
        let texts = [
            ("task", &step.task),
            ("description", &step.description),
            ("hitl_question", &step.hitl_question),
        ];
        let most = self.shape.max_input_bytes;
        for (field, text) in texts {
            let size = text.as_ref().map_or(0, String::len);
            if size > most {
                return Err(ContractError::at(field, format!("expected at most {most} bytes, found {size}")));
            }
        }
        Ok(())
    }

    fn check_required(&self, step: &PlanStep) -> Result<(), ContractError> {
        for field in &self.shape.required {
            let missing = match field {
                StepField::Id => step.id.is_none(),
                StepField::InputFrom => step.input_from.is_none(),
                StepField::DependsOn => step.depends_on.is_empty(),
                StepField::Description => step.description.is_none(),
                StepField::Task => step.task.is_none(),
                StepField::HitlQuestion => step.hitl_question.is_none(),
                StepField::With => step.with.is_none(),
            };
            if missing {
                return Err(ContractError::at(field.as_str(), "needed, and missing"));
            }
        }
        Ok(())
    }

    fn unknown_tool(&self, found: &str) -> String {
        let mut names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
        if self.shape.hitl {
            names.push(HITL);
        }
        if self.shape.final_step == FinalStep::Required {
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
        let most = self.shape.max_input_bytes;
        if size <= most {
            return Ok(());
        }
        Err(ContractError::at("input", format!("expected at most {most} bytes, found {size}")))
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
