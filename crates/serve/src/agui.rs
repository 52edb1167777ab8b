//! The door of front ends that speak AG-UI: `POST /agui` takes a `RunAgentInput` and streams what happens in the turn.
//! What a person is asked ends the run with an interrupt, which the next run answers under `resume`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use crate::agui_run::Run;
use crate::caller::Caller;
use crate::chat::{HitlRequest, ask};
use crate::describe::Runs;
use crate::events::stream_told;
use crate::feed::{Begin, perform_followed};
use crate::input::{Body, Given};
use crate::keys::Right;
use crate::message::{Message, split};
use crate::pool::read;
use crate::problem::{Kind, Problem, Result};
use crate::reply::ChatReply;
use crate::service::{Service, Shared, Under, Work};
use planwright::driver::ThreadHandle;
use planwright::machine::HumanAnswer;
use planwright_app::StoredThread;
use planwright_app::shapes::{DataEvent, ThreadName};

/// Which agent is asked.
#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct AgUiParameters {
    /// The agent; the configured one where none is named.
    #[param(required = false)]
    agent: Option<String>,
}

/// A run of a thread. The other fields of the protocol (`state`, `tools`, `context`, `forwardedProps`) change nothing:
/// an agent has tools and prompts of its own.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunAgentInput {
    #[schema(value_type = ThreadName, example = "demo")]
    thread_id: String,
    /// What the client calls this run.
    #[schema(example = "run-1")]
    run_id: String,
    /// The conversation. The last message of the user is the question; those before it are the history of a thread
    /// that begins with it.
    messages: Vec<Message>,
    /// The answer to what the thread waits for.
    #[serde(default)]
    resume: Option<Vec<ResumeEntry>>,
}

/// An answer to an interrupt.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResumeEntry {
    /// The id of the interrupt.
    interrupt_id: String,
    status: ResumeStatus,
    /// The answer; nothing is read of it where the interrupt is cancelled.
    #[serde(default)]
    payload: Value,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResumeStatus {
    Resolved,
    Cancelled,
}

impl RunAgentInput {
    /// The token of what is answered, and the answer.
    fn answer(&mut self, service: &Service) -> Result<Option<(String, HumanAnswer)>> {
        let mut entries = self.resume.take().unwrap_or_default();
        let Some(entry) = entries.pop() else { return Ok(None) };
        if !entries.is_empty() {
            return Err(Problem::new(
                Kind::Input,
                "$.resume: expected one answer: a thread waits for one thing",
            ));
        }
        let payload = match (entry.status, entry.payload) {
            (ResumeStatus::Cancelled, _) => json!({"reject": "cancelled"}),
            (_, Value::String(text)) => json!({"response": text}),
            (_, Value::Bool(true)) => json!({"approve": true}),
            (_, Value::Bool(false)) => json!({"reject": "rejected"}),
            (_, payload) => payload,
        };
        let wrong = |why: &str| Problem::new(Kind::Input, format!("$.resume[0].payload: {why}"));
        let Value::Object(mut fields) = payload else {
            return Err(wrong("expected a text, true, false or an object"));
        };
        for (name, said_by) in [("thread_id", "threadId"), ("token", "interruptId")] {
            if fields.contains_key(name) {
                return Err(wrong(&format!("expected no field `{name}`: `{said_by}` says it")));
            }
        }
        fields.insert("thread_id".to_owned(), json!(self.thread_id));
        let said: Result<HitlRequest, _> = serde_json::from_value(Value::Object(fields));
        let answer = said.map_err(|error| wrong(&error.to_string()))?.answer(service);
        Ok(Some((entry.interrupt_id, answer.map_err(|problem| wrong(problem.detail()))?)))
    }
}

/// Whether the thread waits for an answer whose time is over: the run goes on without one.
async fn read_expired(service: &Shared, stored: &Arc<StoredThread>) -> Result<bool> {
    let (service, stored) = (Arc::clone(service), Arc::clone(stored));
    read(move || match service.turns_of(&stored) {
        Err(problem) if problem.status() == StatusCode::NOT_FOUND => Ok(false),
        turns => Ok(service.turn(&stored, turns?.0)?.open.is_some_and(|open| open.expired)),
    })
    .await
}

/// Runs a turn, or answers what one waits for and goes on with it. Where the time for an answer is over, it goes on
/// without one.
#[utoipa::path(
    post, path = "/agui", tag = "agui", request_body = RunAgentInput, params(AgUiParameters),
    responses((status = 200, body = DataEvent, content_type = "text/event-stream"), Runs)
)]
pub(crate) async fn run_agent(
    State(service): State<Shared>,
    caller: Caller,
    Given(parameters): Given<AgUiParameters>,
    Body(mut input): Body<RunAgentInput>,
) -> Result<Response> {
    let thread = caller.thread("$.threadId", &input.thread_id)?;
    let stored = Arc::new(service.thread(thread.clone()));
    let (begin, work): (Begin, Work<ChatReply>) = match input.answer(&service)? {
        Some((token, answer)) => {
            caller.check_may(Right::Answer)?;
            let go = |handle: ThreadHandle<'_>, agent: &_| handle.token(token).answer(agent, answer);
            (
                Begin::Here,
                Box::new(|service, stored, under| ChatReply::of(stored, service.go_on(stored, under, go)?)),
            )
        }
        None if read_expired(&service, &stored).await? => {
            let go = |handle: ThreadHandle<'_>, agent: &_| handle.resume(agent);
            (
                Begin::Here,
                Box::new(move |service, stored, under| {
                    ChatReply::of(stored, service.go_on(stored, under, go)?)
                }),
            )
        }
        None => {
            let (question, history) = split(&input.messages)?;
            service.check_length("$.messages", &question)?;
            let ask = move |service: &Service, stored: &StoredThread, under: &Under<'_>| {
                ask(service, stored, under, None, parameters.agent.as_deref(), &question, history)
            };
            (Begin::NextTurn, Box::new(ask))
        }
    };
    let (from, items) = perform_followed(&service, thread, begin, work).await?;
    let messages = input.messages.iter().map(|message| json!(message)).collect();
    let run = Run { service, caller, stored, thread: input.thread_id, run: input.run_id };
    Ok(stream_told(run.service.patience, move |outlet| run.tell(from.turn, messages, outlet).tell(items)))
}
