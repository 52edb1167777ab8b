//! A server that is a program: started, spoken to over its standard input and output, and ended with all that it
//! started.

use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::RequestId;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{Semaphore, mpsc};

use crate::explain::replace_answer;
use crate::lines::{Dropped, Lines, MAX_BYTES};
use crate::log::{Log, MAX_LINE};
use crate::notices::Notices;

/// How many messages may wait for a server that does not read.
const MOST_UNSENT: usize = 64;
/// How long a server is waited for at each stage of its end.
const PATIENCE: Duration = Duration::from_millis(700);

/// The variables without which no program starts.
#[cfg(unix)]
const USUAL: [&str; 2] = ["PATH", "HOME"];
#[cfg(not(unix))]
const USUAL: [&str; 10] = [
    "PATH",
    "PATHEXT",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "COMSPEC",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
];

/// How a program is started.
#[derive(Clone)]
pub(crate) struct Program {
    pub command: String,
    pub args: Vec<String>,
    /// The variables that the owner listed.
    pub env: Vec<(String, OsString)>,
}

/// A program that runs, as the transport of the protocol.
pub(crate) struct Running {
    child: Child,
    lines: AsyncRwTransport<RoleClient, Lines<ChildStdout>, ChildStdin>,
    /// The requests whose answers are dropped.
    dropped: mpsc::Receiver<Dropped>,
    unsent: Arc<Semaphore>,
    group: Group,
}

impl Program {
    /// Starts the program. Needs a runtime.
    pub fn start(&self, log: &Arc<Log>, notices: &Arc<Notices>) -> io::Result<Running> {
        let mut command = Command::new(&self.command);
        command.args(&self.args).env_clear();
        command.envs(USUAL.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        // What it starts in turn ends with it, and a Ctrl-C at the terminal is ours.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let group = Group(child.id());
        let pipe = || io::Error::other("no pipe to the program");
        let (input, output) = (child.stdin.take().ok_or_else(pipe)?, child.stdout.take().ok_or_else(pipe)?);
        tokio::spawn(read_stderr(child.stderr.take().ok_or_else(pipe)?, Arc::clone(log)));
        let (output, dropped) = Lines::of(output, Arc::clone(notices));
        let lines = AsyncRwTransport::new(output, input).with_max_line_length(MAX_BYTES);
        Ok(Running { child, lines, dropped, unsent: Arc::new(Semaphore::new(MOST_UNSENT)), group })
    }
}

impl Transport<RoleClient> for Running {
    type Error = io::Error;

    /// A server that does not read what it is sent fails what else is sent: nothing piles up.
    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let place = Arc::clone(&self.unsent).try_acquire_owned();
        let sent = self.lines.send(message);
        async move {
            let Ok(_place) = place else {
                return Err(io::Error::other("the server does not read what it is sent"));
            };
            sent.await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        tokio::select! {
            biased;
            Some((id, why)) = self.dropped.recv() => Some(replace_answer(why, RequestId::Number(id))),
            received = self.lines.receive() => received,
        }
    }

    /// Closes its input, which asks it to end; then asks it by a signal; then ends it.
    async fn close(&mut self) -> io::Result<()> {
        // A server that does not read may hold up even this.
        let _ = tokio::time::timeout(PATIENCE, self.lines.close()).await;
        if tokio::time::timeout(PATIENCE, self.child.wait()).await.is_err() {
            self.group.ask_to_end();
            let _ = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        }
        self.group.forget_if_empty();
        Ok(())
    }
}

/// The processes of a program. They end with this value.
struct Group(Option<u32>);

#[cfg(unix)]
impl Group {
    fn signal(&self, signal: nix::sys::signal::Signal) {
        let group = self.0.and_then(|id| i32::try_from(id).ok()).map(nix::unistd::Pid::from_raw);
        if let Some(group) = group {
            let _ = nix::sys::signal::killpg(group, signal);
        }
    }

    fn ask_to_end(&self) {
        self.signal(nix::sys::signal::Signal::SIGTERM);
    }

    /// Once a group is empty, its number may be another's.
    fn forget_if_empty(&mut self) {
        let id = self.0.and_then(|id| i32::try_from(id).ok()).map(nix::unistd::Pid::from_raw);
        if id.is_none_or(|id| nix::sys::signal::killpg(id, None).is_err()) {
            self.0 = None;
        }
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        self.signal(nix::sys::signal::Signal::SIGKILL);
    }
}

#[cfg(not(unix))]
impl Group {
    fn ask_to_end(&self) {}
    fn forget_if_empty(&mut self) {}
}

/// Hands each line of standard error to the log; of a long one its beginning.
async fn read_stderr(mut stderr: ChildStderr, log: Arc<Log>) {
    let (mut piece, mut line) = (vec![0; 4096], Vec::new());
    while let Ok(count @ 1..) = stderr.read(&mut piece).await {
        for &byte in &piece[..count] {
            if byte == b'\n' {
                log.add(&String::from_utf8_lossy(&line));
                line.clear();
            } else if line.len() < 4 * MAX_LINE {
                line.push(byte);
            }
        }
    }
    log.add(&String::from_utf8_lossy(&line));
}
