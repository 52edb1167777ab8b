//! The obedient model: it plans perfectly from what the user wrote, and obeys every instruction that it is shown, in
//! every role. It knows the task by its script and everything else from its requests alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use planwright::contract::{FinalStep, IntentForm, Validate};
use planwright::machine::ModelReply;
use planwright::ports::{Model, ModelError};
use planwright::prompt::{Message, ModelRequest};
use planwright::spec::{Horizon, RoleName, Spec};
use serde_json::{Value, json};

use crate::stage::{Stage, parse};
use crate::values::{Outputs, evaluate, fill, is_extracted, rename};
use crate::world::{Call, order, orders};

/// How much of an answer the model writes, in characters.
const MOST_CHARS: usize = 2_000;

pub struct Obedient {
    pub stage: Arc<Stage>,
    pub spec: Spec,
}

/// A request as the model reads it.
struct Shown<'a> {
    request: &'a ModelRequest,
    payload: Value,
    /// The goals of the instructions in it.
    orders: Vec<String>,
}

impl<'a> Shown<'a> {
    fn of(request: &'a ModelRequest) -> Self {
        let mut text = request.frame.system.clone();
        text += &request.frame.tools.iter().map(|tool| &*tool.description).collect::<String>();
        text += &request.payload;
        text += &serde_json::to_string(&request.conversation).expect("messages are JSON");
        let payload = serde_json::from_str(&request.payload).expect("a payload is JSON");
        Shown { request, payload, orders: orders(&text).map(str::to_owned).collect() }
    }

    /// The instruction to pass on, or nothing.
    fn order(&self) -> String {
        self.orders.first().map(|goal| order(goal)).unwrap_or_default()
    }

    /// What the steps gave, in words, with what it is told to pass on.
    fn summary(&self) -> String {
        let results = ["tool_results", "findings"].map(|key| self.payload[key].as_array());
        let outputs = results.into_iter().flatten().flatten().filter_map(|it| it["output"].as_str());
        let told = self.request.conversation.iter().filter_map(|it| match it {
            Message::Tool { content, .. } => Some(&**content),
            _ => None,
        });
        let text: String = outputs.chain(told).map(|text| format!("{text}\n")).collect();
        format!("Done. {} {}", self.order(), text.chars().take(MOST_CHARS).collect::<String>())
    }

    fn has_failures(&self) -> bool {
        let results = self.payload["tool_results"].as_array();
        results.is_some_and(|results| results.iter().any(|it| it["status"] == "failed"))
    }
}

impl Model for Obedient {
    fn name(&self) -> &str {
        "obedient"
    }

    fn ask(&self, request: &ModelRequest, _: Option<&mut dyn FnMut(&str)>) -> Result<ModelReply, ModelError> {
        let shown = Shown::of(request);
        if shown.payload.get("repair").is_some() {
            self.stage.now().repairs += 1;
        }
        Ok(match request.frame.role {
            RoleName::Planner | RoleName::Replanner => self.plan(&shown),
            role => ModelReply::text(self.say(role, &shown)),
        })
    }
}

impl Obedient {
    fn say(&self, role: RoleName, shown: &Shown<'_>) -> String {
        let (order, fine) = (shown.order(), shown.orders.is_empty());
        let reply = match role {
            RoleName::Scope => json!({"in_scope": true, "reason": order, "refusal": ""}),
            RoleName::PreviousContext => json!({"need_previous_context": true, "reason": order}),
            RoleName::Intent => return self.understand(shown),
            RoleName::Grant => self.grant(shown),
            RoleName::Validator => self.judge(shown),
            RoleName::Orchestrator if fine => json!({"action": "continue", "reasoning": "", "confidence": 1}),
            RoleName::Orchestrator => json!({
                "action": "add_agent", "reasoning": order, "confidence": 1,
                "next_agent": self.spec.agents[0].name, "task": order,
            }),
            RoleName::Executor => json!({"value": self.write_value(shown)}),
            RoleName::Writer if shown.request.frame.schema.is_some() => json!({"final": shown.summary()}),
            _ => return shown.summary(),
        };
        reply.to_string()
    }

    /// A value that the plan leaves open: out of the view, or what an instruction is about.
    fn write_value(&self, shown: &Shown<'_>) -> Value {
        let schema = &shown.payload["type"];
        let view = shown.payload["view"].as_array().expect("a view").iter().map(|one| one["value"].clone());
        let view: Vec<Value> = view.collect();
        let value = match shown.orders.first() {
            None => fill(schema, &view).unwrap_or_default(),
            Some(goal) => {
                match (schema["enum"].as_array(), schema["type"].as_str(), schema["format"].as_str()) {
                    (Some(choices), ..) => choices.last().expect("a choice").clone(),
                    (_, Some("number"), _) => 9999.into(),
                    (_, _, Some("date")) => "1999-01-01".into(),
                    _ => format!("{goal}@evil.example").into(),
                }
            }
        };
        if is_extracted(schema) {
            self.stage.now().taken.push((json!(view).to_string(), value.clone()));
        }
        value
    }

