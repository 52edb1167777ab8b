//! Tool calls as they build up: whole in one message, or in pieces over a stream.
//!
//! Servers differ in nearly everything here. The index may be missing, or be 0 for every call; the id may be
//! missing, or a new one in every piece; the name may come once, in every piece, or in pieces; the arguments may
//! be a text, pieces of one, or an object. So a call is told from the next by whether its arguments have ended.
//!
//! **Invariant:** nothing here reads what a call means. Arguments that are no JSON are passed on as they came.

use std::borrow::Cow;

use serde_json::Value;

use planwright::contract::AskedCall;

const MAX_CALLS: usize = 128;

#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Begun>,
    /// Whether they came as the one `function_call` of older servers.
    legacy: bool,
}

#[derive(Debug, Default)]
struct Begun {
    index: u64,
    id: String,
    name: String,
    arguments: String,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Adds the calls of a message, or of a piece of one.
    pub(super) fn add(&mut self, message: &Value, is_piece: bool) -> Result<(), String> {
        let entries = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        if !entries.is_empty() && self.legacy {
            // Some servers say it in both ways; the newer one is the fuller.
            *self = Calls::default();
        }
        for (nth, entry) in entries.iter().enumerate() {
            let Some(piece) = Piece::of(entry) else { continue };
            // Entries of one list are calls of their own, unless an index says otherwise.
            let goes_on = is_piece && (nth == 0 || piece.index.is_some() || piece.name.is_empty());
            self.add_piece(&piece, goes_on)?;
        }
        let legacy = Piece::of(&message["function_call"]).filter(|_| self.is_empty() || self.legacy);
        self.legacy |= legacy.is_some();
        legacy.map_or(Ok(()), |piece| self.add_piece(&piece, is_piece))
    }

    /// Adds a whole call, unless there are too many.
    fn push(&mut self, name: &str, arguments: &str) {
        if self.calls.len() < MAX_CALLS {
            let (name, arguments) = (name.to_owned(), arguments.to_owned());
            self.calls.push(Begun { name, arguments, ..Begun::default() });
        }
    }

    fn add_piece(&mut self, piece: &Piece<'_>, may_go_on: bool) -> Result<(), String> {
        let begun = self.find_begun(piece).filter(|_| may_go_on);
        let at = begun.unwrap_or(self.calls.len());
        if begun.is_none() {
            if at == MAX_CALLS {
                return Err(format!("expected at most {MAX_CALLS} tool calls in one reply, found more"));
            }
            let last = self.calls.iter().map(|call| call.index).max();
            let index = piece.index.or(last).unwrap_or_default();
            self.calls.push(Begun { index, ..Begun::default() });
        }
        let call = &mut self.calls[at];
        if !piece.id.is_empty() {
            piece.id.clone_into(&mut call.id);
        }
        // The whole name again, the name so far with a little more, or another piece of it.
        call.name.push_str(piece.name.strip_prefix(call.name.as_str()).unwrap_or(piece.name));
        // Some servers end with the whole of the arguments once more.
        if piece.arguments != call.arguments || !call.is_whole() {
            call.arguments.push_str(&piece.arguments);
        }
        Ok(())
    }

    /// The call that a piece goes on with; `None` where it begins another.
    fn find_begun(&self, piece: &Piece<'_>) -> Option<usize> {
        let last = self.calls.len().checked_sub(1)?;
        let at = match piece.index {
            // The last of them: where every call has index 0, the earlier ones are at their end.
            Some(index) => self.calls.iter().rposition(|call| call.index == index)?,
            None if piece.id.is_empty() => last,
            None => self.calls.iter().rposition(|call| call.id == piece.id).unwrap_or(last),
        };
        (!self.calls[at].is_another(piece)).then_some(at)
    }

    pub(super) fn finish(mut self) -> Vec<AskedCall> {
        self.calls.sort_by_key(|call| call.index);
        let finish = |Begun { name, arguments, .. }: Begun| match arguments.trim() {
            "" => AskedCall { name, arguments: "{}".to_owned() },
            _ => AskedCall { name, arguments },
        };
        self.calls.into_iter().map(finish).collect()
    }
}

/// Reads the calls that a server could not read itself out of the model's text: JSON with a name and arguments, in a
/// list or not, or `<function=NAME>{…}`. A text with none is a call without a name, which the contract refuses.
pub(super) fn parse_generated_calls(text: &str) -> Vec<AskedCall> {
    let mut calls = Calls::default();
    for part in text.split("<function=").skip(1) {
        let (name, rest) = part.split_at(part.find(['>', '{', '(']).unwrap_or(part.len()));
        let arguments = rest.find('{').zip(rest.rfind('}')).and_then(|(from, to)| rest.get(from..=to));
        calls.push(name.trim(), arguments.unwrap_or_default());
    }
    let json = text.get(text.find(['{', '[']).unwrap_or(text.len())..).unwrap_or_default();
    let values = serde_json::Deserializer::from_str(json).into_iter::<Value>().map_while(Result::ok);
    for value in values.filter(|_| !text.contains("<function=")) {
        let list = if value["tool_calls"].is_array() { &value["tool_calls"] } else { &value };
        for entry in list.as_array().map_or(std::slice::from_ref(list), Vec::as_slice) {
            let Some(piece) = Piece::of(entry).filter(|piece| !piece.name.is_empty()) else { continue };
            calls.push(piece.name, &piece.arguments);
        }
    }
    if calls.is_empty() {
        calls.push("", text);
    }
    calls.finish()
}

/// What one entry says of a call.
struct Piece<'a> {
    index: Option<u64>,
    id: &'a str,
    name: &'a str,
    arguments: Cow<'a, str>,
}

impl<'a> Piece<'a> {
    /// `None` where it says nothing.
    fn of(entry: &'a Value) -> Option<Self> {
        let function = if entry["function"].is_object() { &entry["function"] } else { entry };
        let arguments = if function["arguments"].is_null() { "parameters" } else { "arguments" };
        let arguments = match &function[arguments] {
            Value::Null => Cow::Borrowed(""),
            Value::String(text) => Cow::Borrowed(text.as_str()),
            value => Cow::Owned(value.to_string()),
        };
        let text = |value: &'a Value| value.as_str().unwrap_or_default();
        let (id, name) = (text(&entry["id"]), text(&function["name"]));
        let says_something = !id.is_empty() || !name.is_empty() || !arguments.is_empty();
        says_something.then(|| Piece { index: entry["index"].as_u64(), id, name, arguments })
    }
}

impl Begun {
    /// Whether a piece begins another call. An id or a name alone tells nothing: servers renew and repeat them.
    fn is_another(&self, piece: &Piece<'_>) -> bool {
        if piece.name.is_empty() {
            return false;
        }
        let other_id = !piece.id.is_empty() && !self.id.is_empty() && piece.id != self.id;
        let other_name = !self.name.is_empty() && piece.name != self.name;
        if self.arguments.is_empty() {
            return other_id && (other_name || piece.index.is_none());
        }
        let says_more = !piece.arguments.trim().is_empty() && piece.arguments != self.arguments;
        other_name || (other_id || says_more) && self.is_whole()
    }

    /// Whether the arguments have ended: their brackets are closed outside of texts, in strict JSON or not.
    fn is_whole(&self) -> bool {
        let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
        for c in self.arguments.chars() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = in_text,
                '"' => in_text = !in_text,
                '{' | '[' if !in_text => depth += 1,
                '}' | ']' if !in_text => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        self.arguments.trim_start().starts_with(['{', '[']) && depth == 0 && !in_text
    }
}
