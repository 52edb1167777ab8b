//! A conversation: asked, answered, and its plan. The names are those that a supervisor's service usually has:
//! `/chat`, `/hitl/resume`, `/plan/{thread_id}`.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::describe::{Reads, Runs};
use crate::events::{stream, wants_stream};
use crate::feed::{Begin, perform_followed};
use crate::input::{Body, Thread};
use crate::once::{asked_once, thread_of};
use crate::pool::read;
use crate::problem::{Kind, Problem, Result};
use crate::reply::ChatReply;
use crate::service::{Service, Shared, Under, Work};
use planwright::contract::EditedSteps;
use planwright::driver::{Stopped, time_for};
use planwright::journal::{Asked, ThreadId};
use planwright::machine::{EffectKind, HumanAnswer, Input, Turn};
use planwright_app::shapes::{IdempotencyKey, PlanStep, Step, StreamEvent, ThreadName};
use planwright_app::{Pending, RunLocation, ShownTurn, StoredThread};

/// A question.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChatRequest {
    /// The question.
    #[schema(example = "What happens when a plan is rejected?")]
    message: String,
    /// The thread that it is the next turn of; a new one where none is named.
    #[serde(default)]
    #[schema(value_type = Option<ThreadName>, example = "demo")]
    thread_id: Option<String>,
    /// The agent; the configured one where none is named.
    #[serde(default)]
    agent: Option<String>,
}

/// Asks as the next turn of a thread, or says what the thread waits for.
#[utoipa::path(
    post, path = "/chat", tag = "chat", request_body = ChatRequest,
    params(("Idempotency-Key" = Option<IdempotencyKey>, Header, description = "What is sent again under the same key is done once")),
    responses((status = 200, content((ChatReply = "application/json"), (StreamEvent = "text/event-stream"))), Runs)
)]
pub(crate) async fn chat(
    State(service): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    Body(request): Body<ChatRequest>,
) -> Result<Response> {
    if request.message.trim().is_empty() {
        return Err(Problem::new(Kind::Input, "$.message: expected a question, found nothing"));
    }
    service.check_length("$.message", &request.message)?;
    let asked = asked_once(&caller, &headers, &request)?;
    let thread = match &request.thread_id {
        Some(name) => caller.thread("$.thread_id", name)?,
        None => asked.as_ref().map_or_else(|| caller.new_thread(), |asked| thread_of(&caller, asked))?,
    };
    let begin = wants_stream(&headers).then_some(Begin::NextTurn);
    let work = move |service: &Service, stored: &StoredThread, under: &Under<'_>| {
        if let Some(told) = service.tell_again(stored, asked.as_ref(), under)? {
            return Ok(told);
        }
        let agent = request.agent.as_deref();
        ask(service, stored, under, asked, agent, request.message.trim(), Vec::new())
    };
    reply(&service, &caller, thread, begin, Box::new(work)).await
}

/// Asks as the next turn. What the thread waits for is said instead.
pub(crate) fn ask(
    service: &Service,
    stored: &StoredThread,
    under: &Under<'_>,
    asked: Option<Asked>,
    agent: Option<&str>,
    question: &str,
    history: Vec<Turn>,
) -> Result<ChatReply> {
    let prepared = service.agent(agent)?;
    let now = time_for(prepared.agent.compiled().policy());
    let input = Input { now, history, outline: prepared.outline.clone(), ..Input::question(question) };
    match under.handle(stored, &prepared.agent).asked_as(asked).ask_with(&prepared.agent, input) {
        Ok(_) | Err(Stopped::Waiting { .. }) => ChatReply::of(stored, service.turn(stored, under.turn())?),
        Err(stopped) => Err(stopped.into()),
    }
}

/// Performs a run and gives the reply to it, or a stream of what happens in it once it has begun.
pub(crate) async fn reply(
    service: &Shared,
    caller: &Caller,
    thread: ThreadId,
    begin: Option<Begin>,
    work: Work<ChatReply>,
) -> Result<Response> {
    let Some(begin) = begin else {
        return service.perform(thread, work).await.map(|reply| Json(reply).into_response());
    };
    let (from, items) = perform_followed(service, thread.clone(), begin, work).await?;
    Ok(stream(caller, &thread, from, items))
}

/// What a person says. One of `response`, `approve`, `approve_calls`, `reject`, `edit` and `edit_input`.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HitlRequest {
    /// The thread that waits.
    #[schema(value_type = ThreadName, example = "demo")]
    thread_id: String,
    /// The answer to a question.
    #[serde(default)]
    #[schema(example = "yes, go on")]
    response: Option<String>,
    /// Yes to a plan or a call.
    #[serde(default)]
    approve: bool,
    /// Yes to these of several calls: their positions, or objects with `position` and another `input`.
    #[serde(default)]
    approve_calls: Option<Value>,
    /// No, and why.
    #[serde(default)]
    reject: Option<String>,
    /// Yes, with these steps in the place of those that are left.
    #[serde(default)]
    #[schema(value_type = Option<Vec<PlanStep>>)]
    edit: Option<Value>,
    /// Yes to a call, with this input.
    #[serde(default)]
    edit_input: Option<Value>,
    /// What is answered: the token that came with the question. An approval names it; where a step only asks, it
    /// may be left out.
    #[serde(default)]
    token: Option<String>,
}

