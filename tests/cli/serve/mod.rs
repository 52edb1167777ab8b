//! The service: threads over HTTP. It is a thin shell: what it says is what the store holds, a restart loses
//! nothing, and what cannot be used is refused with a reason.
#![cfg(unix)]

mod access;
mod agui;
mod answers;
mod conversation;
mod described;
mod idempotency;
pub mod keys;
mod killed;
mod load;
mod logged;
mod mcp;
mod mcp_calls;
mod metrics;
mod openai;
mod page;
mod problems;
mod reader;
mod resources;
mod shared;
mod streams;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::cli_support::Home;

/// A service on a port of its own.
pub struct Service {
    pub process: Child,
    pub address: String,
    /// The description of the interface, once it was needed.
    described: OnceLock<Value>,
}

impl Service {
    pub fn start(home: &Home, args: &[&str]) -> Self {
        Service::of(home.program(), args)
    }

    pub fn of(program: Command, args: &[&str]) -> Self {
        Service::start_with(program, &[&["--quiet"], args].concat(), Stdio::inherit())
    }

    /// Starts one whose stderr goes there.
    pub fn start_with(mut program: Command, args: &[&str], stderr: impl Into<Stdio>) -> Self {
        let listen: &[&str] = if args.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
        program.arg("serve").args(listen).args(args);
        let mut process = program.stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        assert!(address.starts_with("http://127.0.0.1:"), "{address:?}");
        Service { process, address: address.trim().to_owned(), described: OnceLock::new() }
    }

    /// Sends a request, and gives the status with the JSON of the reply. The description of the interface must
    /// know the status.
    pub fn send(&self, method: &str, path: &str, body: &str, headers: &[(&str, &str)]) -> (u16, Value) {
        let (status, reply) = self.send_as_it_is(method, path, body, headers);
        let described = self.described.get_or_init(|| self.send_as_it_is("GET", "/openapi.json", "", &[]).1);
        if let Some(operation) = operation_of(described, method, path) {
            let statuses = operation["responses"].as_object().unwrap();
            assert!(statuses.contains_key(&status.to_string()), "{method} {path} says nothing of {status}");
        }
        (status, reply)
    }

    fn send_as_it_is(&self, method: &str, path: &str, body: &str, headers: &[(&str, &str)]) -> (u16, Value) {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.address));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let mut response = agent.run(request.body(body.to_owned()).unwrap()).unwrap();
        let text = response.body_mut().read_to_string().unwrap();
        let status = response.status().as_u16();
        let kind = response.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
        if status >= 400 {
            let is_openai = path.starts_with("/v1/");
            let expected = if is_openai { "application/json" } else { "application/problem+json" };
            assert_eq!(kind.as_deref(), Some(expected), "{text}");
        }
        (status, serde_json::from_str(&text).unwrap_or_default())
    }

    /// Sends bytes as they are, and gives what comes back until the connection ends.
    pub fn raw(&self, sent: &str) -> String {
        let mut stream = TcpStream::connect(self.address.replace("http://", "")).unwrap();
        stream.write_all(sent.as_bytes()).unwrap();
        let mut got = Vec::new();
        // A connection that is cut has said what it says.
        let _ = stream.read_to_end(&mut got);
        String::from_utf8_lossy(&got).into_owned()
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: &Value, status: u16) -> Value {
        let (found, reply) = self.send("POST", path, &body.to_string(), &[]);
        assert_eq!(found, status, "{path} {body}: {reply}");
        reply
    }

    #[track_caller]
    pub fn get(&self, path: &str, status: u16) -> Value {
        let (found, reply) = self.send("GET", path, "", &[]);
        assert_eq!(found, status, "{path}: {reply}");
        reply
    }

    /// Expects a problem of this type that says this.
    #[track_caller]
    pub fn refuses(&self, (method, path, body): (&str, &str, &Value), status: u16, kind: &str, says: &str) {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let (found, problem) = self.send(method, path, &text, &[]);
        assert_eq!((found, &problem["status"]), (status, &json!(status)), "{path} {body}: {problem}");
        assert_eq!(problem["type"], format!("urn:planwright:{kind}"), "{problem}");
        assert!(problem.to_string().contains(says), "expected {says:?} in {problem}");
    }

    pub fn signal(&mut self, signal: &str) -> Option<i32> {
        self.signal_then(signal, || {})
    }

    /// Sends a signal, does something, and gives the exit code.
    pub fn signal_then(&mut self, signal: &str, then: impl FnOnce()) -> Option<i32> {
        let status = Command::new("kill").args([signal, &self.process.id().to_string()]).status().unwrap();
        assert!(status.success());
        then();
        self.process.wait().unwrap().code()
    }
}

/// What the description of the interface says of a path and a method.
fn operation_of<'d>(described: &'d Value, method: &str, path: &str) -> Option<&'d Value> {
    let asked: Vec<&str> = path.split('?').next()?.split('/').collect();
    let fits = |template: &str| {
        let parts: Vec<&str> = template.split('/').collect();
        parts.len() == asked.len()
            && parts.iter().zip(&asked).all(|(part, asked)| part.starts_with('{') || part == asked)
    };
    let paths = described["paths"].as_object()?.iter().filter(|(template, _)| fits(template));
    // `/threads/{thread_id}` does not stand for a path that is there by its own name.
    let (_, methods) = paths.min_by_key(|(template, _)| template.matches('{').count())?;
    methods.get(method.to_lowercase())
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
