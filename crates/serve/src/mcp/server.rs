//! The server of the protocol: lists the tools, and makes calls of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam, ClientResult,
    ContentBlock, CustomRequest, CustomResult, ElicitResult, ErrorCode, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProgressToken, ProtocolVersion,
    RequestId, ServerCapabilities, ServerConfig, ServerRequest,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RequestContext};
use rmcp::{Peer, RoleServer, ServerHandler, ServiceError};

use crate::caller::Caller;
use crate::feed::{Item, perform_followed};
use crate::keys::Right;
use crate::log::{RequestName, under_request};
use crate::mcp::call::{CANCELLED, Form, Outcome, Stop, ThreadTask};
use crate::mcp::question::Question;
use crate::mcp::tools::{ANSWER, agent_of, list_tools};
use crate::pool::read;
use crate::problem::{Kind, Problem, Result};
use crate::reply::ChatReply;
use crate::service::Shared;
use crate::threads::end_turn;
use planwright::driver::{Progress, ProgressKind};
use planwright::journal::ThreadId;

/// How long a person may take for a form that a session waits for. What the run waits for can be answered after that.
const FORM_TIME: Duration = Duration::from_secs(600);
const INSTRUCTIONS: &str = "Each tool but `answer` asks an agent. A result names its thread: with it the next question \
                            goes on with the conversation. Where a result waits for a person, ask them, and give \
                            what they say to `answer`.";

/// A session of a client, or a request of one that has none.
pub(crate) struct McpServer {
    service: Shared,
    /// Whether who asks has started this process.
    is_local: bool,
    /// The calls under way.
    calls: Mutex<HashMap<RequestId, Arc<Stop>>>,
}

impl McpServer {
    /// For requests that say for whom they are.
    pub fn remote(service: Shared) -> Self {
        McpServer { service, is_local: false, calls: Mutex::default() }
    }

    /// For the client that has started this process.
    pub fn local(service: Shared) -> Self {
        McpServer { is_local: true, ..McpServer::remote(service) }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<RequestId, Arc<Stop>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes back what a cancelled call asks, and ends its run. A write in doubt stays in doubt.
    async fn withdraw(&self, form: Form, peer: &Peer<RoleServer>) {
        let Form { request, thread, token } = form;
        if request.is_some() {
            let withdrawn = CancelledNotificationParam::new(request, Some(CANCELLED.to_owned()));
            let _ = peer.notify_cancelled(withdrawn).await;
        }
        let service = Arc::clone(&self.service);
        // One that was answered meanwhile has nothing to end.
        let _ = read(move || end_turn(&service, thread, Some(&token), CANCELLED.to_owned())).await;
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        let parts = context.extensions.get::<Parts>();
        match parts.and_then(|parts| parts.extensions.get::<Caller>()) {
            Some(caller) => Ok(caller.clone()),
            None if self.is_local => Ok(Caller::default()),
            None => Err(ErrorData::internal_error("it is not known who asks", None)),
        }
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("planwright", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let (service, caller) = (Arc::clone(&self.service), self.caller(&context)?);
        let tools = read(move || list_tools(&service, &caller)).await;
        let wrong = |problem: Problem| ErrorData::internal_error(problem.detail().to_owned(), None);
        tools.map(ListToolsResult::with_all_items).map_err(wrong)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(&context)?;
        let agent = match &*request.name {
            ANSWER => None,
            tool => Some(
                agent_of(&self.service, &caller, tool)
                    .map_err(|problem| ErrorData::invalid_params(caller.say(&problem), None))?,
            ),
        };
        let is_modern =
            context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        let parts = context.extensions.get::<Parts>();
        let name = parts.and_then(|parts| parts.extensions.get::<RequestName>()).cloned();
        // Without a session nothing but its connection is left of a client.
        let leaves = is_modern && parts.is_some();
        let stop = Arc::new(Stop::default());
        self.calls().insert(context.id.clone(), Arc::clone(&stop));
        // A cancel that came before the call was known here.
        if context.ct.is_cancelled() {
            stop.say();
        }
        let call = Call {
            service: &self.service,
            caller: &caller,
            stop: &stop,
            asks: context
                .client_capabilities()
                .and_then(|client| client.elicitation)
                .is_some_and(|asks| asks.form.is_some() || asks.url.is_none()),
            is_modern,
            peer: &context.peer,
            progress: context.meta.get_progress_token(),
        };
        let done = under_request(name.unwrap_or_else(RequestName::new), async {
            tokio::select! {
                biased;
                () = stop.said() => Err(cancelled()),
                done = call.make(agent, request) => done,
                () = context.ct.cancelled(), if leaves => {
                    stop.say();
                    Err(cancelled())
                }
            }
        });
        let done = done.await;
        self.calls().remove(&context.id);
        if let Some(form) = stop.keep_form(None).filter(|_| stop.is_said()) {
            self.withdraw(form, &context.peer).await;
        }
        Ok(done.unwrap_or_else(|problem| {
            let text = caller.say(&problem.without_path());
            CallToolResult::error(vec![ContentBlock::text(text)]).into()
        }))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // What does not read as a request that is known comes here.
        Err(match &*request.method {
            "tools/call" => {
                ErrorData::invalid_params("expected name, and arguments that are an object", None)
            }
            method => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None),
        })
    }

    async fn on_cancelled(&self, cancelled: CancelledNotificationParam, _: NotificationContext<RoleServer>) {
        let stop = cancelled.request_id.and_then(|id| self.calls().get(&id).cloned());
        stop.into_iter().for_each(|stop| stop.say());
    }
}

fn cancelled() -> Problem {
    Problem::new(Kind::Interrupted, CANCELLED)
}

/// A call under way.
struct Call<'a> {
    service: &'a Shared,
    caller: &'a Caller,
    stop: &'a Arc<Stop>,
    /// Whether the client shows forms to its user.
    asks: bool,
    /// Whether it is asked with the result of the call, not amid it.
    is_modern: bool,
    peer: &'a Peer<RoleServer>,
    progress: Option<ProgressToken>,
}

