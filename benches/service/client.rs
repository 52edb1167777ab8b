//! A client that keeps its connection. It is made to cost little beside the service.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

pub struct Client {
    stream: BufReader<TcpStream>,
    address: String,
}

impl Client {
    pub fn of(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_nodelay(true).expect("a connection takes options");
        Client { stream: BufReader::new(stream), address: address.to_owned() }
    }

    /// Asks as the next turn of a thread.
    pub fn ask(&mut self, thread: &str, question: &str) -> Value {
        self.send("POST", "/chat", &json!({"message": question, "thread_id": thread}).to_string());
        let reply = self.reply();
        assert!(reply["status"] == "failed" || reply["status"] == "completed", "{reply}");
        reply
    }

    /// How many turns all threads have.
    pub fn turns(&mut self) -> u64 {
        let (mut turns, mut after) = (0, String::new());
        loop {
            self.send("GET", &format!("/threads?limit=1000{after}"), "");
            let page = self.reply();
            let listed = page["threads"].as_array().expect("a list");
            turns += listed.iter().filter_map(|thread| thread["turns"].as_u64()).sum::<u64>();
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => return turns,
            }
        }
    }

    /// Opens a stream and reads its first event.
    pub fn open(mut self, path: &str) -> Self {
        self.send("GET", path, "");
        let mut line = String::new();
        while !line.starts_with("event: thread") {
            line.clear();
            assert!(self.stream.read_line(&mut line).expect("a stream") > 0, "it ended");
        }
        self
    }

    fn send(&mut self, method: &str, path: &str, body: &str) {
        let (address, length) = (&self.address, body.len());
        let request =
            format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\n\r\n{body}");
        self.stream.get_mut().write_all(request.as_bytes()).expect("it listens");
    }

    fn reply(&mut self) -> Value {
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let from = head.len();
            assert!(self.stream.read_line(&mut head).expect("a reply") > 0, "it hung up: {head}");
            if let Some((name, value)) = head[from..].split_once(": ")
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).expect("the body");
        let status = &head[9..12];
        assert_eq!(status, "200", "{}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).expect("JSON")
    }
}
