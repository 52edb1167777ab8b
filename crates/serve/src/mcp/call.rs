//! A call of a tool: what it does to a thread, and what came of it.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::caller::Caller;
use crate::chat::{HitlRequest, ask, give_answer};
use crate::feed::Begin;
use crate::input::parse;
use crate::mcp::question::{Question, answers_to};
use crate::problem::{Kind, Problem, Result};
use crate::reply::ChatReply;
use crate::service::{Service, Under};
use crate::threads::ResolveRequest;
use planwright::driver::CancelToken;
use planwright::journal::ThreadId;
use planwright_app::StoredThread;

type Work = Box<dyn FnOnce(&Service, &StoredThread, &Under<'_>) -> Result<ChatReply> + Send>;

/// What a call does to a thread.
pub(super) struct Deed {
    pub thread: ThreadId,
    pub begin: Begin,
    pub work: Work,
}

/// What asks an agent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskArguments {
    question: String,
    #[serde(default)]
    thread_id: Option<String>,
}

impl Deed {
    /// Asks an agent.
    pub fn ask(service: &Service, caller: &Caller, agent: String, arguments: JsonObject) -> Result<Self> {
        let AskArguments { question, thread_id } = parse(json!(arguments).to_string().as_bytes())?;
        if question.trim().is_empty() {
            return Err(Problem::new(Kind::Input, "$.question: expected a question, found nothing"));
        }
        service.check_length("$.question", &question)?;
        let thread = match &thread_id {
            Some(name) => caller.thread("$.thread_id", name)?,
            None => caller.new_thread()?,
        };
        let work: Work = Box::new(move |service, stored, under| {
            ask(service, stored, under, None, Some(&agent), question.trim(), Vec::new())
        });
        Ok(Deed { thread, begin: Begin::NextTurn, work })
    }

    /// Answers what a thread waits for. Fields that are `null` or `false` say nothing.
    pub fn answer(service: &Service, caller: &Caller, mut arguments: JsonObject) -> Result<Self> {
        caller.check_may_answer()?;
        arguments.retain(|_, value| !matches!(value, Value::Null | Value::Bool(false)));
        let named = arguments.get("thread_id").and_then(Value::as_str);
        let named =
            named.ok_or_else(|| Problem::new(Kind::Input, "$.thread_id: expected the name of a thread"))?;
        let thread = caller.thread("$.thread_id", named)?;
        let resumes = arguments.remove("resume").is_some();
        let resolves =
            ["happened", "did_not_happen", "stop"].iter().any(|field| arguments.contains_key(*field));
        let says = arguments.keys().any(|field| !["thread_id", "token"].contains(&&**field));
        let work: Work = if resumes && !says {
            Box::new(|service, stored, under| {
                ChatReply::of(stored, service.go_on(stored, under, |handle, agent| handle.resume(agent))?)
            })
        } else if resolves {
            arguments.remove("thread_id");
            let request: ResolveRequest = parse(json!(arguments).to_string().as_bytes())?;
            let (token, resolution) = request.resolution()?;
            Box::new(move |service, stored, under| {
                let go = service
                    .go_on(stored, under, |handle, agent| handle.token(token).resolve(agent, resolution));
                ChatReply::of(stored, go?)
            })
        } else {
            let mut request: HitlRequest = parse(json!(arguments).to_string().as_bytes())?;
            let answer = request.answer(service)?;
            Box::new(move |service, stored, under| give_answer(service, stored, under, None, request, answer))
        };
        Ok(Deed { thread, begin: Begin::Here, work })
    }

    /// Has what stops the call stop the run.
    pub fn stopped_by(self, stop: &Arc<Stop>) -> Self {
        let (stop, work) = (Arc::clone(stop), self.work);
        let work: Work = Box::new(move |service, stored, under| {
            stop.hold(under.cancel_token());
            work(service, stored, under)
        });
        Deed { work, ..self }
    }
}

/// What ends a call whose client wants it no more, whether it stands in line, runs or asks.
#[derive(Default)]
pub(super) struct Stop {
    is_said: watch::Sender<bool>,
    run: Mutex<Option<CancelToken>>,
}

impl Stop {
    /// Ends the run that the call is at as `CANCELLED`, and begins none.
    pub fn say(&self) {
        self.is_said.send_replace(true);
        self.run().iter().for_each(CancelToken::cancel);
    }

    fn hold(&self, token: CancelToken) {
        *self.run() = Some(token);
        // It may have been said before.
        if *self.is_said.borrow() {
            self.say();
        }
    }

    fn run(&self) -> std::sync::MutexGuard<'_, Option<CancelToken>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is said.
    pub async fn said(&self) {
        let _ = self.is_said.subscribe().wait_for(|said| *said).await;
    }
}

/// Where a turn stands, as a client is told.
pub(super) struct Outcome {
    reply: Value,
    text: String,
    has_failed: bool,
    /// What a person is asked.
    pub question: Option<Question>,
}

impl Outcome {
    /// Loads a turn of a thread, from 1; the last for 0.
    pub fn load(service: &Service, caller: &Caller, thread: ThreadId, turn: u32) -> Result<Self> {
        let stored = service.known_thread(thread)?;
        let turn = service.turn(&stored, turn)?;
        let sources =
            stored.fold(Some(turn.turn)).map(|folded| json!(folded.state.sources())).unwrap_or_default();
        let (open, status) = (turn.open.clone(), turn.status);
        let answers = match &open {
            Some(open) => answers_to(open),
            None if status == "unfinished" => &["resume"],
            None => &[],
        };
        let mut reply = json!(ChatReply::of(&stored, turn)?);
        (reply["answers"], reply["sources"]) =
            (json!(answers), if sources.is_null() { json!([]) } else { sources });
        reply.as_object_mut().into_iter().for_each(|reply| drop(reply.remove("messages")));
        let reply = caller.tell(reply);
        let shown = reply["thread_id"].as_str().unwrap_or_default();
        let question = open.filter(|open| !open.expired).map(|open| Question::of(&open, shown));
        let said =
            ["result", "error", "status"].iter().find_map(|field| reply[field].as_str()).unwrap_or_default();
        let text = question.as_ref().map_or_else(|| said.to_owned(), |question| question.text(answers));
        Ok(Outcome { text, has_failed: status == "failed", question, reply })
    }
}

impl From<Outcome> for CallToolResult {
    fn from(Outcome { reply, text, has_failed, .. }: Outcome) -> Self {
        let thread = format!("thread_id: {}", reply["thread_id"].as_str().unwrap_or_default());
        let content = vec![ContentBlock::text(text), ContentBlock::text(thread)];
        let mut result =
            if has_failed { CallToolResult::error(content) } else { CallToolResult::success(content) };
        result.structured_content = Some(reply);
        result
    }
}