impl Call<'_> {
    /// Asks the agent, or answers where none is named. What a person is asked meanwhile is asked of the client.
    async fn make(&self, agent: Option<String>, request: CallToolRequestParams) -> Result<CallToolResponse> {
        let arguments = request.arguments.unwrap_or_default();
        let mut outcome = match (request.request_state, agent) {
            (Some(state), _) => {
                let responses = request.input_responses.unwrap_or_default();
                let (question, said) = Question::sent_back(&state, responses, &request.name, &arguments)?;
                let thread = self.caller.thread("requestState", &question.thread_id)?;
                match said.map(|said| self.answer_of(&question, said)) {
                    Some(Ok(Some(task))) => self.perform(task).await?,
                    Some(Ok(None)) => return Ok(CallToolResult::from(self.load(thread, 0).await?).into()),
                    Some(Err(problem)) => self.refuse(thread, problem).await?,
                    None => self.load(thread, 0).await?,
                }
            }
            (None, None) => self.perform(ThreadTask::answer(self.service, self.caller, arguments)?).await?,
            (None, Some(agent)) => {
                self.perform(ThreadTask::ask(self.service, self.caller, agent, arguments)?).await?
            }
        };
        loop {
            let may_ask = self.asks && self.caller.may(Right::Answer);
            let Some(question) = outcome.question.as_ref().filter(|_| may_ask) else {
                return Ok(CallToolResult::from(outcome).into());
            };
            if self.is_modern {
                return Ok(question.required(&request.name).into());
            }
            let thread = self.caller.thread("$.thread_id", &question.thread_id)?;
            let said = self.elicit(question, thread.clone()).await;
            outcome = match said.map(|said| self.answer_of(question, said)) {
                Some(Ok(Some(task))) => self.perform(task).await?,
                Some(Err(problem)) => self.refuse(thread, problem).await?,
                None | Some(Ok(None)) => return Ok(CallToolResult::from(outcome).into()),
            };
        }
    }

    /// What the user of a client said to a form, as an answer; nothing where they said nothing.
    fn answer_of(&self, question: &Question, said: ElicitResult) -> Result<Option<ThreadTask>> {
        let arguments = question.arguments(said)?;
        arguments.map(|arguments| ThreadTask::answer(self.service, self.caller, arguments)).transpose()
    }

    async fn perform(&self, task: ThreadTask) -> Result<Outcome> {
        let task = task.stopped_by(self.stop);
        let (thread, is_answer) = (task.thread.clone(), task.is_answer);
        let left_open = [Kind::Open, Kind::Interrupted, Kind::Stopping, Kind::Busy].map(Kind::word);
        let turn = match self.run(task).await {
            Ok(reply) => reply.turn,
            // What became of a write is asked like any other question.
            Err(problem) if problem.word() == Kind::InDoubt.word() => 0,
            Err(problem) if is_answer || left_open.contains(&problem.word()) => {
                return self.refuse(thread, problem).await;
            }
            Err(problem) => return Err(problem),
        };
        self.load(thread, turn).await
    }

    /// The problem, and how the thread stands with it.
    async fn refuse(&self, thread: ThreadId, problem: Problem) -> Result<Outcome> {
        let problem = problem.without_path();
        match self.load(thread, 0).await {
            Ok(outcome) => Ok(outcome.refused(&self.caller.say(&problem))),
            Err(_) => Err(problem),
        }
    }

    async fn run(&self, ThreadTask { thread, begin, work, .. }: ThreadTask) -> Result<ChatReply> {
        let Some(token) = &self.progress else { return self.service.perform(thread, work).await };
        let (_, mut items) = perform_followed(self.service, thread, begin, work).await?;
        let mut told = 0_u32;
        loop {
            match items.recv().await {
                Some(Item::Event(_, progress)) => self.tell(token, &progress, &mut told).await,
                Some(Item::Passing(_)) => {}
                Some(Item::End(_, reply)) => return Ok(*reply),
                Some(Item::Cut(problem)) => return Err(problem),
                None => return Err(Problem::new(Kind::Stopping, "the service is stopping")),
            }
        }
    }

    async fn load(&self, thread: ThreadId, turn: u32) -> Result<Outcome> {
        let (service, caller) = (Arc::clone(self.service), self.caller.clone());
        read(move || Outcome::load(&service, &caller, thread, turn)).await
    }

    /// Tells the client what the run does now. One that is gone hears nothing.
    async fn tell(&self, token: &ProgressToken, progress: &Progress, told: &mut u32) {
        let text = |field: &str| progress.content[field].as_str().unwrap_or_default();
        let message = match (progress.kind, &*progress.step) {
            (ProgressKind::Phase, phase) => phase.to_owned(),
            (ProgressKind::Thinking, "tool_selected" | "tool_result") => {
                format!("{}: {}", progress.step, text("tool"))
            }
            (ProgressKind::Question, _) => text("question").to_owned(),
            _ => return,
        };
        *told += 1;
        let told = ProgressNotificationParam::new(token.clone(), f64::from(*told)).with_message(message);
        let _ = self.peer.notify_progress(told).await;
    }

    /// Asks the user of a client that has a session. Nothing comes back from one that is gone or takes too long.
    async fn elicit(&self, question: &Question, thread: ThreadId) -> Option<ElicitResult> {
        let request = ServerRequest::ElicitRequest(question.request());
        let sent = self
            .peer
            .send_request_with_option(request, PeerRequestOptions::with_timeout(FORM_TIME))
            .await
            .ok()?;
        self.stop.keep_form(Some(Form {
            request: Some(sent.id.clone()),
            thread,
            token: question.token.clone(),
        }));
        let said = tokio::select! {
            said = sent.await_response() => said,
            () = self.service.live.stopped() => Err(ServiceError::TransportClosed),
        };
        self.stop.keep_form(None);
        match said {
            Ok(ClientResult::ElicitResult(said)) => Some(said),
            _ => None,
        }
    }
}
