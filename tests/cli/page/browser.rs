//! A real Chromium without a screen, spoken to over two pipes: the DevTools protocol as JSON, each message ended by a
//! NUL. One browser serves all tests; each test has tabs that share nothing.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde_json::{Value, json};

/// How long anything may take before its test fails; what is asserted is never how long it took.
pub const PATIENCE: Duration = Duration::from_secs(60);

const NAMES: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chromium-headless-shell"];

const FLAGS: &str = "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --remote-debugging-pipe \
    --no-first-run --disable-background-networking --disable-component-update --disable-default-apps \
    --disable-extensions --disable-sync --mute-audio --hide-scrollbars --force-color-profile=srgb --lang=en-US \
    --disable-background-timer-throttling --disable-renderer-backgrounding --disable-backgrounding-occluded-windows";

/// The descriptors at which the browser reads and writes are those that the shell was given as its own. The browser ends
/// when this process does, and leaves nothing behind.
const LAUNCH: &str = r#""$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1; rm -rf "${1#--user-data-dir=}""#;

/// What is called, and where its reply goes.
type Calls = Arc<Mutex<HashMap<u64, Sender<Result<Value, String>>>>>;

/// What happened in each tab, by its session.
type Events = Arc<Mutex<HashMap<String, Vec<Value>>>>;

pub struct Browser {
    stdin: Mutex<ChildStdin>,
    next: AtomicU64,
    calls: Calls,
    events: Events,
}

/// The browser of all tests. Where there is none, tests are skipped and say so, unless PLANWRIGHT_BROWSER=required.
pub fn browser() -> Option<&'static Browser> {
    static BROWSER: OnceLock<Option<Browser>> = OnceLock::new();
    let found = BROWSER.get_or_init(|| find().map(|program| Browser::start(&program))).as_ref();
    if found.is_none() {
        skip("no Chromium is installed (tried PLANWRIGHT_CHROMIUM, chromium, google-chrome)");
    }
    found
}

/// Says loudly that a test is skipped: past the harness, which keeps what tests print to itself.
pub fn skip(why: &str) {
    let required = std::env::var("PLANWRIGHT_BROWSER").is_ok_and(|value| value == "required");
    assert!(!required, "PLANWRIGHT_BROWSER=required, but {why}");
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr().lock(), "\nSKIPPED {name}: {why}");
}

fn find() -> Option<PathBuf> {
    let named = std::env::var_os("PLANWRIGHT_CHROMIUM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).flat_map(|folder| NAMES.map(|name| folder.join(name)));
    named.into_iter().chain(installed).find(|program| program.is_file())
}

impl Browser {
    fn start(program: &Path) -> Self {
        let profile = tempfile::tempdir().unwrap().keep();
        let mut shell = Command::new("sh");
        shell.args(["-c", LAUNCH]).arg(program).arg(format!("--user-data-dir={}", profile.display()));
        shell.args(FLAGS.split_whitespace());
        let mut process = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (calls, events) = (Calls::default(), Events::default());
        let stdout = BufReader::new(process.stdout.take().unwrap());
        let stdin = Mutex::new(process.stdin.take().unwrap());
        std::thread::spawn({
            let (calls, events) = (Arc::clone(&calls), Arc::clone(&events));
            move || {
                hear(stdout, &calls, &events);
                let _ = process.wait();
            }
        });
        Browser { stdin, next: AtomicU64::new(1), calls, events }
    }

    /// Calls a method of the protocol, in a tab or of the browser.
    pub fn call(&self, session: Option<&str>, method: &str, params: &Value) -> Result<Value, String> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, reply) = channel();
        self.calls.lock().unwrap().insert(id, sender);
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        self.stdin.lock().unwrap().write_all(format!("{message}\0").as_bytes()).expect("the browser runs");
        let reply = reply.recv_timeout(PATIENCE).map_err(|_| "the browser does not answer".to_owned());
        reply.flatten().map_err(|error| format!("{method}: {error}"))
    }

    pub fn forget(&self, session: &str) {
        self.events.lock().unwrap().remove(session);
    }

    /// What has happened in a tab so far.
    pub fn events(&self, session: &str) -> Vec<Value> {
        self.events.lock().unwrap().get(session).cloned().unwrap_or_default()
    }
}

fn hear(mut stdout: impl BufRead, calls: &Calls, events: &Events) {
    let mut bytes = Vec::new();
    while stdout.read_until(0, &mut bytes).is_ok_and(|read| read > 0) {
        let mut message: Value = serde_json::from_slice(&bytes[..bytes.len() - 1]).unwrap_or_default();
        bytes.clear();
        if let Some(call) = message["id"].as_u64().and_then(|id| calls.lock().unwrap().remove(&id)) {
            let error = message.get("error").map(Value::to_string);
            let _ = call.send(error.map_or_else(|| Ok(message["result"].take()), Err));
        } else if let Some(session) = message["sessionId"].as_str() {
            events.lock().unwrap().entry(session.to_owned()).or_default().push(message);
        }
    }
    // Who waits for an answer need not wait any longer.
    calls.lock().unwrap().clear();
}
