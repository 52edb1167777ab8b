//! The shape of a plan: what the planner's frame lets it say.

use serde_json::{Map, Value, json};

use super::plan::Step;
use planwright::contract::{FINAL_ANSWER, HITL, ToolContract, ToolEffect, schema};
use planwright::spec::RequestFrame;

/// Most steps that a plan is filled up to where its contract asks for many.
const MAX_FILL: usize = 64;
/// Most characters of a query, whatever the tool would take.
const MAX_QUERY: usize = 300;
/// Most characters of a text that is handed over to be worked on.
const MAX_MATERIAL: usize = 4_000;
/// Stands before the list of agents in the planner's instructions.
const AGENTS: &str = "\n\nAgents:";

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
    /// The optional fields that the schema wants to see.
    fields: Vec<&'a str>,
    /// What the schema wants to see beside the steps.
    says: Vec<&'a str>,
    /// Whether a step's input may be `null`.
    null_input: bool,
}

/// A step with all that the contract may ask for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Entry {
    /// Who does it.
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

impl<'a> Shape<'a> {
    pub(super) fn of(frame: &'a RequestFrame) -> Self {
        let schema = frame.schema.as_ref();
        let steps = schema.and_then(|schema| schema.pointer("/properties/steps"));
        let bound = |keyword| steps.and_then(|steps| steps.get(keyword)).and_then(Value::as_u64);
        let size = |found: Option<u64>, usual| {
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
        let properties = forms.first().and_then(|form| form.get("properties")).and_then(Value::as_object);
        let fields = properties.into_iter().flat_map(Map::keys).map(String::as_str);
        let says = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
        let says = says.into_iter().flat_map(Map::keys).map(String::as_str).filter(|field| *field != "steps");
        let null = |form: &&Value| form.pointer("/properties/input/anyOf").is_some_and(or_null);
        Shape {
            tools: tools.collect(),
            agents: agents(frame, by_agent),
            ends: steps.is_some() && allows(FINAL_ANSWER),
            asks_people: names.contains(&HITL),
            kept: 0,
            min: size(bound("minItems"), usize::from(steps.is_some())),
            max: size(bound("maxItems"), 6),
            key,
            fields: fields.filter(|field| ![key, "input"].contains(field)).collect(),
            says: says.collect(),
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
        self.filled(tool, query, MAX_QUERY)
    }

    /// A step that hands a tool a text to work on.
    pub(super) fn hand_over(&self, tool: &ToolContract, text: &str) -> Option<Step> {
        self.filled(tool, text, MAX_MATERIAL)
    }

    fn filled(&self, tool: &ToolContract, text: &str, most: usize) -> Option<Step> {
        let text: String = text.trim().chars().take(most).collect();
        let input = fill(&tool.input, text.trim_end(), 0)?;
        schema::check(&tool.input, &input).ok()?;
        Some(Step { tool: tool.name.clone(), input, from: None })
    }

    /// Brings a list of steps to the length that the contract asks for; `None` where that cannot
    /// be done.
    pub(super) fn fit<T: Clone>(&self, mut steps: Vec<T>) -> Option<Vec<T>> {
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

    /// The plan as JSON; `reasoning` says why it is made so.
    pub(super) fn plan(&self, goal: &str, reasoning: &str, entries: &[Entry]) -> Value {
        let mut plan = Map::new();
        for field in &self.says {
            let text = match *field {
                "goal" => goal,
                "reasoning" => reasoning,
                "strategy" => "sequential",
                _ => continue,
            };
            plan.insert((*field).to_owned(), json!(text));
        }
        let steps: Vec<Value> = entries.iter().enumerate().map(|(at, entry)| self.entry(at, entry)).collect();
        plan.insert("steps".to_owned(), Value::Array(steps));
        Value::Object(plan)
    }

    fn entry(&self, at: usize, entry: &Entry) -> Value {
        let name = |at: &usize| json!(format!("step_{}", self.kept + at + 1));
        let mut fields = Map::new();
        for field in &self.fields {
            let value = match *field {
                "id" => name(&at),
                "depends_on" => entry.after.iter().map(name).collect(),
                "input_from" => entry.from.as_ref().map_or(Value::Null, name),
                "task" => json!(entry.task),
                "description" => json!(entry.description),
                "hitl_question" => json!(entry.question),
                "with" => Value::Null,
                _ => continue,
            };
            fields.insert((*field).to_owned(), value);
        }
        fields.insert(self.key.to_owned(), json!(entry.who));
        let told = entry.task.as_ref().or(entry.description.as_ref());
        let shown = self.offers("task") || self.offers("description");
        let input = match &entry.input {
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
