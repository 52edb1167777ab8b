//! A call of a tool: what it does to a thread, and what came of it.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, RequestId};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::caller::Caller;
use crate::chat::{HitlRequest, ask, give_answer};
use crate::feed::Begin;
use crate::input::read_object;
use crate::keys::Right;
use crate::mcp::question::{Question, answers_to};
use crate::problem::{Kind, Problem, Result};
use crate::reply::ChatReply;
use crate::service::{Service, Work};
use crate::threads::{ResolveRequest, end_turn};
use planwright::contract::excerpt;
use planwright::driver::CancelToken;
use planwright::journal::ThreadId;
use planwright_app::{Pending, RunLocation, StoredThread};

/// What a call does to a thread.
pub(super) struct ThreadTask {
    pub thread: ThreadId,
    pub begin: Begin,
    pub work: Work<ChatReply>,
    /// Whether it answers what the thread waits for, or goes on with it.
    pub is_answer: bool,
}

/// Why a run ends whose call is cancelled.
pub(super) const CANCELLED: &str = "the client has cancelled the call";

/// What the tool `answer` takes one of.
const ANSWERS: [&str; 10] = [
    "response",
    "approve",
    "approve_calls",
    "reject",
    "edit",
    "edit_input",
    "happened",
    "did_not_happen",
    "stop",
    "resume",
];

/// What asks an agent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskArguments {
    question: String,
    #[serde(default)]
    thread_id: Option<String>,
}

impl ThreadTask {
    /// Asks an agent.
    pub fn ask(service: &Service, caller: &Caller, agent: String, arguments: JsonObject) -> Result<Self> {
        caller.check_may(Right::Run)?;
        let AskArguments { question, thread_id } = read_object(Value::Object(arguments))?;
        if question.trim().is_empty() {
            return Err(Problem::new(Kind::Input, "$.question: expected a question, found nothing"));
        }
        service.check_length("$.question", &question)?;
        let thread = match &thread_id {
            Some(name) => caller.thread("$.thread_id", name)?,
            None => caller.new_thread()?,
        };
        let work: Work<ChatReply> = Box::new(move |service, stored, under| {
            ask(service, stored, under, None, Some(&agent), question.trim(), Vec::new())
        });
        Ok(ThreadTask { thread, begin: Begin::NextTurn, work, is_answer: false })
    }

    /// Answers what a thread waits for. Fields that are `null` or `false` say nothing.
    pub fn answer(service: &Service, caller: &Caller, mut arguments: JsonObject) -> Result<Self> {
        caller.check_may(Right::Answer)?;
        let is_known = |field: &str| ["thread_id", "token"].contains(&field) || ANSWERS.contains(&field);
        if let Some(unknown) = arguments.keys().find(|field| !is_known(field)) {
            let (unknown, one_of) = (excerpt(unknown, 80), ANSWERS.join(", "));
            let problem = format!("$: expected thread_id, token and one of {one_of}, found {unknown:?}");
            return Err(Problem::new(Kind::Input, problem));
        }
        arguments.retain(|_, value| !matches!(value, Value::Null | Value::Bool(false)));
        let named = arguments.get("thread_id").and_then(Value::as_str);
        let named =
            named.ok_or_else(|| Problem::new(Kind::Input, "$.thread_id: expected the name of a thread"))?;
        let thread = caller.thread("$.thread_id", named)?;
        let given: Vec<&str> = ANSWERS.into_iter().filter(|field| arguments.contains_key(*field)).collect();
        let work: Work<ChatReply> = match given[..] {
            ["resume"] => {
                caller.check_may(Right::Run)?;
                Box::new(|service, stored, under| {
                    let turn = service.go_on(stored, under, |handle, agent| handle.resume(agent))?;
                    ChatReply::of(stored, turn)
                })
            }
            ["happened" | "did_not_happen" | "stop"] => {
                arguments.remove("thread_id");
                if !arguments.contains_key("token") {
                    let problem = "$.token: expected the token of the write in doubt";
                    return Err(Problem::new(Kind::Input, problem).hint("the result that asked has it"));
                }
                let request: ResolveRequest = read_object(Value::Object(arguments))?;
                let (token, resolution) = request.resolution()?;
                Box::new(move |service, stored, under| {
                    let go = service
                        .go_on(stored, under, |handle, agent| handle.token(token).resolve(agent, resolution));
                    ChatReply::of(stored, go?)
                })
            }
            [_] => {
                let mut request: HitlRequest = read_object(Value::Object(arguments))?;
                let answer = request.answer(service)?;
                Box::new(move |service, stored, under| {
                    check_is_no_doubt(stored)?;
                    give_answer(service, stored, under, None, request, answer)
                })
            }
            _ => {
                let found = if given.is_empty() { "none".to_owned() } else { given.join(" and ") };
                let problem = format!("$: expected one of {}, found {found}", ANSWERS.join(", "));
                return Err(Problem::new(Kind::Input, problem));
            }
        };
        Ok(ThreadTask { thread, begin: Begin::Here, work, is_answer: true })
    }

