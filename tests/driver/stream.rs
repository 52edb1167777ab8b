//! Streams: what happens in a run, as values, while it happens.

use crate::stage;

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planwright::contract::{Source, ToolContract};
use planwright::driver::{Agent, Progress, ProgressKind, Run, Stopped};
use planwright::machine::ModelReply;
use planwright::ports::{Model, ModelError, TokenSink, Tool, ToolCall, ToolError, ToolOutput};
use planwright::prompt::ModelRequest;
use serde_json::{Value, json};

use stage::{Calls, accepted, answer, echoing, model, plan, rejected, spec};

const PTE: &str = "plan-then-execute";

/// All that a stream says, and what came of the run.
fn all(agent: &Agent, question: &str) -> (Vec<Progress>, Result<Run, Stopped>) {
    let mut stream = agent.stream(question);
    (stream.by_ref().collect(), stream.finish())
}

/// `type step`, one for each.
fn names(said: &[Progress]) -> Vec<String> {
    let name = |progress: &Progress| {
        let value = serde_json::to_value(progress).unwrap();
        format!("{} {}", value["type"].as_str().unwrap(), progress.step)
    };
    said.iter().map(name).collect()
}

#[test]
fn stream_tells_the_run_from_its_first_phase_to_its_answer() {
    let script = model([plan(&[("find", "서울")]), accepted(), "두 낱말".to_owned()]);
    let agent = echoing(spec("validated"), &script, &Calls::default()).build().unwrap();
    let (said, run) = all(&agent, "q");
    let wanted = [
        "phase PLAN",
        "thinking planning",
        "thinking answered",
        "trace PLAN",
        "phase EXECUTE",
        "thinking tool_selected",
        "thinking tool_result",
        "trace EXECUTE",
        "phase VALIDATE",
        "thinking validator",
        "thinking answered",
        "thinking evaluation_result",
        "phase WRITE",
        "thinking generating",
        "token token",
        "token token",
        "thinking answered",
        "trace WRITE",
        "phase DONE",
        "answer answer",
    ];
    assert_eq!(names(&said), wanted);
    let tokens = said.iter().filter(|progress| progress.kind == ProgressKind::Token);
    assert_eq!(tokens.filter_map(|token| token.content.as_str()).collect::<String>(), "두 낱말");
    assert_eq!(said.last().unwrap().content, "두 낱말");
    assert_eq!(run.unwrap().answer(), Some("두 낱말"));
}

#[test]
fn each_item_has_type_step_content_time_and_agent_and_reads_back() {
    let script = model([plan(&[("find", "서울")]), rejected("모자라다", ""), plan(&[])]);
    let agent = echoing(spec("validated"), &script, &Calls::default()).build().unwrap();
    let (said, _) = all(&agent, "q");
    for progress in &said {
        let value = serde_json::to_value(progress).unwrap();
        let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["type", "step", "content", "time", "agent"]);
        assert_eq!(&serde_json::from_value::<Progress>(value).unwrap(), progress);
    }
    let of = |step: &str| &said.iter().find(|progress| progress.step == step).unwrap().content;
    assert_eq!(of("tool_selected"), &json!({"step": 0, "tool": "find", "input": "서울"}));
    assert_eq!(of("tool_result")["output"], "find of 서울");
    assert_eq!(of("evaluation_result")["reason"], "모자라다");
}

/// A tool that names its sources.
struct Library(ToolContract);

impl Tool for Library {
    fn contract(&self) -> ToolContract {
        self.0.clone()
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let sources = ["공통", call.text()?].map(Source::titled);
        Ok(ToolOutput::from_sources("글", sources.into()))
    }
}

#[test]
fn sources_come_once_and_together_when_the_run_is_done() {
    let script = model([plan(&[("find", "가"), ("find", "나")]), answer("끝")]);
    let library = Library(stage::contracts().remove(1));
    let agent = echoing(spec(PTE), &script, &Calls::default()).tool(library).build().unwrap();
    let (said, _) = all(&agent, "q");
    let sources: Vec<&Value> =
        said.iter().filter(|said| said.kind == ProgressKind::Sources).map(|said| &said.content).collect();
    assert_eq!(sources, [&json!([{"title": "공통"}, {"title": "가"}, {"title": "나"}])]);
    let names = names(&said);
    assert_eq!(names[names.len() - 3..], ["sources sources", "phase DONE", "answer answer"]);
}

#[test]
fn run_that_fails_or_is_stopped_ends_its_stream_with_the_reason() {
    let agent = echoing(spec(PTE), &model(["no plan"]), &Calls::default()).build().unwrap();
    let (said, run) = all(&agent, "q");
    let last = said.last().unwrap();
    assert_eq!((last.kind, &last.content["code"]), (ProgressKind::Error, &json!("PLAN_ERROR")));
    assert!(run.unwrap().error().is_some());

    let agent = echoing(spec(PTE), &model([""; 0]), &Calls::default()).build().unwrap();
    let (said, run) = all(&agent, "q");
    let last = said.last().unwrap();
    assert_eq!((last.kind, last.step.as_str()), (ProgressKind::Error, "stopped"));
    assert!(matches!(run, Err(Stopped::Interrupted(_))));
}

/// A model that answers when it is told to.
struct Held {
    go: Mutex<std::sync::mpsc::Receiver<()>>,
    asked: Mutex<std::sync::mpsc::Sender<String>>,
}

impl Model for Held {
    fn name(&self) -> &str {
        "held"
    }

    fn ask(&self, request: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        self.asked.lock().unwrap().send(request.frame.role.to_string()).unwrap();
        let _ = self.go.lock().unwrap().recv_timeout(Duration::from_secs(10));
        Ok(ModelReply::text(plan(&[("find", "x")])))
    }
}

#[test]
fn dropped_stream_stops_its_run() {
    let ((go, held), (asks, asked), calls) = (channel(), channel(), Calls::default());
    let model = Held { go: Mutex::new(held), asked: Mutex::new(asks) };
    let agent = echoing(spec(PTE), &stage::model([""; 0]), &calls).model(Arc::new(model));
    let agent = agent.build().unwrap();
    let stream = agent.stream("q");
    assert_eq!(asked.recv().unwrap(), "planner");
    drop(stream);
    go.send(()).unwrap();
    // The thread lets go of the agent, and with it of the model, when the run has ended.
    drop(agent);
    assert!(asked.recv_timeout(Duration::from_secs(10)).is_err(), "nobody is asked any more");
    assert_eq!(calls.count(), 0, "no tool is called");
}

#[test]
fn token_of_a_stream_stops_the_run_and_the_rest_is_seen() {
    let agent = echoing(spec(PTE), &model([plan(&[]), answer("끝")]), &Calls::default()).build().unwrap();
    let mut stream = agent.stream("q");
    let token = stream.cancel_token();
    assert!(stream.next().is_some());
    token.cancel();
    assert!(stream.by_ref().last().is_some(), "the rest is seen");
    assert!(stream.finish().is_ok());
}

/// A model that panics.
struct Panics;

impl Model for Panics {
    fn name(&self) -> &str {
        "panics"
    }

    fn ask(&self, _: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        panic!("그럴 수 없습니다")
    }
}

#[test]
fn panic_of_a_port_is_passed_on_to_who_waits_for_the_end() {
    let agent = echoing(spec(PTE), &model([""; 0]), &Calls::default()).model(Arc::new(Panics));
    let agent = agent.build().unwrap();
    let read = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| agent.stream("q").finish()));
    let said = read.unwrap_err();
    assert_eq!(said.downcast_ref::<&str>(), Some(&"그럴 수 없습니다"));
}
