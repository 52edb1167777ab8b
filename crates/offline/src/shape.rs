//! The shape of a plan: what the planner's frame lets it say.

use serde_json::{Map, Value, json};

use planwright::contract::schema::Schema;
use planwright::contract::{FINAL_ANSWER, HITL, PlanStep, ToolContract, ToolEffect};
use planwright::spec::RequestFrame;

const MAX_FILL: usize = 64;
const AGENTS: &str = "\n\nAgents:";

/// A step that calls a tool, or ends the plan.
pub(super) fn call(tool: &str, input: Value) -> PlanStep {
    PlanStep { tool: tool.to_owned(), input: Some(input), ..PlanStep::default() }
}

/// The steps without those that ask the same as one before, whichever step feeds them.
pub(super) fn each_once(steps: impl Iterator<Item = PlanStep>) -> Vec<PlanStep> {
    let mut once: Vec<PlanStep> = Vec::new();
    for step in steps {
        let same = |one: &PlanStep| one.tool == step.tool && one.input == step.input;
        if !once.iter().any(|one| same(one) && one.input_from.is_some() == step.input_from.is_some()) {
            once.push(step);
        }
    }
    once
}

/// What plans may look like. Without a schema in the frame, steps are calls by themselves.
pub(super) struct Shape<'a> {
    /// The tools and agents that may be planned: those of the contract, without those that write.
    pub tools: Vec<&'a ToolContract>,
    pub agents: Vec<&'a str>,
    pub ends: bool,
    pub asks_people: bool,
    pub kept: usize,
    pub least: usize,
    pub most: usize,
    key: &'a str,
    /// The optional fields of a step, and what stands beside the steps.
    fields: Vec<&'a str>,
    says: Vec<&'a str>,
}

