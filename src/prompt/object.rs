//! A JSON object, written key by key.

use serde::Serialize;
use serde_json::Value;

/// Room for most payloads. Growing into it from nothing takes as long as writing it.
const PAYLOAD_BYTES: usize = 2_048;

/// The beginning of a JSON object.
#[derive(Default)]
pub(super) struct Payload(pub(super) Vec<u8>);

impl Payload {
    pub fn begin_anew(&mut self) {
        self.0.clear();
        self.0.reserve(PAYLOAD_BYTES);
        self.0.push(b'{');
    }

    /// Adds all fields of another object.
    pub fn add_all(&mut self, other: &Payload) {
        if let [_, fields @ ..] = &*other.0
            && !fields.is_empty()
        {
            self.separate();
            self.0.extend_from_slice(fields);
        }
    }

    pub fn add(&mut self, key: &str, value: impl Serialize) {
        self.begin_value(key);
        serde_json::to_writer(&mut self.0, &value).expect("a payload has text keys only");
    }

    /// Adds a text. Most need no escapes, and looking for them at once is quicker than one by one.
    pub fn add_str(&mut self, key: &str, text: &str) {
        let is_special = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
        if text.bytes().fold(false, |found, byte| found | is_special(byte)) {
            return self.add(key, text);
        }
        self.begin_value(key);
        self.0.push(b'"');
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(b'"');
    }

    /// Adds a value to a list that has begun.
    pub fn add_item(&mut self, value: impl Serialize) {
        self.separate();
        serde_json::to_writer(&mut self.0, &value).expect("a payload has text keys only");
    }

    pub fn add_some(&mut self, key: &str, value: Option<impl Serialize>) {
        if let Some(value) = value {
            self.add(key, value);
        }
    }

    /// Adds a JSON value if there is one: nearly always a text.
    pub fn add_value(&mut self, key: &str, value: Option<&Value>) {
        match value {
            Some(Value::String(text)) => self.add_str(key, text),
            value => self.add_some(key, value),
        }
    }

    /// Adds a text unless it is empty.
    pub fn add_text(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.add_str(key, text);
        }
    }

    /// Adds a list unless it is empty.
    pub fn add_list(&mut self, key: &str, list: &[impl Serialize]) {
        self.add_some(key, Some(list).filter(|list| !list.is_empty()));
    }

    /// Adds a list of objects.
    pub fn add_records<T>(&mut self, key: &str, items: impl Iterator<Item = T>, add: impl Fn(&mut Self, T)) {
        self.begin_value(key);
        self.0.push(b'[');
        for item in items {
            self.separate();
            self.0.push(b'{');
            add(self, item);
            self.0.push(b'}');
        }
        self.0.push(b']');
    }

    /// Begins a value. A key of ours needs no escapes.
    pub fn begin_value(&mut self, key: &str) {
        self.separate();
        self.0.push(b'"');
        self.0.extend_from_slice(key.as_bytes());
        self.0.extend_from_slice(b"\":");
    }

    fn separate(&mut self) {
        if !self.0.ends_with(b"{") && !self.0.ends_with(b"[") {
            self.0.push(b',');
        }
    }

    pub fn into_text(mut self) -> String {
        self.0.push(b'}');
        String::from_utf8(self.0).expect("JSON is UTF-8")
    }
}
