//! A client that reads a stream of events, and a proxy that cuts it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::Value;

use super::Service;

/// An event as a client reads it.
#[derive(Clone, Debug)]
pub struct Event {
    pub id: Option<String>,
    pub name: String,
    pub data: Value,
}

/// A stream as a client reads it.
pub struct Stream(Box<dyn BufRead>);

impl Stream {
    /// Opens a stream at an address, or gives the status and the body of the refusal.
    pub fn open(
        address: &str,
        path: &str,
        body: Option<&Value>,
        seen: Option<&str>,
    ) -> Result<Self, (u16, String)> {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let request = ureq::http::Request::builder().uri(format!("{address}{path}"));
        let request =
            request.header("accept", "text/event-stream").method(if body.is_some() { "POST" } else { "GET" });
        let request = seen.into_iter().fold(request, |request, id| request.header("last-event-id", id));
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut response = agent.run(request.body(body).unwrap()).unwrap();
        let status = response.status().as_u16();
        if status != 200 {
            return Err((status, response.body_mut().read_to_string().unwrap()));
        }
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        Ok(Stream(Box::new(BufReader::new(response.into_body().into_reader()))))
    }

    /// The events until one of this name, with it; all where none has it.
    pub fn until(&mut self, name: &str) -> Vec<Event> {
        let mut events = Vec::new();
        for event in self.by_ref() {
            events.push(event);
            if events.last().unwrap().name == name {
                break;
            }
        }
        events
    }
}

impl Iterator for Stream {
    type Item = Event;

    /// The next whole event; `None` where the stream ends or breaks off.
    fn next(&mut self) -> Option<Event> {
        let mut event = Event { id: None, name: String::new(), data: Value::Null };
        loop {
            let mut line = String::new();
            if !matches!(self.0.read_line(&mut line), Ok(1..)) || !line.ends_with('\n') {
                return None;
            }
            match line.trim_end_matches(['\r', '\n']).split_once(": ") {
                Some(("id", id)) => {
                    assert!(!id.is_empty());
                    event.id = Some(id.to_owned());
                }
                Some(("event", name)) => name.clone_into(&mut event.name),
                Some(("data", data)) => event.data = serde_json::from_str(data).unwrap(),
                Some(_) => {}
                None if line.trim().is_empty() && !event.name.is_empty() => return Some(event),
                None => {}
            }
        }
    }
}

/// The ids of what is on record.
pub fn ids(events: &[Event]) -> Vec<String> {
    let told = events.iter().filter(|event| !["thread", "end", "cut"].contains(&event.name.as_str()));
    told.filter_map(|event| event.id.clone()).collect()
}

pub fn whole(service: &Service, thread: &str) -> Vec<Event> {
    Stream::open(&service.address, &format!("/threads/{thread}/events?from=1-0-0"), None, None)
        .ok()
        .unwrap()
        .collect()
}

/// Hands on what a server sends, and cuts each connection amid what follows so many events.
pub fn cutting(server: &str, events: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, server) = (listener.local_addr().unwrap(), server.replace("http://", ""));
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut server) = (client.unwrap(), TcpStream::connect(&server).unwrap());
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            let (mut told, mut last, mut byte) = (0, 0, [0]);
            // The head, the events, and a few bytes of the next.
            while told < events || last < 9 {
                if server.read(&mut byte).unwrap_or(0) == 0 || client.write_all(&byte).is_err() {
                    break;
                }
                let line = byte[0] == b'\n';
                last = if told == events || line { last + 1 } else { 0 };
                if told < events && last == 2 {
                    (told, last) = (told + 1, 0);
                }
            }
            let _ = (client.shutdown(std::net::Shutdown::Both), server.shutdown(std::net::Shutdown::Both));
        }
    });
    format!("http://{address}")
}
