//! Reading a model's reply: finds the JSON object in it and says exactly what does not fit.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many opening braces of a reply are tried as the start of its JSON object.
const MAX_CANDIDATES: usize = 64;

/// Something that does not fit a contract, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractError {
    path: String,
    problem: String,
}

impl ContractError {
    /// An error at a JSON path (`$.steps[2].tool`) or a field name of a declaration.
    pub fn at(path: impl Into<String>, problem: impl Into<String>) -> Self {
        ContractError { path: path.into(), problem: problem.into() }
    }

    /// The JSON path of the value that does not fit.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What was expected and what came.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// The same error, seen from one level further out.
    pub(crate) fn under(mut self, outer: &str) -> Self {
        self.path = match self.path.strip_prefix('$') {
            Some(rest) => format!("{outer}{rest}"),
            None => format!("{outer}.{}", self.path),
        };
        self
    }
}

impl fmt::Display for ContractError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.problem)
    }
}

impl std::error::Error for ContractError {}

/// Refuses a reply that is over the size limit, unread.
pub(crate) fn within(text: &str, max_bytes: usize) -> Result<(), ContractError> {
    if text.len() <= max_bytes {
        return Ok(());
    }
    let problem = format!("expected at most {max_bytes} bytes, found {}", text.len());
    Err(ContractError::at("$", problem))
}

/// Reads the JSON object of a reply as `T`: the reply itself, or, where it is wrapped in a code
/// fence or in prose, the first outermost object in it that fits.
///
/// # Errors
/// The JSON path and the problem: of the largest object found where none fits, of the whole reply
/// where there is no object in it.
pub fn object<T: DeserializeOwned>(text: &str, max_bytes: usize) -> Result<T, ContractError> {
    within(text, max_bytes)?;
    // Nearly every reply is just the object, so that is tried first and without path tracking.
    if let Ok(value) = serde_json::from_str(text) {
        return Ok(value);
    }
    let mut largest: Option<&str> = None;
    let mut objects = Objects::of(text);
    for candidate in &mut objects {
        match serde_json::from_str(candidate) {
            Ok(value) => return Ok(value),
            Err(_) if largest.is_none_or(|known| known.len() < candidate.len()) => {
                largest = Some(candidate);
            }
            Err(_) => {}
        }
    }
    match (largest, objects.cut) {
        (_, Some(problem)) => Err(ContractError::at("$", problem)),
        (Some(candidate), None) => Err(explain::<T>(candidate)),
        (None, None) => Err(no_object(text)),
    }
}

/// Why an object does not fit, with the path to the place.
fn explain<T: DeserializeOwned>(candidate: &str) -> ContractError {
    let mut source = serde_json::Deserializer::from_str(candidate);
    match serde_path_to_error::deserialize::<_, T>(&mut source) {
        Ok(_) => ContractError::at("$", "expected one JSON object"),
        Err(error) => {
            let inner = error.path().to_string();
            let path = if inner == "." { "$".to_owned() } else { format!("$.{inner}") };
            ContractError::at(path, without_position(&error.into_inner().to_string()))
        }
    }
}

/// serde_json ends its messages with a line and column inside the *candidate*; the path says more.
fn without_position(message: &str) -> String {
    match message.rfind(" at line ") {
        Some(end) => message[..end].to_owned(),
        None => message.to_owned(),
    }
}

fn no_object(text: &str) -> ContractError {
    let text = text.trim();
    if text.is_empty() {
        return ContractError::at("$", "expected a JSON object, found an empty reply");
    }
    let found = match text.find('{').map(|start| serde_json::from_str::<Value>(&text[start..])) {
        Some(Err(error)) => format!("JSON that does not parse ({})", without_position(&error.to_string())),
        _ => format!("text that begins {:?}", excerpt(text, 60)),
    };
    ContractError::at("$", format!("expected a JSON object, found {found}"))
}

/// The first `max` characters of a text, with an ellipsis where something was left off.
pub(crate) fn excerpt(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The outermost complete JSON objects in a text, in order. Ends at one that is cut off: what looks
/// complete after its brace is a part of it, and a part is not what was asked for.
struct Objects<'a> {
    text: &'a str,
    from: usize,
    tries: usize,
    cut: Option<String>,
}

impl<'a> Objects<'a> {
    fn of(text: &'a str) -> Self {
        Objects { text, from: 0, tries: MAX_CANDIDATES, cut: None }
    }
}

impl<'a> Iterator for Objects<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        while self.tries > 0 {
            let start = self.from + self.text[self.from..].find('{')?;
            self.tries -= 1;
            let rest = &self.text[start..];
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<serde::de::IgnoredAny>();
            match values.next() {
                Some(Ok(_)) => {
                    self.from = start + values.byte_offset();
                    return Some(&self.text[start..self.from]);
                }
                Some(Err(error)) if error.is_eof() => {
                    let begins = excerpt(rest, 60);
                    self.cut =
                        Some(format!("expected a whole JSON object, found one that is cut off: {begins:?}"));
                    return None;
                }
                Some(Err(_)) | None => self.from = start + 1,
            }
        }
        None
    }
}
