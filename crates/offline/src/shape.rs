//! The shape of a plan: what the planner's frame lets it say.

use serde_json::{Map, Value, json};

use planwright::contract::{FINAL_ANSWER, HITL, ToolContract, ToolEffect, schema};
use planwright::spec::RequestFrame;

/// Most steps that a plan is filled up to where its contract asks for many.
const MAX_FILL: usize = 64;
/// Stands before the list of agents in the planner's instructions.
const AGENTS: &str = "\n\nAgents:";

/// A step with all that the contract may ask for.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    /// The tool or agent that does it.
    pub who: String,
    /// What a tool is called with; what an agent is told is its task.
    pub input: Option<Value>,
    /// The step of this plan whose output it works on.
    pub from: Option<usize>,
    /// The steps of this plan that it waits for.
    pub after: Vec<usize>,
    pub task: Option<String>,
    pub description: Option<String>,
    /// What a person is asked.
    pub question: Option<String>,
}

impl Step {
    pub(super) fn call(tool: &str, input: Value) -> Self {
        Step { who: tool.to_owned(), input: Some(input), ..Step::default() }
    }

    /// The input, where it is a text.
    pub(super) fn text(&self) -> Option<&str> {
        self.input.as_ref().and_then(Value::as_str)
    }

    /// Whether another step asks the same, whichever step feeds it.
    pub(super) fn asks_like(&self, other: &Step) -> bool {
        self.who == other.who && self.input == other.input && self.from.is_some() == other.from.is_some()
    }
}

/// What plans may look like. Where the frame has no schema, steps are calls by themselves.
pub(super) struct Shape<'a> {
    /// The tools and agents that may be planned: those of the contract, without those that write.
    pub tools: Vec<&'a ToolContract>,
    /// Which of them are agents.
    pub agents: Vec<&'a str>,
    /// Whether the last step is `final_answer`.
    pub ends: bool,
    /// Whether a step may ask a person.
    pub asks_people: bool,
    /// How many steps stand before the plan and are kept.
    pub kept: usize,
    min: usize,
    max: usize,
    /// Under which key a step says who does it.
    key: &'a str,
    /// The optional fields of a step, and what stands beside the steps.
    fields: Vec<&'a str>,
    says: Vec<&'a str>,
    /// Whether a step's input may be `null`.
    null_input: bool,
}