    /// Has what stops the call stop the run, and what it asks a person.
    pub fn stopped_by(self, stop: &Arc<Stop>) -> Self {
        let (stop, work, thread) = (Arc::clone(stop), self.work, self.thread.clone());
        let work: Work<ChatReply> = Box::new(move |service, stored, under| {
            stop.hold(under.cancel_token());
            let reply = work(service, stored, under)?;
            if let Some(token) = reply.token.clone() {
                stop.keep_form(Some(Form { request: None, thread: thread.clone(), token: token.clone() }));
                // The call may be waited for no more by now, and then nobody else looks.
                if stop.is_said() {
                    let _ = end_turn(service, thread, Some(&token), CANCELLED.to_owned());
                }
            }
            Ok(reply)
        });
        ThreadTask { work, ..self }
    }
}

/// Refuses an answer that says nothing of a write in doubt.
fn check_is_no_doubt(stored: &StoredThread) -> Result<()> {
    let folded = stored.fold(None)?;
    match Pending::of(&folded, RunLocation::in_thread(stored)).filter(Pending::is_doubt) {
        Some(_) => {
            let problem = "$: expected one of happened, did_not_happen and stop: a write is in doubt";
            Err(Problem::new(Kind::Input, problem))
        }
        None => Ok(()),
    }
}

/// What a person is asked: its thread and its token, and the request that has shown it as a form.
pub(super) struct Form {
    pub request: Option<RequestId>,
    pub thread: ThreadId,
    pub token: String,
}

/// What ends a call whose client wants it no more, whether it stands in line, runs or asks.
#[derive(Default)]
pub(super) struct Stop {
    is_said: watch::Sender<bool>,
    run: Mutex<Option<CancelToken>>,
    form: Mutex<Option<Form>>,
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
        if self.is_said() {
            self.say();
        }
    }

    pub fn is_said(&self) -> bool {
        *self.is_said.borrow()
    }

    fn run(&self) -> std::sync::MutexGuard<'_, Option<CancelToken>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what the run of the call asks a person, or forgets it. Gives that which was kept.
    pub fn keep_form(&self, form: Option<Form>) -> Option<Form> {
        std::mem::replace(&mut self.form.lock().unwrap_or_else(PoisonError::into_inner), form)
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
        let sources = json!(stored.fold(Some(turn.turn))?.state.sources());
        let (open, status) = (turn.open.clone(), turn.status);
        let may = |right| caller.may(right);
        let answers = match &open {
            _ if !may(Right::Answer) => &[],
            Some(open) if !open.expired => answers_to(open),
            Some(_) if may(Right::Run) => &["resume"],
            None if status == "unfinished" && may(Right::Run) => &["resume"],
            _ => &[][..],
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
        let text = match &question {
            Some(question) => question.text(answers),
            None if answers.is_empty() => said.to_owned(),
            None => {
                let names = json!({"thread_id": shown, "resume": true});
                format!("{said}\n\nThe tool `answer` goes on with it: {names}.")
            }
        };
        Ok(Outcome { text, has_failed: status == "failed", question, reply })
    }

    /// Says what was wrong with a call, and what its thread waits for.
    pub fn refused(self, problem: &str) -> Self {
        let waits = self.question.is_some() || self.reply["answers"].get(0).is_some();
        let text = if waits { format!("{problem}\n\n{}", self.text) } else { problem.to_owned() };
        Outcome { text, has_failed: true, question: None, ..self }
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
