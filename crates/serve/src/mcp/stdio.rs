//! stdin and stdout as lines of JSON-RPC.
//!
//! **Invariant:** a line that does not read is answered with an error, and costs itself alone.

use std::io::Result;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Stdin, Stdout};
use tokio::sync::{Mutex, Notify, mpsc};

type Message = RxJsonRpcMessage<RoleServer>;

/// How many messages may wait to be taken.
const ROOM: usize = 64;

/// The messages of the client that has started this process.
pub(super) struct Stdio {
    messages: mpsc::Receiver<Message>,
    stdout: Arc<Mutex<Stdout>>,
}

impl Stdio {
    /// Begins to read lines of at most `most` bytes. Gives as well what is notified when stdin is closed.
    pub fn open(most: usize) -> (Self, Arc<Notify>) {
        let (sender, messages) = mpsc::channel(ROOM);
        let stdout = Arc::new(Mutex::new(tokio::io::stdout()));
        let closed = Arc::new(Notify::new());
        let (replies, ended) = (Arc::clone(&stdout), Arc::clone(&closed));
        tokio::spawn(async move {
            let mut stdin = BufReader::new(tokio::io::stdin());
            while let Ok(Some(line)) = read_line(&mut stdin, most).await {
                let is_taken = match line.and_then(|line| parse(&line)) {
                    Ok(Some(message)) => sender.send(message).await.is_ok(),
                    Ok(None) => true,
                    Err(refusal) => write_line(&replies, &refusal).await.is_ok(),
                };
                if !is_taken {
                    break;
                }
            }
            ended.notify_one();
        });
        (Stdio { messages, stdout }, closed)
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<()>> + Send + 'static {
        let stdout = Arc::clone(&self.stdout);
        async move { write_line(&stdout, &message).await }
    }

    async fn receive(&mut self) -> Option<Message> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> Result<()> {
        self.messages.close();
        Ok(())
    }
}

async fn write_line(stdout: &Mutex<Stdout>, message: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut stdout = stdout.lock().await;
    stdout.write_all(&line).await?;
    stdout.flush().await
}

/// The next line, or the refusal of one that is longer than `most` bytes; nothing once stdin is closed.
async fn read_line(
    stdin: &mut BufReader<Stdin>,
    most: usize,
) -> Result<Option<std::result::Result<Vec<u8>, Value>>> {
    let mut line = Vec::new();
    let taken = (&mut *stdin).take(most as u64 + 1).read_until(b'\n', &mut line).await?;
    if taken <= most || line.ends_with(b"\n") {
        return Ok((taken > 0).then_some(Ok(line)));
    }
    loop {
        let rest = stdin.fill_buf().await?;
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (skipped, is_over) = (end.map_or(rest.len(), |end| end + 1), end.is_some() || rest.is_empty());
        stdin.consume(skipped);
        if is_over {
            return Ok(Some(Err(refusal(
                -32600,
                format!("expected at most {most} bytes a line"),
                &Value::Null,
            ))));
        }
    }
}

/// The message on a line; nothing where there is none, or one that has no answer.
fn parse(line: &[u8]) -> std::result::Result<Option<Message>, Value> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let found: Value = serde_json::from_slice(line)
        .map_err(|error| refusal(-32700, format!("the line is no JSON: {error}"), &Value::Null))?;
    match serde_json::from_slice(line) {
        Ok(message) => Ok(Some(message)),
        // To a notification, a result and an error there is no answer.
        Err(_) if found["id"].is_null() && found["method"].is_string() => Ok(None),
        Err(_) if !(found["result"].is_null() && found["error"].is_null()) => Ok(None),
        Err(_) => Err(refusal(-32600, "expected one request, notification or response", &found["id"])),
    }
}

fn refusal(code: i32, message: impl Into<String>, id: &Value) -> Value {
    let (message, id) = (message.into(), Some(id).filter(|id| id.is_string() || id.is_number()));
    tracing::debug!(problem = message, "stdin");
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}