impl<'a> Shape<'a> {
    pub(super) fn of(frame: &'a RequestFrame) -> Self {
        let properties = |value: &'a Value| {
            let fields = value.get("properties").and_then(Value::as_object);
            fields.into_iter().flat_map(Map::keys).map(String::as_str)
        };
        let schema = frame.schema.as_ref();
        let steps = schema.and_then(|schema| schema.pointer("/properties/steps"));
        let bound = |keyword, usual| {
            let found = steps.and_then(|steps| steps.get(keyword)).and_then(Value::as_u64);
            found.map_or(usual, |found| usize::try_from(found).unwrap_or(usize::MAX))
        };
        let forms = steps.map(forms).unwrap_or_default();
        let by_agent = forms.first().is_some_and(|form| form.pointer("/properties/agent").is_some());
        let key = if by_agent { "agent" } else { "tool" };
        let names =
            forms.iter().filter_map(|form| form.pointer(&format!("/properties/{key}/enum"))?.as_array());
        let names: Vec<&str> = names.flatten().filter_map(Value::as_str).collect();
        let allows = |name: &str| names.is_empty() || names.contains(&name);
        // A plan by rule is made without judgement, so it never changes anything outside.
        let tools = frame.tools.iter().filter(|tool| tool.effect != ToolEffect::Write && allows(&tool.name));
        let fields = forms.first().into_iter().flat_map(|form| properties(form));
        let null = |form: &&Value| form.pointer("/properties/input/anyOf").is_some_and(or_null);
        Shape {
            tools: tools.collect(),
            agents: agents(frame, by_agent),
            ends: steps.is_some() && allows(FINAL_ANSWER),
            asks_people: names.contains(&HITL),
            kept: 0,
            min: bound("minItems", usize::from(steps.is_some())),
            max: bound("maxItems", 6),
            key,
            fields: fields.filter(|field| ![key, "input"].contains(field)).collect(),
            says: schema.into_iter().flat_map(properties).filter(|field| *field != "steps").collect(),
            null_input: !forms.is_empty() && forms.iter().all(null),
        }
    }

    pub(super) fn tool(&self, name: &str) -> Option<&'a ToolContract> {
        self.tools.iter().find(|tool| tool.name == name).copied()
    }

    /// Whether a step may have this optional field.
    pub(super) fn offers(&self, field: &str) -> bool {
        self.fields.contains(&field)
    }

    /// Most and fewest steps before `final_answer`.
    pub(super) fn most(&self) -> usize {
        self.max.saturating_sub(usize::from(self.ends))
    }

    pub(super) fn least(&self) -> usize {
        self.min.saturating_sub(usize::from(self.ends))
    }

    /// A step that hands a tool this text, cut to so many characters; `None` where the tool's schema
    /// does not take it.
    pub(super) fn step(&self, tool: &ToolContract, text: &str, most: usize) -> Option<Step> {
        let text: String = text.trim().chars().take(most).collect();
        let input = fill(&tool.input, text.trim_end(), 0)?;
        schema::check(&tool.input, &input).ok()?;
        Some(Step::call(&tool.name, input))
    }

    /// Brings steps to the length that the contract asks for and ends them with `last`; `None` where
    /// that cannot be done.
    pub(super) fn fit(&self, mut steps: Vec<Step>, last: &str) -> Option<Vec<Step>> {
        steps.truncate(self.most());
        let (own, least) = (steps.len(), self.least());
        if own < least && (own == 0 || least > MAX_FILL) {
            return None;
        }
        for at in own..least {
            steps.push(steps[at % own].clone());
        }
        steps.extend(self.ends.then(|| Step::call(FINAL_ANSWER, json!(last))));
        Some(steps)
    }

    /// The plan as JSON; `reasoning` says why it is made so.
    pub(super) fn plan(&self, goal: &str, reasoning: &str, steps: &[Step]) -> Value {
        let said = [("goal", goal), ("reasoning", reasoning), ("strategy", "sequential")];
        let said = said.into_iter().filter(|(field, _)| self.says.contains(field));
        let mut plan: Map<String, Value> =
            said.map(|(field, text)| (field.to_owned(), json!(text))).collect();
        plan.insert(
            "steps".to_owned(),
            steps.iter().enumerate().map(|(at, step)| self.entry(at, step)).collect(),
        );
        Value::Object(plan)
    }

    fn entry(&self, at: usize, step: &Step) -> Value {
        let name = |at: &usize| json!(format!("step_{}", self.kept + at + 1));
        let mut fields = Map::new();
        for field in &self.fields {
            let value = match *field {
                "id" => name(&at),
                "depends_on" => step.after.iter().map(name).collect(),
                "input_from" => step.from.as_ref().map_or(Value::Null, name),
                "task" => json!(step.task),
                "description" => json!(step.description),
                "hitl_question" => json!(step.question),
                "with" => Value::Null,
                _ => continue,
            };
            fields.insert((*field).to_owned(), value);
        }
        fields.insert(self.key.to_owned(), json!(step.who));
        let shown = self.offers("task") || self.offers("description");
        let told = step.task.as_ref().or(step.description.as_ref());
        let input = match &step.input {
            Some(input) => input.clone(),
            None if self.null_input && shown => Value::Null,
            None => json!(told.map_or("", String::as_str)),
        };
        fields.insert("input".to_owned(), input);
        Value::Object(fields)
    }
}

/// Which of the offered tools are agents: all where steps name an agent, else those that the
/// instructions list as such.
fn agents(frame: &RequestFrame, all: bool) -> Vec<&str> {
    let listed = frame.system.rsplit_once(AGENTS).map_or("", |(_, list)| list);
    let lists = |name: &str| listed.lines().any(|line| line.starts_with(&format!("- {name}: ")));
    frame.tools.iter().map(|tool| tool.name.as_str()).filter(|name| all || lists(name)).collect()
}

/// Whether one of the forms of a value is `null`.
fn or_null(forms: &Value) -> bool {
    let is_null = |form: &Value| form.get("type").and_then(Value::as_str) == Some("null");
    forms.as_array().is_some_and(|forms| forms.iter().any(is_null))
}

/// The forms that a step may have.
fn forms(steps: &Value) -> Vec<&Value> {
    let Some(items) = steps.get("items") else { return Vec::new() };
    items.get("anyOf").and_then(Value::as_array).map_or_else(|| vec![items], |forms| forms.iter().collect())
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
            let text: String = query.chars().take(usize::try_from(most).unwrap_or(usize::MAX)).collect();
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
