//! Redaction: keys are replaced in everything that models, tools and people say, before anything keeps it.
//! So no key reaches the state, and none reaches a journal, a fixture, a trace or an answer from there.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::journal::{Record, first_difference};
use crate::ports::Secret;
use crate::spec::Spec;

/// What stands where a key was.
const REDACTED: &str = "[redacted]";

/// The length of the shortest secret that is replaced, in bytes. Local servers are happy with `x` or `none`, and
/// replacing such a value would garble every text.
pub const MIN_SECRET_BYTES: usize = 8;

/// The shortest secret in what a server says. It is shown in errors alone, so garbling costs little.
const SHORTEST_OF_SERVERS: usize = 4;

/// Most backslashes of one escape. JSON in JSON doubles them; a text of nothing else must cost no more than
/// any other.
const MAX_BACKSLASHES: usize = 8;

/// Replaces the values of configured keys.
#[derive(Clone, Default)]
pub struct Redactor {
    values: Vec<String>,
}

impl Redactor {
    /// A redactor for these keys.
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        Redactor::of_length(MIN_SECRET_BYTES, secrets.into_iter().collect::<Vec<_>>().iter())
    }

    fn of_length<'s>(shortest: usize, secrets: impl Iterator<Item = &'s Secret>) -> Self {
        let mut values = Vec::new();
        for value in secrets.map(|secret| secret.expose().trim()).filter(|value| value.len() >= shortest) {
            // In a text that holds JSON, a key with quotes or backslashes stands escaped.
            let quoted = Value::from(value).to_string();
            values.extend([value.to_owned(), quoted[1..quoted.len() - 1].to_owned()]);
        }
        // The longest first, so that a key that holds another is replaced whole.
        values.sort_by(|a, b| (b.len(), b).cmp(&(a.len(), a)));
        values.dedup();
        Redactor { values }
    }

    /// The text without keys.
    pub fn text(&self, mut text: String) -> String {
        for value in &self.values {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), REDACTED);
            }
            if text.contains('\\') {
                text = replace_escaped(&text, value);
            }
        }
        text
    }

    /// Whether a text holds a key.
    pub fn finds(&self, text: &str) -> bool {
        !self.values.is_empty() && self.text(text.to_owned()) != text
    }

    /// Where a spec holds a key, if it does.
    pub fn found_in(&self, spec: &Spec) -> Option<String> {
        let written = serde_json::to_value(spec).ok().filter(|_| !self.values.is_empty())?;
        let mut clean = written.clone();
        self.clean_value(&mut clean, true);
        // A field's name may be a key too.
        first_difference(&clean, &written).map(|difference| self.text(difference.path))
    }

    /// The next piece of a stream without keys. What may be the beginning of a key stays in `held` until more
    /// has come.
    pub fn piece(&self, held: &mut String, piece: &str) -> String {
        held.push_str(piece);
        let mut text = self.text(std::mem::take(held));
        let begins = |value: &String| {
            (1..value.len()).rev().find(|&end| value.is_char_boundary(end) && text.ends_with(&value[..end]))
        };
        let keep = self.values.iter().filter_map(begins).max().unwrap_or(0);
        *held = text.split_off(text.len() - keep);
        text
    }

    /// What the world said without keys, in all its texts and in the names of what it wrote as JSON.
    pub fn clean<T: Serialize + DeserializeOwned>(&self, said: T) -> T {
        let written =
            Some(&self.values).filter(|values| !values.is_empty()).map(|_| serde_json::to_value(&said));
        let Some(Ok(written)) = written else { return said };
        let clean = |names| {
            let mut clean = written.clone();
            self.clean_value(&mut clean, names);
            (clean != written).then(|| serde_json::from_value(clean).ok())
        };
        // A name of our own is no key: a value that would not read without it keeps its names.
        match clean(true) {
            None => said,
            Some(read) => read.or_else(|| clean(false)?).unwrap_or(said),
        }
    }

    /// The records without keys. They were recorded without the keys of that time; one that was configured
    /// since is taken out here, also of specs.
    pub fn records(&self, mut records: Vec<Record>) -> Vec<Record> {
        for record in &mut records {
            match record {
                Record::Header(header) => {
                    header.input = self.clean(std::mem::take(&mut header.input));
                    header.spec = self.clean(Arc::clone(&header.spec));
                }
                Record::SpecChanged(spec) => *spec = self.clean(Arc::clone(spec)),
                Record::Answered { event, .. } | Record::Happened { event, .. } => {
                    *event = self.clean(event.clone())
                }
                Record::Requested { .. }
                | Record::Resolved { .. }
                | Record::Interrupted { .. }
                | Record::Asked(_) => {}
            }
        }
        records
    }

    fn clean_value(&self, value: &mut Value, names: bool) {
        match value {
            Value::String(text) => *text = self.text(std::mem::take(text)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.clean_value(item, names)),
            Value::Object(fields) => {
                let clean = |(name, mut field)| {
                    self.clean_value(&mut field, names);
                    (if names { self.text(name) } else { name }, field)
                };
                *fields = std::mem::take(fields).into_iter().map(clean).collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// What a server said, without the values of these keys. A text that breaks off amid a key loses that piece
/// too. Shorter keys than those of [`Redactor`] are replaced as well.
pub fn redact<'t>(text: &'t str, secrets: &[Secret]) -> Cow<'t, str> {
    let mut held = String::new();
    let clean = Redactor::of_length(SHORTEST_OF_SERVERS, secrets.iter()).piece(&mut held, text);
    (clean + if held.len() < SHORTEST_OF_SERVERS { &held } else { REDACTED }).into()
}

/// The text without a key that is written with JSON escapes (`\u0073k-…`): decoded, it would be the key
/// again.
fn replace_escaped(text: &str, value: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if let Some(after) = strip_escaped(rest, value) {
            kept.push_str(REDACTED);
            rest = after;
        } else {
            kept.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    kept
}

/// What follows the value at the beginning of a text, each character as it is or escaped.
fn strip_escaped<'t>(text: &'t str, value: &str) -> Option<&'t str> {
    // The escape first: the key's own backslash may be written as one.
    value
        .chars()
        .try_fold(text, |rest, wanted| strip_escape(rest, wanted).or_else(|| rest.strip_prefix(wanted)))
}

fn strip_escape(text: &str, wanted: char) -> Option<&str> {
    let escape = strip_backslashes(text)?;
    let Some((unit, after)) = escape.strip_prefix('u').and_then(code_unit) else {
        return escape.strip_prefix(wanted);
    };
    if u32::from(unit) == u32::from(wanted) {
        return Some(after);
    }
    // A character outside the first plane is written as two units.
    let mut units = [0; 2];
    let [high, low] = wanted.encode_utf16(&mut units) else { return None };
    let (next, after) = code_unit(strip_backslashes(after)?.strip_prefix('u')?)?;
    (unit == *high && next == *low).then_some(after)
}

/// What follows the backslashes of one escape.
fn strip_backslashes(text: &str) -> Option<&str> {
    let count = text.bytes().take(MAX_BACKSLASHES).take_while(|&byte| byte == b'\\').count();
    (count > 0).then(|| &text[count..])
}

/// Four hexadecimal digits, and what follows them.
fn code_unit(text: &str) -> Option<(u16, &str)> {
    let digits = text.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    Some((u16::from_str_radix(digits, 16).ok()?, &text[4..]))
}
