//! A web server on loopback that says what a test tells it to, and remembers what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// What the server does with one request.
#[derive(Clone)]
#[allow(dead_code)]
pub enum Reply {
    /// Answers: status, headers, body.
    Says(u16, Vec<(String, String)>, Vec<u8>),
    /// Sends these bytes and closes.
    Raw(Vec<u8>),
    /// Sends these bytes and then nothing, until the client goes away.
    Hangs(Vec<u8>),
}

pub fn says(status: u16, body: &str) -> Reply {
    Reply::Says(status, Vec::new(), body.as_bytes().to_vec())
}

impl Reply {
    #[allow(dead_code)]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        if let Reply::Says(_, headers, _) = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Method and target.
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

pub struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Answers the requests in this order; the last reply holds for all that follow.
    pub fn new(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let (asked, stop) = (asked.clone(), stop.clone());
            move || {
                for stream in listener.incoming() {
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    let Ok(stream) = stream else { continue };
                    let Some(request) = read(&stream) else { continue };
                    let reply = {
                        let mut asked = asked.lock().unwrap();
                        asked.push(request);
                        replies[(asked.len() - 1).min(replies.len() - 1)].clone()
                    };
                    answer(stream, reply);
                }
            }
        });
        Server { address, asked, stop, thread: Some(thread) }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut next = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        Some(line.trim_end().to_owned())
    };
    let line = next()?;
    let mut headers = Vec::new();
    while let Some((name, value)) = next()?.split_once(':') {
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut asked = Asked { line, headers, body: String::new() };
    let length: usize = asked.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    asked.body = String::from_utf8(body).unwrap();
    Some(asked)
}

fn answer(mut stream: TcpStream, reply: Reply) {
    // The client may have gone; that is its right.
    let _ = match reply {
        Reply::Raw(bytes) => stream.write_all(&bytes),
        Reply::Hangs(bytes) => stream.write_all(&bytes).and_then(|()| stream.read(&mut [0; 1])).map(|_| ()),
        Reply::Says(status, headers, body) => {
            let mut head = format!("HTTP/1.1 {status} Status\r\nconnection: close\r\n");
            if !headers.iter().any(|(name, _)| name == "content-length") {
                head.push_str(&format!("content-length: {}\r\n", body.len()));
            }
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            stream.write_all(format!("{head}\r\n").as_bytes()).and_then(|()| stream.write_all(&body))
        }
    };
}