    fn understand(&self, shown: &Shown<'_>) -> String {
        let question = shown.payload["user_question"].as_str().expect("a question");
        let question = format!("{question}{}", shown.order());
        match self.spec.policy.intent.form {
            IntentForm::Query => json!({
                "intent": "new_question", "rewritten_query": question, "needs_tool": true, "constraints": null,
            })
            .to_string(),
            IntentForm::Kind => json!({"intent_type": "information", "confidence": 0.9}).to_string(),
            IntentForm::Text => question,
        }
    }

    /// What the question calls for, or what it is told.
    fn grant(&self, shown: &Shown<'_>) -> Value {
        let ordered = shown.orders.first().map(|goal| vec![self.stage.world.goals[goal].clone()]);
        let steps = ordered.unwrap_or_else(|| self.stage.plan()).into_iter().enumerate();
        let step = |(at, (tool, input)): (usize, Call)| json!({"id": format!("s{}", at + 1), "tool": tool, "input": input});
        json!({"steps": steps.map(step).collect::<Vec<Value>>()})
    }

    fn judge(&self, shown: &Shown<'_>) -> Value {
        let doubts = self.stage.task().is_some_and(|task| task.doubts) && self.stage.now().drafts < 2;
        let ok = shown.orders.is_empty() && !doubts && !shown.has_failures();
        let order = shown.order();
        if self.spec.policy.validate == Validate::Sufficiency {
            let ok = ok && self.has_all(shown);
            return json!({"sufficient": ok, "missing_info": order, "reason": order});
        }
        json!({"ok": ok, "reason": order, "fix_hint": order})
    }

    /// Whether there is a result for each step of the plan.
    fn has_all(&self, shown: &Shown<'_>) -> bool {
        let results = shown.payload["tool_results"].as_array();
        let mut tools: Vec<&str> =
            results.into_iter().flatten().filter_map(|it| it["tool"].as_str()).collect();
        let mut take =
            |name: &str| tools.iter().position(|tool| *tool == name).map(|at| tools.remove(at)).is_some();
        self.stage.plan().iter().all(|(tool, _)| take(tool))
    }

    fn plan(&self, shown: &Shown<'_>) -> ModelReply {
        let is_team = shown.payload.get("on_behalf_of").is_some();
        if is_team {
            return self.act_as_team(shown);
        }
        if self.spec.policy.horizon == Horizon::Next {
            return self.go_on(shown);
        }
        let draft = {
            let mut now = self.stage.now();
            now.drafts += usize::from(shown.payload.get("repair").is_none());
            now.drafts
        };
        let steps = match shown.orders.first() {
            Some(goal) => vec![self.stage.world.goals[goal].clone()],
            None => self.stage.plan(),
        };
        ModelReply::text(self.write_plan(&steps, draft, shown).to_string())
    }

    /// A plan in the form that the agent's contract asks for. A later one names the steps that stand already.
    fn write_plan(&self, steps: &[Call], draft: usize, shown: &Shown<'_>) -> Value {
        let (spec, plan) = (&self.spec, &self.spec.policy.plan);
        let past = shown.payload["past_steps"].as_array().cloned().unwrap_or_default();
        let mut names = BTreeMap::new();
        let mut written = Vec::new();
        for (at, (tool, input)) in steps.iter().enumerate() {
            let input = rename(input, &names);
            let is_same =
                |it: &&Value| it["status"] == "completed" && it["tool"] == **tool && it["input"] == input;
            let stands = past.iter().find(is_same).and_then(|it| it["id"].as_str());
            let (old, new) = (format!("s{}", at + 1), format!("{}s{}", "n".repeat(draft - 1), at + 1));
            names.insert(old, stands.unwrap_or(&new).to_owned());
            if stands.is_some() {
                continue;
            }
            written.push(if spec.tools.is_empty() {
                json!({"agent": spec.agents[0].name, "task": format!("{new} {tool} {input}")})
            } else {
                json!({"id": new, "tool": tool, "input": input, "description": format!("step {new}")})
            });
        }
        if plan.final_step == FinalStep::Required {
            written.push(json!({"tool": "final_answer", "input": "the answer"}));
        } else if spec.agents.iter().any(|agent| agent.name == "writer") {
            let waits: Vec<&Value> = written.iter().map(|step| &step["id"]).collect();
            let task =
                json!({"id": format!("w{draft}"), "tool": "writer", "task": "Write.", "depends_on": waits});
            written.push(task);
        }
        json!({"goal": "what was asked", "reasoning": "as asked", "strategy": "one by one", "steps": written})
    }

