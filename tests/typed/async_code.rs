//! Under tokio, as the guide shows it: a run on a blocking thread, cancelled from async code, and a stream of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use planwright::driver::{CancelToken, Progress};
use planwright::machine::ErrorCode;
use planwright::prelude::*;
use planwright_offline::Offline;
use planwright_typed::{Failure, tool_with_call};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;

/// An agent whose tool answers at once, or tells that it was called and waits until it is given up.
fn agent(called: Option<oneshot::Sender<()>>) -> Agent {
    let called = Mutex::new(called);
    let look = tool_with_call("notes", ToolEffect::Pure, move |_: String, call: &ToolCall<'_>| {
        if let Some(called) = called.lock().unwrap().take() {
            called.send(()).unwrap();
            while !call.is_abandoned() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok::<_, Failure>("The boiler was serviced on 3 May by Kim Ltd.".to_owned())
    });
    let look = look.description("Searches my notes.").with_contract(|it| it.timeout(Duration::from_secs(60)));
    let spec = planwright::agents::shipped("validated").unwrap().with_tools(|_| false);
    Agent::builder(spec).model(Offline::new()).tool(look).build().unwrap()
}

#[tokio::test]
async fn a_run_on_a_blocking_thread_ends_when_async_code_gives_it_up() {
    let (called, waits) = oneshot::channel();
    let (agent, token) = (agent(Some(called)), CancelToken::new());
    let job = token.clone();
    let run = spawn_blocking(move || agent.job(agent.input("Who serviced the boiler?")).cancel(job).run());
    waits.await.unwrap();
    token.cancel();
    let run = run.await.unwrap().unwrap();
    assert_eq!(run.error().map(|error| error.code), Some(ErrorCode::Cancelled));
}

#[tokio::test]
async fn what_a_stream_tells_reaches_async_code_as_it_happens() {
    let (sender, mut receiver) = mpsc::channel(8);
    let agent = Arc::new(agent(None));
    let run = spawn_blocking(move || {
        let mut stream = agent.stream("Who serviced the boiler?");
        for progress in &mut stream {
            // Whoever listens no longer stops the run: the stream is dropped.
            sender.blocking_send(progress).ok()?;
        }
        stream.finish().ok()
    });
    let mut told: Vec<Progress> = Vec::new();
    while let Some(progress) = receiver.recv().await {
        told.push(progress);
    }
    let run = run.await.unwrap().expect("it was heard to its end");
    assert!(run.answer().unwrap().contains("Kim Ltd") && told.len() > 3);
}