impl<'a> Shape<'a> {
    pub(super) fn of(frame: &'a RequestFrame) -> Self {
        let properties = |value: &'a Value| {
            let fields = value.get("properties").and_then(Value::as_object);
            fields.into_iter().flat_map(Map::keys).map(String::as_str)
        };
        let schema = frame.schema.as_ref();
        let steps = schema.and_then(|schema| schema.pointer("/properties/steps"));
        let bound = |keyword, usual: usize| {
            steps.and_then(|steps| steps.get(keyword)?.as_u64()).map_or(usual, |found| found as usize)
        };
        let items = steps.and_then(|steps| steps.get("items"));
        let any_of = items.and_then(|items| items.get("anyOf")).and_then(Value::as_array);
        let forms: Vec<&Value> =
            any_of.map_or_else(|| items.into_iter().collect(), |all| all.iter().collect());
        let by_agent = forms.first().is_some_and(|form| form.pointer("/properties/agent").is_some());
        let key = if by_agent { "agent" } else { "tool" };
        let names =
            forms.iter().filter_map(|form| form.pointer(&format!("/properties/{key}/enum"))?.as_array());
        let names: Vec<&str> = names.flatten().filter_map(Value::as_str).collect();
        let allows = |name: &str| names.is_empty() || names.contains(&name);
        let ends = steps.is_some() && allows(FINAL_ANSWER);
        // A plan by rule is made without judgement, so it never changes anything outside.
        let tools = frame.tools.iter().filter(|tool| tool.effect != ToolEffect::Write && allows(&tool.name));
        let listed = frame.system.rsplit_once(AGENTS).map_or("", |(_, list)| list);
        let is_agent = |name: &&str| by_agent || listed.contains(&format!("\n- {name}: "));
        Shape {
            tools: tools.collect(),
            agents: frame.tools.iter().map(|tool| tool.name.as_str()).filter(is_agent).collect(),
            ends,
            asks_people: names.contains(&HITL),
            kept: 0,
            least: bound("minItems", usize::from(steps.is_some())).saturating_sub(usize::from(ends)),
            most: bound("maxItems", 6).saturating_sub(usize::from(ends)),
            key,
            fields: forms.first().into_iter().flat_map(|form| properties(form)).collect(),
            says: schema.into_iter().flat_map(properties).filter(|field| *field != "steps").collect(),
        }
    }

    pub(super) fn tool(&self, name: &str) -> Option<&'a ToolContract> {
        self.tools.iter().find(|tool| tool.name == name).copied()
    }

    pub(super) fn offers(&self, field: &str) -> bool {
        self.fields.contains(&field)
    }

    /// A step that hands a tool the beginning of this text; `None` if the tool's schema does not take it.
    pub(super) fn step(&self, tool: &ToolContract, text: &str, max_chars: usize) -> Option<PlanStep> {
        let text: String = text.trim().chars().take(max_chars).collect();
        let input = fill(&tool.input, text.trim_end(), 0)?;
        Schema::new(&tool.input).and_then(|schema| schema.check(&input)).ok()?;
        Some(call(&tool.name, input))
    }

    /// Brings steps to the length that the contract asks for, if it can be done, and ends them with `last`.
    pub(super) fn fit(&self, mut steps: Vec<PlanStep>, last: &str) -> Option<Vec<PlanStep>> {
        steps.truncate(self.most);
        let count = steps.len();
        if count < self.least && (count == 0 || self.least > MAX_FILL) {
            return None;
        }
        steps = steps.into_iter().cycle().take(count.max(self.least)).collect();
        steps.extend(self.ends.then(|| call(FINAL_ANSWER, json!(last))));
        Some(steps)
    }

    /// The plan as JSON; `reasoning` says why it is made so.
    pub(super) fn plan(&self, goal: &str, reasoning: &str, steps: &[PlanStep]) -> Value {
        let beside = [("goal", goal), ("reasoning", reasoning), ("strategy", "sequential")];
        let beside = beside.into_iter().filter(|(field, _)| self.says.contains(field));
        let mut plan: Map<String, Value> =
            beside.map(|(field, text)| (field.to_owned(), json!(text))).collect();
        let steps = steps.iter().enumerate().map(|(at, step)| self.entry(at, step)).collect();
        plan.insert("steps".to_owned(), steps);
        Value::Object(plan)
    }

    /// How the plan names its step at this place, from 0.
    pub(super) fn name(&self, at: usize) -> String {
        format!("step_{}", self.kept + at + 1)
    }

    fn entry(&self, at: usize, step: &PlanStep) -> Value {
        let all = json!({
            "id": self.name(at), "depends_on": step.depends_on, "input_from": step.input_from,
            "task": step.task, "description": step.description, "hitl_question": step.hitl_question,
        });
        let fields = self.fields.iter().map(|field| ((*field).to_owned(), all[*field].clone()));
        let mut fields: Map<String, Value> = fields.collect();
        fields.insert(self.key.to_owned(), json!(step.tool));
        // What works on another's output may have no input of its own, if it is told elsewhere what to do.
        let is_free = self.offers("input_from") || self.key == "agent";
        let is_told = self.offers("task") || self.offers("description");
        let task = Some(json!(step.task)).filter(|_| !(is_free && is_told));
        fields.insert("input".to_owned(), step.input.clone().or(task).unwrap_or_default());
        Value::Object(fields)
    }
}

/// A value of this schema that holds the query, if it needs no more than texts and what it fixes itself.
fn fill(schema: &Value, query: &str, depth: usize) -> Option<Value> {
    if let Some(fixed) = schema.get("const").or(schema.get("default")) {
        return Some(fixed.clone());
    }
    match schema.get("type")?.as_str()? {
        "string" => {
            let most = schema.get("maxLength").and_then(Value::as_u64).unwrap_or(u64::MAX);
            let text: String = query.chars().take(usize::try_from(most).unwrap_or(usize::MAX)).collect();
            Some(json!(text.trim_end()))
        }
        "object" if depth < 4 => {
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            let field = |name: &Value| {
                let name = name.as_str()?;
                Some((name.to_owned(), fill(schema.get("properties")?.get(name)?, query, depth + 1)?))
            };
            Some(Value::Object(required.map(field).collect::<Option<_>>()?))
        }
        _ => None,
    }
}
