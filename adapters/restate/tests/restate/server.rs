//! Restate servers of the tests' own: on loopback, without telemetry, each in a temporary folder, ended with the test.
#![allow(dead_code, reason = "each binary uses a part of it")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use planwright::driver::{Agent, Threads};
use planwright::journal::Store;
use planwright_restate::{Report, Worker};
use serde::Serialize;
use serde_json::json;
use tempfile::TempDir;

/// How long anything is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// An answer over HTTP: its status and its body.
pub type Reply = (u16, String);

/// Waits until something is there.
pub fn await_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "never came: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A port that is free now and is given once. It is none of those that the system gives to outgoing connections: one
/// of them could take it before the server does.
pub fn free_port() -> u16 {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(101);
    let mut next = || 10_000 + (first.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed)) % 20_000) as u16;
    std::iter::repeat_with(&mut next).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

/// One request over HTTP/1.1, on a connection of its own.
pub fn post(address: SocketAddr, path: &str, headers: &str, body: &str) -> std::io::Result<Reply> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(2))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let length = body.len();
    // A handler without input takes no type of one.
    let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {address}\r\n{kind}Content-Length: {length}\r\n\
         Connection: close\r\n{headers}\r\n{body}"
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(|| std::io::Error::other("a cut answer"))?;
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
    Ok((status, body.to_owned()))
}

/// A Restate server.
pub struct Restate {
    folder: TempDir,
    name: String,
    /// Of the node, its admin interface and its ingress.
    ports: [u16; 3],
    /// What else is set, top-level keys first.
    pub settings: String,
    process: Option<Child>,
}

impl Drop for Restate {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Restate {
    /// A server by itself, which answers.
    pub fn start() -> Self {
        let mut restate = Restate::new("one");
        restate.settings = "default-num-partitions = 2\n".to_owned();
        restate.spawn();
        restate
    }

    /// A server that does not run yet.
    pub fn new(name: &str) -> Self {
        let (folder, ports) = (TempDir::new().unwrap(), [free_port(), free_port(), free_port()]);
        Restate { folder, name: name.to_owned(), ports, settings: String::new(), process: None }
    }

    /// Starts it, and waits until it answers.
    pub fn spawn(&mut self) {
        self.launch();
        self.await_start();
    }

    /// Waits until it answers.
    pub fn await_start(&self) {
        for address in [self.admin(), self.ingress()] {
            await_some("the server", || TcpStream::connect(address).ok());
        }
    }

    /// Starts it.
    pub fn launch(&mut self) {
        let program =
            std::env::var("RESTATE_SERVER").expect("RESTATE_SERVER: run adapters/restate/tests/run");
        let (config, log) = (self.folder.path().join("restate.toml"), self.folder.path().join("log"));
        let [node, admin, ingress] = self.ports;
        let text = format!(
            "cluster-name = \"planwright-tests\"\nbind-ip = \"127.0.0.1\"\nbind-port = {node}\n\
             advertised-address = \"http://127.0.0.1:{node}/\"\n\
             listen-mode = \"tcp\"\nrocksdb-total-memory-size = \"128 MB\"\nlog-filter = \"warn\"\n{}\n\
             [admin]\nbind-port = {admin}\ndisable-web-ui = true\n[ingress]\nbind-port = {ingress}\n",
            self.settings,
        );
        std::fs::write(&config, text).unwrap();
        let log = std::fs::File::options().create(true).append(true).open(log).unwrap();
        let mut command = Command::new(program);
        command
            .arg("--no-logo")
            .args(["--node-name", &self.name])
            .arg("-c")
            .arg(config)
            .env("RESTATE_DISABLE_TELEMETRY", "true")
            .env("RESTATE_BASE_DIR", self.folder.path().join("data"));
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.process = Some(command.spawn().expect("the server starts"));
    }

    /// Kills it, as a loss of power would.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Its folder.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub fn node(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.ports[0]))
    }

    pub fn admin(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.ports[1]))
    }

    pub fn ingress(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.ports[2]))
    }

    /// Tells it where workers are.
    pub fn register(&self, workers: SocketAddr) {
        let body = json!({"uri": format!("http://{workers}"), "force": true}).to_string();
        await_some("a registered worker", || {
            let reply = post(self.admin(), "/deployments", "", &body);
            reply.ok().filter(|(status, _)| (200..300).contains(status))
        });
    }

    /// Calls a handler of a thread, and waits for it.
    pub fn call(&self, thread: &str, handler: &str, input: &impl Serialize) -> Reply {
        let body = serde_json::to_string(input).unwrap();
        post(self.ingress(), &format!("/planwright/{thread}/{handler}"), "", &body).unwrap()
    }

    /// Calls a handler of a thread, and does not wait.
    pub fn send(&self, thread: &str, handler: &str, input: &impl Serialize) {
        let (status, body) = self.call(thread, &format!("{handler}/send"), input);
        assert!((200..300).contains(&status), "{status} {body}");
    }

    /// Asks and waits for the report.
    pub fn ask(&self, thread: &str, question: &str) -> Report {
        report(self.call(thread, "ask", &json!({"question": question})))
    }

    /// Answers what is open in a thread, and waits for the report.
    pub fn answer(&self, thread: &str, token: &str, answer: &impl Serialize) -> Report {
        report(self.call(thread, "answer", &json!({"token": token, "answer": answer})))
    }
}

/// The report of a handler that ended well.
pub fn report((status, body): Reply) -> Report {
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"))
}

/// A worker in this process, until it is dropped.
pub struct Serving(Option<tokio::runtime::Runtime>);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.take().map(tokio::runtime::Runtime::shutdown_background);
    }
}

/// Serves an agent over a store, and tells a server of it.
pub fn serve(restate: &Restate, agent: Agent, store: Arc<dyn Store>) -> Serving {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(Worker::new(agent, Threads::new(store)).serve(listener, std::future::pending::<()>()));
    restate.register(address);
    Serving(Some(runtime))
}
