//! What the page is shown: services with models that answer as told, and threads that stand where a story begins.

use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use planwright::agents;
use planwright::contract::ToolContract;
use planwright::driver::{Agent, AgentBuilder};
use planwright::journal::FileJournal;
use planwright::machine::Input;
use planwright::spec::{Approval, Execution, OnRejection};

use super::tab::Tab;
use crate::cli_support::store::keep;
use crate::cli_support::{Home, Says, Script};
use crate::serve::Service;
use crate::support::{Answer, Server};

/// A service whose model answers with these, each once it is told to; at once when the teller is gone.
pub fn told(home: &Home, answers: Vec<Answer>) -> (Service, Server, Sender<()>) {
    let (tell, is_told) = channel();
    let is_told = Mutex::new(is_told);
    let model = Server::start(move |_, nth| {
        let _ = is_told.lock().unwrap().recv();
        answers[nth.min(answers.len() - 1)].clone()
    });
    let service = Service::start(home, &["--base-url", &model.url(), "--model", "m"]);
    (service, model, tell)
}

/// The address of a thread in the page, or of something in it.
pub fn address(thread: &str, rest: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    let escaped: String = thread.bytes().map(escape).collect();
    format!("/#/t/{escaped}{rest}")
}

/// A thread in the page of a service.
pub fn open(service: &Service, thread: &str, rest: &str) -> Option<Tab> {
    Tab::open(&service.address, &address(thread, rest))
}

/// Keeps a thread that waits for a yes to its plan, of an agent that makes another one after a no.
pub fn keep_plan(home: &Home, thread: &str, question: &str, plan: &str) {
    let is_used = |tool: &ToolContract| ["calc", "docs"].contains(&&*tool.name);
    let mut spec = agents::shipped("validated").unwrap().with_tools(is_used);
    spec.policy.approval = Approval { plan: true, ..Approval::default() };
    spec.policy.on_rejection = OnRejection::Replan;
    spec.policy.execution = Execution::Parallel { width: 4 };
    let tools = ["calc", "docs"].map(|name| Says(agents::tool(name).unwrap(), Ok(String::new())));
    let agent = Agent::builder(spec).model(Script::of(&[plan]));
    let agent = tools.into_iter().fold(agent, AgentBuilder::tool).build().unwrap();
    let path = home.path("plan.jsonl");
    let mut journal = FileJournal::create(&path).unwrap();
    assert!(agent.job(Input::question(question)).journal(&mut journal).run().unwrap().is_waiting());
    keep(home, thread, &path);
}