impl HitlRequest {
    pub fn answer(&mut self, service: &Service) -> Result<HumanAnswer> {
        for (place, said) in [("$.response", &self.response), ("$.reject", &self.reject)] {
            said.iter().try_for_each(|text| service.check_length(place, text))?;
        }
        let steps = self.edit.take().map(serde_json::from_value::<EditedSteps>);
        let steps = steps.transpose().map_err(|error| {
            Problem::new(Kind::Input, format!("$.edit: expected a list of plan steps: {error}"))
        })?;
        let calls = self.approve_calls.take().map(serde_json::from_value);
        let calls = calls
            .transpose()
            .map_err(|error| Problem::new(Kind::Input, format!("$.approve_calls: {error}")))?;
        let said = [
            calls.map(|calls| HumanAnswer::ApproveCalls { calls }),
            self.response.take().map(HumanAnswer::respond),
            self.approve.then_some(HumanAnswer::Approve),
            self.reject.take().map(HumanAnswer::reject),
            steps.map(|EditedSteps(steps)| HumanAnswer::Edit { steps }),
            self.edit_input.take().map(|input| HumanAnswer::EditInput { input }),
        ];
        let mut said = said.into_iter().flatten();
        match (said.next(), said.next()) {
            (Some(answer), None) => Ok(answer),
            (first, _) => {
                let found = if first.is_some() { "more than one" } else { "none" };
                let expected =
                    "$: expected one of response, approve, approve_calls, reject, edit and edit_input";
                Err(Problem::new(Kind::Input, format!("{expected}, found {found}")))
            }
        }
    }
}

/// Answers what a thread waits for, and goes on with it.
#[utoipa::path(
    post, path = "/hitl/resume", tag = "chat", request_body = HitlRequest,
    params(("Idempotency-Key" = Option<IdempotencyKey>, Header, description = "What is sent again under the same key is done once")),
    responses((status = 200, content((ChatReply = "application/json"), (StreamEvent = "text/event-stream"))), Runs)
)]
pub(crate) async fn answer(
    State(service): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    Body(mut request): Body<HitlRequest>,
) -> Result<Response> {
    let asked = asked_once(&caller, &headers, &request)?;
    let (answer, thread) = (request.answer(&service)?, caller.thread("$.thread_id", &request.thread_id)?);
    let begin = wants_stream(&headers).then_some(Begin::Here);
    let work = move |service: &Service, stored: &StoredThread, under: &Under<'_>| {
        if let Some(told) = service.tell_again(stored, asked.as_ref(), under)? {
            return Ok(told);
        }
        give_answer(service, stored, under, asked, request, answer)
    };
    reply(&service, &caller, thread, begin, Box::new(work)).await
}

/// Gives the answer of a request to what the thread waits for, and goes on with it.
pub(crate) fn give_answer(
    service: &Service,
    stored: &StoredThread,
    under: &Under<'_>,
    asked: Option<Asked>,
    request: HitlRequest,
    answer: HumanAnswer,
) -> Result<ChatReply> {
    let token = match request.token {
        Some(token) => token,
        None => token_of(stored, service.wants_tokens)?,
    };
    let turn = service
        .go_on(stored, under, |handle, agent| handle.asked_as(asked).token(token).answer(agent, answer))?;
    ChatReply::of(stored, turn)
}

/// The token for an answer that names none. An approval that is sent again would allow what comes next, and so would a
/// value that was picked for a call, so they name their own.
fn token_of(stored: &StoredThread, wants_tokens: bool) -> Result<String> {
    let folded = stored.fold(None)?;
    let Some(pending) = Pending::of(&folded, RunLocation::in_thread(stored)) else {
        return Err(Stopped::NotWaiting.into());
    };
    if pending.is_doubt() {
        return Err(Problem::new(Kind::InDoubt, pending.text())
            .hint("POST /threads/{thread_id}/resolve says what became of it"));
    }
    match pending.effect.kind {
        EffectKind::ApprovePlan { .. } | EffectKind::ApproveCall { .. } | EffectKind::Pick { .. } => {}
        _ if !wants_tokens => return Ok(pending.token),
        _ => {}
    }
    let problem = format!("$.token: expected the token of what is answered: {}", pending.text());
    Err(Problem::new(Kind::Input, problem)
        .hint("GET /threads/{thread_id} shows it, and so does the reply that asked"))
}

/// The plan of a thread's last turn.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PlanReply {
    thread_id: String,
    /// The turn, from 1.
    turn: u32,
    /// The steps: each with `step_id`, `tool`, `description`, `status`, `result`, `error`, `hitl_question` and
    /// `hitl_response`.
    #[schema(value_type = Vec<Step>)]
    plan: Vec<Value>,
    /// The first step that is not finished, from 0.
    current_step: usize,
    /// Whether a step waits for a person.
    is_waiting_human: bool,
}

impl PlanReply {
    pub fn of(stored: &StoredThread, turn: ShownTurn) -> Self {
        PlanReply {
            thread_id: stored.thread.to_string(),
            turn: turn.turn,
            plan: turn.plan,
            current_step: turn.current_step,
            is_waiting_human: turn.is_waiting_human,
        }
    }
}

/// The plan that a thread is at.
#[utoipa::path(
    get, path = "/plan/{thread_id}", tag = "chat", params(("thread_id" = ThreadName, Path, description = "The thread")),
    responses((status = 200, body = PlanReply), Reads)
)]
pub(crate) async fn show_plan(
    State(service): State<Shared>,
    Thread(thread): Thread,
) -> Result<Json<PlanReply>> {
    read(move || {
        let stored = service.known_thread(thread)?;
        let turn = service.last_turn(&stored)?;
        match &turn.problem {
            Some(problem) => Err(Problem::new(Kind::Store, problem)),
            None => Ok(Json(PlanReply::of(&stored, turn))),
        }
    })
    .await
}
