//! How a request is written: messages that alternate, and marks behind what the next request begins with.
//!
//! Four marks are taken; three are set: behind tools and instructions, behind the earlier turns of the thread, and
//! behind the last message of a conversation.

use serde_json::{Map, Value, json};

use super::payload::split_payload;
use crate::door::{Asked, NO_WORDS, StructuredOutput, parse_repair, render_system, split_reply};
use planwright::contract::ToolContract;
use planwright::prompt::{Call, Message, ModelRequest};
use planwright::spec::RequestFrame;

/// Most tokens of a reply where the role does not say: the protocol wants a number.
const MAX_TOKENS: u32 = 8_192;

/// Writes a request. A role's form is a tool that must be called; a model that thinks cannot be made to call one, so it
/// is told the form in words.
pub(super) fn render_request(
    request: &ModelRequest,
    Asked { model, dialect, streams, extra }: Asked<'_>,
) -> Vec<(&'static str, Option<Value>)> {
    let frame = &*request.frame;
    let messages = Messages::of(request, dialect.sealed_reasoning);
    let thinking = extra.get("thinking").filter(|thinking| thinking["type"] != "disabled");
    let schema = frame.schema.as_ref().filter(|_| !frame.native_calls);
    let is_set = dialect.output == StructuredOutput::JsonSchema && thinking.is_none();
    let form = schema.filter(|schema| is_set && schema["type"] == "object");
    let mut system =
        json!([{"type": "text", "text": render_system(frame, schema.filter(|_| form.is_none()))}]);
    mark(&mut system[0]);
    let role = frame.role.to_string();
    let (tools, choice) = match form {
        Some(schema) => {
            let description = "Takes the reply.";
            let tool = json!({"name": role, "description": description, "input_schema": schema});
            (Some(json!([tool])), Some(json!({"type": "tool", "name": role})))
        }
        None if frame.native_calls && !frame.tools.is_empty() => {
            (Some(frame.tools.iter().map(render_tool).collect()), Some(json!({"type": "auto"})))
        }
        None => (None, None),
    };
    let budget = thinking.and_then(|thinking| thinking["budget_tokens"].as_u64()).unwrap_or_default();
    let temperature = frame.temperature.filter(|_| dialect.sends_temperature && thinking.is_none());
    // A turn whose calls come without the thoughts before them is refused where the model is to think.
    let rests = thinking.is_some() && messages.lacks_thoughts;
    vec![
        ("model", Some(json!(model))),
        ("max_tokens", Some(json!(u64::from(frame.max_tokens.unwrap_or(MAX_TOKENS)) + budget))),
        ("tools", tools),
        ("tool_choice", choice),
        ("system", (!frame.system.is_empty() || form.is_none() && schema.is_some()).then_some(system)),
        ("messages", Some(messages.list.into())),
        ("temperature", temperature.map(Value::from)),
        ("thinking", rests.then(|| json!({"type": "disabled"}))),
        ("stream", Some(json!(streams))),
    ]
}

/// Marks the end of what the server is to keep.
fn mark(block: &mut Value) {
    block["cache_control"] = json!({"type": "ephemeral"});
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn render_tool(contract: &ToolContract) -> Value {
    let (name, description) = (contract.name.as_str(), contract.description.trim());
    json!({"name": name, "description": description, "input_schema": contract.parameters()})
}

/// Messages whose roles alternate: what one side says in a row is one message.
#[derive(Default)]
struct Messages {
    list: Vec<Value>,
    /// Whether signed thoughts go back.
    takes_thoughts: bool,
    /// Whether the last turn of the assistant has calls and no thoughts.
    lacks_thoughts: bool,
}

impl Messages {
    fn of(request: &ModelRequest, takes_thoughts: bool) -> Self {
        let mut messages = Messages { takes_thoughts, ..Messages::default() };
        let mut pieces = split_payload(&request.payload).into_iter().map(text).collect::<Vec<_>>();
        // The last two pieces end the lists and hold the question: they are this turn's.
        if let Some(last_kept) = pieces.len().checked_sub(3) {
            mark(&mut pieces[last_kept]);
        }
        pieces.into_iter().for_each(|piece| messages.push("user", piece));
        request.conversation.iter().for_each(|message| messages.add(message, &request.frame));
        // The next request of a planner that goes on begins with all of this one.
        if request.frame.native_calls || !request.conversation.is_empty() {
            let last = messages.list.last_mut().and_then(|last| last["content"].as_array_mut()?.last_mut());
            last.into_iter().for_each(mark);
        }
        messages
    }

    fn push(&mut self, role: &str, block: Value) {
        let last = self.list.last_mut().filter(|last| last["role"] == role);
        match last.and_then(|last| last["content"].as_array_mut()) {
            Some(blocks) => blocks.push(block),
            None => self.list.push(json!({"role": role, "content": [block]})),
        }
    }

    /// Adds what the assistant said. Empty texts are refused.
    fn say(&mut self, reasoning: &[Value], words: &str, calls: &[Call]) {
        let is_ours = |block: &&Value| block["type"] == "thinking" || block["type"] == "redacted_thinking";
        let thoughts: Vec<&Value> =
            reasoning.iter().filter(|block| self.takes_thoughts && is_ours(block)).collect();
        self.lacks_thoughts = thoughts.is_empty() && !calls.is_empty();
        thoughts.into_iter().for_each(|block| self.push("assistant", block.clone()));
        if !words.trim().is_empty() {
            self.push("assistant", text(words));
        }
        for Call { id, name, arguments } in calls {
            let input = if arguments.is_object() { arguments.clone() } else { Value::Object(Map::new()) };
            self.push("assistant", json!({"type": "tool_use", "id": id, "name": name, "input": input}));
        }
    }

    fn answer(&mut self, id: &str, content: &str, is_error: bool) {
        let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
        if is_error {
            block["is_error"] = json!(true);
        }
        self.push("user", block);
    }

    fn add(&mut self, message: &Message, frame: &RequestFrame) {
        match message {
            Message::Assistant { text, calls, reasoning } => self.say(reasoning, text, calls),
            Message::Tool { id, content, .. } => self.answer(id, content, false),
            Message::User { content } => match parse_repair(content) {
                None => self.push("user", text(content)),
                Some((reply, problem)) => {
                    let (words, calls) =
                        if frame.native_calls { split_reply(&reply) } else { (&*reply, Vec::new()) };
                    let nothing = words.trim().is_empty() && calls.is_empty();
                    self.say(&[], if nothing { NO_WORDS } else { words }, &calls);
                    calls.iter().for_each(|call| self.answer(&call.id, &problem, true));
                    if calls.is_empty() {
                        self.push("user", text(&problem));
                    }
                }
            },
        }
    }
}
