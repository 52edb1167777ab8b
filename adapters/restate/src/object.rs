//! The virtual object of a thread: one handler for each thing that happens to it from outside.

use planwright::driver::{Agent, HumanInput, NewTurn, Stepped, Stopped, Threads};
use planwright::journal::{Record, ThreadId, system::now_ms};
use planwright::machine::Event;
use restate_sdk::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::messages::{Answer, Ask, CURRENT, Cancel, Current, End, Report, Resolve, TimeOut};
use crate::turn::{Turn, refuse};

/// A thread.
pub(crate) struct Thread {
    pub agent: Agent,
    pub threads: Threads,
}

/// The last turn of a thread, as an invocation finds it.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Found {
    turn: u32,
    records: usize,
    at: u64,
}

#[restate_sdk::object(name = "planwright", client_visibility = "pub(crate)")]
impl Thread {
    #[handler]
    async fn ask(&self, ctx: ObjectContext<'_>, ask: Json<Ask>) -> HandlerResult<Json<Report>> {
        let (thread, Ask { question, history }) = (thread_of(ctx.key())?, ask.into_inner());
        let (agent, threads, named) = (self.agent.clone(), self.threads.clone(), thread.clone());
        let draw = move || NewTurn::draw(&agent, threads.store(), &named, question, history);
        let new: NewTurn = once(&ctx, "begin", draw).await?;
        let (turn, at) = (new.turn, new.at);
        let stepped = Stepped::begin(&self.agent, &thread, new).map_err(refuse)?;
        Turn::new(&ctx, &self.threads, thread, turn, stepped, at).follow().await
    }

    #[handler]
    async fn answer(&self, ctx: ObjectContext<'_>, answer: Json<Answer>) -> HandlerResult<Json<Report>> {
        let Json(Answer { token, answer }) = answer;
        self.go_on(ctx, Some(HumanInput::Answer(answer)), token).await
    }

    #[handler]
    async fn resolve(&self, ctx: ObjectContext<'_>, resolve: Json<Resolve>) -> HandlerResult<Json<Report>> {
        let (token, resolution) = resolve.into_inner().split();
        self.go_on(ctx, Some(HumanInput::Resolution(resolution)), Some(token)).await
    }

    #[handler]
    async fn resume(&self, ctx: ObjectContext<'_>) -> HandlerResult<Json<Report>> {
        self.go_on(ctx, None, None).await
    }

    /// The run is ended by the invocation that performs it, or else by one of its own behind it.
    #[handler]
    async fn cancel(&self, ctx: SharedObjectContext<'_>, cancel: Json<Cancel>) -> HandlerResult<()> {
        let Some(Json(Current { run, invocation })) = ctx.get::<Json<Current>>(CURRENT).await? else {
            return Err(TerminalError::new_with_code(404, "there is no such thread").into());
        };
        if let Some(invocation) = invocation {
            ctx.invocation_handle(invocation).cancel();
        }
        let end = End { run, reason: cancel.into_inner().reason };
        ctx.object_client::<ThreadClient>(ctx.key()).end(Json(end)).send();
        Ok(())
    }

    #[handler(ingress_private = true)]
    async fn end(&self, ctx: ObjectContext<'_>, end: Json<End>) -> HandlerResult<()> {
        let Json(End { run, reason }) = end;
        self.tell(ctx, &run, Event::Cancelled { reason }).await
    }

    /// A question that was answered meanwhile has no time-out any more.
    #[handler(ingress_private = true)]
    async fn time_out(&self, ctx: ObjectContext<'_>, over: Json<TimeOut>) -> HandlerResult<()> {
        let Json(TimeOut { run, effect }) = over;
        self.tell(ctx, &run, Event::Expired { effect }).await
    }

    /// Time has passed for an invocation that waits for it.
    #[handler(ingress_private = true)]
    async fn wake(&self, ctx: SharedObjectContext<'_>, awakeable: String) -> HandlerResult<()> {
        ctx.resolve_awakeable(&awakeable, ());
        Ok(())
    }
}

impl Thread {
    async fn go_on(
        &self,
        ctx: ObjectContext<'_>,
        said: Option<HumanInput>,
        token: Option<String>,
    ) -> HandlerResult<Json<Report>> {
        let (Found { turn, at, .. }, records) = self.find(&ctx).await?;
        let stepped = Stepped::go_on(&self.agent, &records, said, token.as_deref(), at).map_err(refuse)?;
        Turn::new(&ctx, &self.threads, thread_of(ctx.key())?, turn, stepped, at).follow().await
    }

    /// Tells a run what has happened to it, if it is still the last of its thread and that fits it.
    async fn tell(&self, ctx: ObjectContext<'_>, run: &str, event: Event) -> HandlerResult<()> {
        let (Found { turn, at, .. }, records) = self.find(&ctx).await?;
        let stepped = Stepped::open(&self.agent, &records).map_err(refuse)?;
        if stepped.run() != run || !stepped.admits(&event) {
            return Ok(());
        }
        let mut turn = Turn::new(&ctx, &self.threads, thread_of(ctx.key())?, turn, stepped, at);
        turn.take(event)?;
        turn.follow().await.map(drop)
    }

    /// The last turn, and its records up to where this invocation found it. A record is never changed, so reading them
    /// again gives the same.
    async fn find(&self, ctx: &ObjectContext<'_>) -> HandlerResult<(Found, Vec<Record>)> {
        let (threads, thread) = (self.threads.clone(), thread_of(ctx.key())?);
        let (shared, named) = (threads.clone(), thread.clone());
        let find = move || {
            let store = shared.store();
            let turn = store.turns(&named)?.saturating_sub(1);
            Ok(Found { turn, records: store.records(&named, turn)?.len(), at: now_ms() })
        };
        let found: Found = once(ctx, "open", find).await?;
        let read = move || threads.store().records(&thread, found.turn);
        let mut records = tokio::task::spawn_blocking(read).await?.map_err(Stopped::from).map_err(refuse)?;
        records.truncate(found.records);
        Ok((found, records))
    }
}

fn thread_of(key: &str) -> Result<ThreadId, TerminalError> {
    key.parse().map_err(|error: String| TerminalError::new_with_code(400, error))
}

/// Does something once on a blocking thread: what came of it is kept, a refusal too.
async fn once<T: Serialize + DeserializeOwned + Send + 'static>(
    ctx: &ObjectContext<'_>,
    name: &str,
    work: impl FnOnce() -> Result<T, Stopped> + Send + 'static,
) -> Result<T, TerminalError> {
    let work = || async move { Ok(Json(tokio::task::spawn_blocking(work).await?.map_err(refuse)?)) };
    ctx.run(work).name(name).await.map(Json::into_inner)
}
