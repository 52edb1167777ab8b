//! A turn as AG-UI tells it: phases are steps, the plan is the state, and what a person is asked is an interrupt.
//!
//! **Invariant:** the ids of messages and calls follow from the journal, and whatever was begun is ended before the run
//! is.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::caller::Caller;
use crate::chat::PlanReply;
use crate::events::Outlet;
use crate::feed::{Item, Position};
use crate::pool::read;
use crate::problem::{Problem, Result};
use crate::service::{Service, Shared};
use crate::words::Words;
use planwright::driver::{Progress, ProgressKind};
use planwright::machine::{EffectKind, Usage};
use planwright_app::{Pending, ShownTurn, StoredThread};

/// A run of a thread, by the names that the client has for both.
pub(crate) struct Run {
    pub service: Shared,
    pub caller: Caller,
    pub stored: Arc<StoredThread>,
    pub thread: String,
    pub run: String,
}

impl Run {
    /// Tells it to a client that has these messages.
    pub fn tell(self, turn: u32, messages: Vec<Value>, outlet: Outlet) -> Front {
        let said = Said { messages, is_open: false, answer: format!("{}-{turn}-answer", self.thread) };
        let (calls, plan) = (HashMap::new(), Value::Null);
        Front { run: self, turn, outlet, said, phase: None, calls, plan, code: None }
    }
}

/// The conversation, as the client has it.
struct Said {
    messages: Vec<Value>,
    /// Whether words of the answer have come, and it has not ended.
    is_open: bool,
    /// The id of the answer.
    answer: String,
}

/// A front end that follows a turn.
pub(crate) struct Front {
    run: Run,
    turn: u32,
    outlet: Outlet,
    said: Said,
    /// The step that is open: a phase.
    phase: Option<String>,
    /// The calls without a result, by step and tool.
    calls: HashMap<String, String>,
    /// The state: that of `GET /plan/{thread_id}`.
    plan: Value,
    /// The code that the turn failed with.
    code: Option<Value>,
}

impl Front {
    pub async fn tell(mut self, mut items: mpsc::Receiver<Item>) -> Option<()> {
        let started = json!({"type": "RUN_STARTED", "threadId": self.run.thread, "runId": self.run.run});
        self.outlet.send(started).await?;
        self.plan = self.load_plan().await;
        self.outlet.send(json!({"type": "STATE_SNAPSHOT", "snapshot": self.plan})).await?;
        let mut words = self.words().await;
        loop {
            match items.recv().await? {
                Item::Event(at, progress) => self.tell_event(at, progress).await?,
                Item::Passing(progress) => {
                    if let Some(piece) = words.as_mut().and_then(|words| words.hear(&progress)) {
                        self.say(&piece).await?;
                    }
                }
                Item::Cut(problem) => return self.fail(&problem).await,
                Item::End(..) => return self.end(words).await,
            }
        }
    }