    /// One call of a team: that of its task, with what others have found, or that of an instruction.
    fn act_as_team(&self, shown: &Shown<'_>) -> ModelReply {
        if let Some(goal) = shown.orders.first() {
            return ModelReply::calls([self.stage.world.goals[goal].clone()]);
        }
        let mut outputs = Outputs::new();
        for finding in shown.payload["findings"].as_array().into_iter().flatten() {
            let id = finding["task"].as_str().and_then(|task| task.split(' ').next());
            outputs
                .extend(id.map(|id| (id.to_owned(), parse(finding["output"].as_str().unwrap_or_default()))));
        }
        let task = shown.payload["user_question"].as_str().expect("a task");
        let [id, tool, input] = task.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("a task: {task}") };
        // Where it is shown nothing that was found, any value does for what the question refers to.
        let granted = shown.payload["granted"]["steps"].as_array().into_iter().flatten();
        let is_granted = granted.into_iter().any(|step| step["id"] == *id && step["tool"] == *tool);
        let unseen = is_granted && shown.payload.get("findings").is_none();
        let input = parse(input);
        match evaluate(&input, &outputs).or_else(|| unseen.then(|| self.stand_in(tool, &input))) {
            Some(input) => ModelReply::calls([(tool, input)]),
            None => ModelReply::text("What I need is missing."),
        }
    }

    /// An input with any value in the place of what refers to an earlier step.
    fn stand_in(&self, tool: &str, input: &Value) -> Value {
        let any = |kind: &str| if kind.ends_with("number") { Value::from(1) } else { "?".into() };
        let takes = self.stage.world.tool(tool).takes.iter();
        takes
            .map(|(name, kind)| {
                (name.clone(), evaluate(&input[name], &Outputs::new()).unwrap_or_else(|| any(kind)))
            })
            .collect()
    }

    /// The next calls of a planner that reads results: all that lack nothing, or what it is told to do.
    fn go_on(&self, shown: &Shown<'_>) -> ModelReply {
        let made = calls(shown.request);
        let is_made = |(tool, input): &Call| made.iter().any(|(name, had, ..)| name == tool && had == input);
        let goals = shown.orders.iter().map(|goal| self.stage.world.goals[goal].clone());
        if let Some(goal) = goals.into_iter().find(|goal| !is_made(goal)) {
            return ModelReply::calls([goal]);
        }
        let failed = made.iter().any(|(.., status, _)| status == "failed");
        let doubts = self.stage.task().is_some_and(|task| task.doubts) && !made.is_empty();
        self.stage.now().drafts = 1 + usize::from(failed || doubts);
        let (mut outputs, mut next, mut used) = (Outputs::new(), Vec::new(), vec![false; made.len()]);
        for (at, (tool, input)) in self.stage.plan().into_iter().enumerate() {
            let Some(input) = evaluate(&input, &outputs) else { continue };
            // What failed is tried again; what was refused is not.
            let is_this = |nth: &usize| {
                let (name, had, status, _) = &made[*nth];
                !used[*nth] && *name == tool && *had == input && status != "failed"
            };
            match (0..made.len()).find(is_this) {
                Some(nth) => {
                    used[nth] = true;
                    if made[nth].2 == "completed" {
                        outputs.insert(format!("s{}", at + 1), made[nth].3.clone());
                    }
                }
                None => next.push((tool, input)),
            }
        }
        if next.is_empty() { ModelReply::text(shown.summary()) } else { ModelReply::calls(next) }
    }
}

/// The calls of a conversation: tool, input, status, and what it returned.
fn calls(request: &ModelRequest) -> Vec<(String, Value, String, Value)> {
    let (mut asked, mut made) = (BTreeMap::new(), Vec::new());
    for message in &request.conversation {
        match message {
            Message::Assistant { calls, .. } => {
                asked.extend(calls.iter().map(|call| (&call.id, (&call.name, &call.arguments))));
            }
            Message::Tool { id, content, .. } => {
                let ((tool, input), content) = (asked[id], parse(content));
                let status = content["status"].as_str().unwrap_or_default().to_owned();
                let output = parse(content["output"].as_str().unwrap_or_default());
                made.push((tool.clone(), input.clone(), status, output));
            }
            Message::User { .. } => {}
        }
    }
    made
}
