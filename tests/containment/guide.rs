//! The worked examples of `docs/guide/containment.md`: each is run as it stands there.
//!
//! A section has the contracts of its tools (`toml`), what the tools return (the first `json`), the plans that the
//! planner makes (the others), and what happens (`text`).

use std::sync::{Arc, Mutex};

use planwright::agents;
use planwright::contract::{StepField, ToolContract};
use planwright::driver::Agent;
use planwright::machine::HumanAnswer;
use planwright::ports::{Human, Question, ScriptedModel, Tool, ToolCall, ToolError, ToolOutput};
use planwright::spec::{McpPins, RoleName, Spec};
use serde_json::Value;

type Log = Arc<Mutex<Vec<String>>>;

/// A tool that notes its calls and returns what the page says.
struct Returns(ToolContract, Value, Log);

impl Tool for Returns {
    fn contract(&self) -> ToolContract {
        self.0.clone()
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        self.2.lock().unwrap().push(format!("called {} {}", self.0.name, call.input));
        Ok(match &self.1 {
            Value::String(text) => text.as_str().into(),
            data => ToolOutput::from_data(data.clone()),
        })
    }
}

/// A person who allows whatever they are asked, and takes the first of what they are offered.
struct Allows(Log);

impl Human for Allows {
    fn ask(&self, question: &Question<'_>) -> Option<HumanAnswer> {
        self.0.lock().unwrap().extend(question.text.lines().map(|line| format!("asked: {line}")));
        let offered = question.text.lines().find_map(|line| line.strip_prefix("- "));
        Some(match offered.filter(|_| !question.text.starts_with("Please approve")) {
            Some(first) => HumanAnswer::respond(first),
            None => HumanAnswer::Approve,
        })
    }
}

fn blocks<'a>(section: &'a str, kind: &str) -> Vec<&'a str> {
    let begin = format!("```{kind}\n");
    let parts = section.split(&*begin).skip(1);
    parts.map(|part| part.split("```").next().expect("a block ends")).collect()
}

/// The shipped agent that judges and plans anew, with the tools of a section.
fn spec_with(tools: &str) -> Spec {
    let mut spec = agents::shipped(agents::DEFAULT).expect("it is shipped");
    let head = "name = 'x'\n[roles.planner]\nprompt = 'x'\n[roles.writer]\nprompt = 'x'\n[policy]\nvalidate = 'off'\n";
    let pins: McpPins = blocks(tools, "json pins").first().map_or_else(McpPins::new, |pins| parse(pins));
    let written = Spec::from_toml_with_pins(&format!("{head}{}", blocks(tools, "toml")[0]), &pins);
    let written = written.unwrap_or_else(|error| panic!("{error}: {tools}"));
    (spec.tools, spec.mcp) = (written.tools, written.mcp);
    spec.policy.plan.fields = vec![StepField::Id, StepField::Refs];
    spec
}

fn parse<T: serde::de::DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// What happens in a section, a line each.
fn play(section: &str) -> Vec<String> {
    let (log, spec, json) = (Log::default(), spec_with(section), blocks(section, "json"));
    let (returns, plans): (Value, &[&str]) = (parse(json[0]), &json[1..]);
    let mut model = ScriptedModel::new();
    for (nth, plan) in plans.iter().enumerate() {
        let role = if nth == 0 { RoleName::Planner } else { RoleName::Replanner };
        let ok = nth + 1 == plans.len();
        let verdict = serde_json::json!({"ok": ok, "reason": "", "fix_hint": "again"});
        model = model.reply_as(role, *plan).reply_as(RoleName::Validator, verdict.to_string());
    }
    let model = model.reply_as(RoleName::Writer, "Done.");
    let made = |tool: &ToolContract| Returns(tool.clone(), returns[&tool.name].clone(), Arc::clone(&log));
    let tools: Vec<Returns> = spec.tools.iter().map(made).collect();
    let builder = Agent::builder(spec).model(model).tools(tools).human(Allows(Arc::clone(&log)));
    let run = builder.build().expect("a sound spec").run("What the user asks.").expect("a run");
    let mut happened = log.lock().unwrap().clone();
    let failed = run.state().steps().filter(|step| step.status == "failed");
    happened.extend(failed.map(|step| {
        let code = step.output.and_then(|said| said.split(": ").nth(1)).unwrap_or_default();
        format!("refused {}: {code}", step.step.tool)
    }));
    happened
}

#[test]
fn every_worked_example_happens_as_the_guide_says() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/guide/containment.md");
    let page = std::fs::read_to_string(page).expect(page);
    let sections: Vec<&str> = page.split("\n## Example: ").skip(1).collect();
    assert_eq!(sections.len(), 5);
    for section in sections {
        let name = section.lines().next().unwrap_or_default();
        assert_eq!(play(section), blocks(section, "text")[0].lines().collect::<Vec<_>>(), "{name}");
    }
}
