//! A raw HTTP server on loopback that answers exactly as told, broken answers included.
#![allow(dead_code, reason = "each binary uses a part of it")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the client sends JSON")
    }
}

/// What a connection does after an answer was written.
#[derive(Clone, Copy, Debug)]
enum Then {
    Close,
    /// Says nothing more until the client hangs up.
    Hang,
}

/// An answer, written piece by piece.
#[derive(Clone, Debug)]
pub struct Answer {
    head: Option<(u16, Vec<(String, String)>)>,
    pieces: Vec<Vec<u8>>,
    pause: Duration,
    then: Then,
}

impl Answer {
    fn with_head(status: u16, kind: &str, pieces: Vec<Vec<u8>>) -> Self {
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        Answer { head: Some((status, headers)), pieces, pause: Duration::ZERO, then: Then::Close }
    }

    /// A body with its length told.
    pub fn body(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let length = body.len().to_string();
        Answer::with_head(status, kind, vec![body]).header("content-length", length)
    }

    pub fn json(status: u16, value: &Value) -> Self {
        Answer::body(status, "application/json", value.to_string())
    }

    /// A completion with this text.
    pub fn reply(text: &str) -> Self {
        Answer::json(200, &completion(text))
    }

    /// An error as most servers put it.
    pub fn error(status: u16, message: &str) -> Self {
        Answer::json(status, &json!({"error": {"message": message, "type": "an_error"}}))
    }

    /// A stream in chunks as given, ended as HTTP has it.
    pub fn chunks<P: Into<Vec<u8>>>(pieces: impl IntoIterator<Item = P>) -> Self {
        let mut answer = Answer::broken_chunks(pieces);
        answer.pieces.push(b"0\r\n\r\n".to_vec());
        answer
    }

    /// A stream in chunks as given, and then nothing: the connection is closed amid the body.
    pub fn broken_chunks<P: Into<Vec<u8>>>(pieces: impl IntoIterator<Item = P>) -> Self {
        let chunk = |piece: P| {
            let piece = piece.into();
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(&piece);
            chunk.extend_from_slice(b"\r\n");
            chunk
        };
        let pieces = pieces.into_iter().map(chunk).collect();
        Answer::with_head(200, "text/event-stream", pieces).header("transfer-encoding", "chunked")
    }

    /// Bytes in place of any HTTP.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Answer { head: None, pieces: vec![bytes.into()], pause: Duration::ZERO, then: Then::Close }
    }

    /// Nothing, ever.
    pub fn silence() -> Self {
        Answer::raw("").hanging()
    }

    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        if let Some((_, headers)) = &mut self.head {
            headers.push((name.to_owned(), value.into()));
        }
        self
    }

    /// Says nothing more after what was said, and does not hang up.
    pub fn hanging(mut self) -> Self {
        self.then = Then::Hang;
        self
    }

    /// Waits before each piece of the body.
    pub fn trickling(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    fn write(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        if let Some((status, headers)) = &self.head {
            let mut head = format!("HTTP/1.1 {status} Told\r\nconnection: close\r\n");
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            head.push_str("\r\n");
            stream.write_all(head.as_bytes())?;
        }
        for piece in &self.pieces {
            std::thread::sleep(self.pause);
            stream.write_all(piece)?;
            stream.flush()?;
        }
        if let Then::Hang = self.then {
            // Returns when the client hangs up.
            let _ = stream.read(&mut [0]);
        }
        Ok(())
    }
}

/// A completion as a server would put it.
pub fn completion(text: &str) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16},
    })
}

/// One event of a stream that adds this text.
pub fn event(text: &str) -> String {
    format!(
        "data: {}\n\n",
        json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]})
    )
}

/// The event that ends a reply.
pub fn finish(reason: &str) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
}

/// A server that runs until it is dropped.
pub struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    stop: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl Server {
    /// Answers each request, counted from 0, as `answer` says.
    pub fn start(answer: impl Fn(&Seen, usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = listener.local_addr().expect("a bound port has an address");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let answer = Arc::new(answer);
        let acceptor = std::thread::spawn({
            let (seen, stop) = (seen.clone(), stop.clone());
            move || {
                for stream in listener.incoming().flatten() {
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    let (seen, answer) = (seen.clone(), answer.clone());
                    std::thread::spawn(move || serve(stream, &seen, &*answer));
                }
            }
        });
        Server { address, seen, stop, acceptor: Some(acceptor) }
    }

    /// Gives these answers in order, and the last one again and again.
    pub fn answering(answers: impl IntoIterator<Item = Answer>) -> Self {
        let answers: Vec<Answer> = answers.into_iter().collect();
        Server::start(move |_, nth| answers[nth.min(answers.len() - 1)].clone())
    }

    /// Says when it is asked, and answers when it is told to.
    pub fn pausing(answer: Answer) -> (Self, Receiver<()>, Sender<()>) {
        let ((asked, was_asked), (answer_now, may_answer)) = (channel(), channel());
        let ends = Mutex::new((asked, may_answer));
        let server = Server::start(move |_, _| {
            let ends = ends.lock().expect("no test panics while it answers");
            // Where the test has ended meanwhile, nobody hears and nobody tells.
            let _ = ends.0.send(());
            let _ = ends.1.recv();
            answer.clone()
        });
        (server, was_asked, answer_now)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn url(&self) -> String {
        format!("{}/v1", self.origin())
    }

    /// The requests so far, in order.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no test panics while it holds the list").clone()
    }

    pub fn count(&self) -> usize {
        self.seen().len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

/// A loopback port at which nothing listens, and nothing can while this is kept: it is the near end
/// of a connection.
pub struct DeadPort {
    near: TcpStream,
    _far: TcpListener,
}

impl DeadPort {
    pub fn new() -> Self {
        let far = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let near = TcpStream::connect(far.local_addr().expect("a bound port has an address"));
        DeadPort { near: near.expect("the listener is there"), _far: far }
    }

    pub fn number(&self) -> u16 {
        self.near.local_addr().expect("a connection has two ends").port()
    }
}

fn serve(mut stream: TcpStream, seen: &Mutex<Vec<Seen>>, answer: &dyn Fn(&Seen, usize) -> Answer) {
    let _ = stream.set_nodelay(true);
    let Some(request) = read_request(&stream) else { return };
    let nth = {
        let mut seen = seen.lock().expect("no test panics while it holds the list");
        seen.push(request.clone());
        seen.len() - 1
    };
    // A client that hung up early is what some tests want.
    let _ = answer(&request, nth).write(&mut stream);
}

fn read_request(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut seen = Seen { method, target, headers, body: Vec::new() };
    let length = seen.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    seen.body = vec![0; length];
    reader.read_exact(&mut seen.body).ok()?;
    Some(seen)
}