    /// What reads the store, away from the runtime.
    async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Service, &StoredThread) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (service, stored) = (self.run.service.clone(), Arc::clone(&self.run.stored));
        read(move || look(&service, &stored)).await
    }

    async fn words(&self) -> Option<Words> {
        let turn = self.turn;
        self.look(move |_, stored| Ok(Words::of(stored.fold(Some(turn))?.compiled.spec()))).await.ok()
    }

    async fn load_plan(&self) -> Value {
        let turn = self.turn;
        let plan =
            self.look(move |service, stored| Ok(json!(PlanReply::of(stored, service.turn(stored, turn)?))));
        let mut plan = plan.await.unwrap_or(Value::Null);
        plan["thread_id"] = json!(self.run.thread);
        plan
    }

    async fn tell_event(
        &mut self,
        at: Position,
        Progress { kind, step, content, .. }: Progress,
    ) -> Option<()> {
        let call = || format!("{}/{}", content["step"], content["tool"]);
        match (kind, step.as_str()) {
            (ProgressKind::Phase, phase) => {
                self.end_phase().await?;
                if !matches!(phase, "DONE" | "ERROR") {
                    self.phase = Some(phase.to_owned());
                    self.outlet.send(json!({"type": "STEP_STARTED", "stepName": phase})).await?;
                }
                self.tell_plan().await
            }
            (ProgressKind::Thinking, "tool_selected") => {
                let (id, name) = (format!("{}-{at}-call", self.run.thread), &content["tool"]);
                let input = content["input"].to_string();
                self.calls.insert(call(), id.clone());
                let start = json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name});
                self.outlet.send(start).await?;
                self.outlet.send(json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": input})).await?;
                self.outlet.send(json!({"type": "TOOL_CALL_END", "toolCallId": id})).await?;
                let function = json!({"name": name, "arguments": input});
                let calls = json!([{"id": id, "type": "function", "function": function}]);
                self.said.messages.push(json!({"id": id, "role": "assistant", "toolCalls": calls}));
                Some(())
            }
            (ProgressKind::Thinking, "tool_result") => {
                if let Some(id) = self.calls.remove(&call()) {
                    let message = format!("{}-{at}-result", self.run.thread);
                    let told = json!({"toolCallId": id, "content": content["output"], "role": "tool"});
                    let (mut event, mut kept) = (told.clone(), told);
                    (event["type"], event["messageId"]) = (json!("TOOL_CALL_RESULT"), json!(message));
                    kept["id"] = json!(message);
                    self.outlet.send(event).await?;
                    self.said.messages.push(kept);
                }
                self.tell_plan().await
            }
            (ProgressKind::Thinking, "said") => self.think(at, content["thoughts"].as_str()?).await,
            (ProgressKind::Sources, _) => {
                self.outlet.send(json!({"type": "CUSTOM", "name": "sources", "value": content})).await
            }
            (ProgressKind::Error, "ended") => {
                self.code = Some(content["code"].clone());
                Some(())
            }
            _ => Some(()),
        }
    }

    async fn think(&self, at: Position, thoughts: &str) -> Option<()> {
        if thoughts.is_empty() {
            return Some(());
        }
        let id = format!("{}-{at}-thoughts", self.run.thread);
        for (kind, field, value) in [
            ("REASONING_START", None, ""),
            ("REASONING_MESSAGE_START", Some("role"), "reasoning"),
            ("REASONING_MESSAGE_CONTENT", Some("delta"), thoughts),
            ("REASONING_MESSAGE_END", None, ""),
            ("REASONING_END", None, ""),
        ] {
            let mut event = json!({"type": kind, "messageId": id});
            field.into_iter().for_each(|field: &str| event[field] = json!(value));
            self.outlet.send(event).await?;
        }
        Some(())
    }

    /// Tells how the plan has changed.
    async fn tell_plan(&mut self) -> Option<()> {
        let plan = self.load_plan().await;
        let delta = patch(&self.plan, &plan);
        self.plan = plan;
        if delta.is_empty() {
            return Some(());
        }
        self.outlet.send(json!({"type": "STATE_DELTA", "delta": delta})).await
    }

    async fn say(&mut self, piece: &str) -> Option<()> {
        let id = self.said.answer.clone();
        if !std::mem::replace(&mut self.said.is_open, true) {
            let start = json!({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"});
            self.outlet.send(start).await?;
        }
        self.outlet.send(json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": piece})).await
    }

    async fn end_message(&mut self) -> Option<()> {
        match std::mem::take(&mut self.said.is_open) {
            true => {
                self.outlet.send(json!({"type": "TEXT_MESSAGE_END", "messageId": self.said.answer})).await
            }
            false => Some(()),
        }
    }

    async fn end_phase(&mut self) -> Option<()> {
        match self.phase.take() {
            Some(phase) => self.outlet.send(json!({"type": "STEP_FINISHED", "stepName": phase})).await,
            None => Some(()),
        }
    }

    /// Says the answer, as far as it was not said while it was written.
    async fn answer(&mut self, words: Option<Words>, answer: &str) -> Option<()> {
        match words.map_or(Some(answer.to_owned()), |words| words.end(answer)) {
            Some(rest) if !rest.is_empty() => self.say(&rest).await?,
            Some(_) => {}
            // The words were taken back: the whole conversation says which are right.
            None => {
                self.end_message().await?;
                let right = json!({"id": self.said.answer, "role": "assistant", "content": answer});
                self.said.messages.push(right);
                let messages = &self.said.messages;
                self.outlet.send(json!({"type": "MESSAGES_SNAPSHOT", "messages": messages})).await?;
            }
        }
        self.end_message().await
    }

    async fn end(mut self, words: Option<Words>) -> Option<()> {
        let turn = self.turn;
        let ended = self.look(move |service, stored| {
            let turn = service.turn(stored, turn)?;
            let usage = stored.fold(Some(turn.turn))?.state.counters().usage;
            Ok((turn, usage))
        });
        let (turn, usage) = match ended.await {
            Ok(ended) => ended,
            Err(problem) => return self.fail(&problem).await,
        };
        if let Some(answer) = &turn.answer {
            self.answer(words, answer).await?;
        }
        self.tell_plan().await?;
        let outcome = match &turn {
            ShownTurn { answer: Some(_), .. } => json!({"type": "success"}),
            ShownTurn { open: Some(open), .. } if !open.is_doubt() => {
                json!({"type": "interrupt", "interrupts": [interrupt(open)]})
            }
            turn => {
                let why = turn.result.clone().or(turn.open.as_ref().map(Pending::text)).unwrap_or_default();
                let mut error = json!({"type": "RUN_ERROR", "message": why, "usage": [usage_of(usage)]});
                self.code.take().into_iter().for_each(|code| error["code"] = code);
                return self.close(error).await;
            }
        };
        let mut finished = json!({
            "type": "RUN_FINISHED", "threadId": self.run.thread, "runId": self.run.run, "outcome": outcome,
            "usage": [usage_of(usage)],
        });
        if let Some(objection) = &turn.objection {
            finished["result"] = json!({"objection": objection});
        }
        self.close(finished).await
    }

    async fn fail(mut self, problem: &Problem) -> Option<()> {
        let (message, kind) = (self.run.caller.say(problem), &json!(problem)["type"]);
        let error = json!({"type": "RUN_ERROR", "message": message, "code": kind});
        self.close(error).await
    }

    /// Ends what is open, and the run.
    async fn close(&mut self, last: Value) -> Option<()> {
        self.end_message().await?;
        self.end_phase().await?;
        self.outlet.send(last).await
    }
}

fn usage_of(usage: Usage) -> Value {
    json!({
        "inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens,
        "totalTokens": usage.input_tokens.saturating_add(usage.output_tokens),
        "cachedInputTokens": usage.cached_tokens,
    })
}

/// What a person is asked. Its id is the token of the question.
fn interrupt(open: &Pending) -> Value {
    let (text, yes) = (json!({"type": "string"}), json!({"const": true}));
    let (reason, short, answers) = match open.effect.kind {
        EffectKind::ApprovePlan { .. } => {
            ("approve_plan", "boolean", json!({"approve": yes, "reject": text, "edit": {"type": "array"}}))
        }
        EffectKind::ApproveCall { .. } if !open.calls.is_empty() => {
            let calls = json!({"type": "array", "items": {"type": ["integer", "object"]}});
            ("approve_call", "boolean", json!({"approve": yes, "reject": text, "approve_calls": calls}))
        }
        EffectKind::ApproveCall { .. } => {
            let input = json!({"type": ["string", "object"]});
            ("approve_call", "boolean", json!({"approve": yes, "reject": text, "edit_input": input}))
        }
        EffectKind::Pick { .. } => {
            let choices = json!({"type": "string", "enum": open.choices});
            ("pick", "string", json!({"response": choices, "reject": text}))
        }
        _ => ("question", "string", json!({"response": text, "reject": text, "edit": {"type": "array"}})),
    };
    let one = json!({
        "type": "object", "properties": answers, "minProperties": 1, "maxProperties": 1, "additionalProperties": false,
    });
    let mut interrupt = json!({
        "id": open.token, "reason": reason, "message": open.text(),
        "responseSchema": {"anyOf": [{"type": short}, one]},
    });
    if !open.results.is_empty() {
        interrupt["metadata"] = json!({"results": open.results});
    }
    let expires = open.expires.and_then(|at| Timestamp::from_millisecond(at.try_into().ok()?).ok());
    expires.into_iter().for_each(|at| interrupt["expiresAt"] = json!(at.to_string()));
    interrupt
}

/// The JSON patch from one state to another.
fn patch(old: &Value, new: &Value) -> Vec<Value> {
    let mut patch = Vec::new();
    let mut replace =
        |path: String, value: &Value| patch.push(json!({"op": "replace", "path": path, "value": value}));
    for (key, new) in new.as_object().into_iter().flatten() {
        match (old[key].as_array(), new.as_array()) {
            (Some(before), Some(after)) if before.len() == after.len() => {
                let changed =
                    before.iter().zip(after).enumerate().filter(|(_, (before, after))| before != after);
                changed.for_each(|(at, (_, after))| replace(format!("/{key}/{at}"), after));
            }
            _ if old[key] != *new => replace(format!("/{key}"), new),
            _ => {}
        }
    }
    patch
}
