//! Reading a model's reply: finds the JSON object in it and says exactly what does not fit.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

/// How many opening braces of a reply are tried as the start of its JSON object.
const MAX_CANDIDATES: usize = 64;
/// Longest path and longest problem of a contract error, in characters.
const MAX_MESSAGE_CHARS: usize = 500;

/// Something that does not fit a contract, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractError {
    path: String,
    problem: String,
}

impl ContractError {
    /// An error at a JSON path (`$.steps[2].tool`) or a field name of a declaration.
    pub fn at(path: impl Into<String>, problem: impl Into<String>) -> Self {
        // Messages quote what came, and what came may be as long as a reply.
        let bounded = |text: String| excerpt(&text, MAX_MESSAGE_CHARS);
        ContractError { path: bounded(path.into()), problem: bounded(problem.into()) }
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
    pub fn under(mut self, outer: &str) -> Self {
        self.path = match self.path.strip_prefix('$') {
            Some(rest) => format!("{outer}{rest}"),
            None => format!("{outer}.{}", self.path),
        };
        self
    }

    /// The same error in another place: the head of its path replaced.
    pub fn moved(mut self, from: &str, to: &str) -> Self {
        if let Some(rest) = self.path.strip_prefix(from) {
            self.path = format!("{to}{rest}");
        }
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
pub fn within(text: &str, max_bytes: usize) -> Result<(), ContractError> {
    if text.len() <= max_bytes {
        return Ok(());
    }
    let problem = format!("expected at most {max_bytes} bytes, found {}", text.len());
    Err(ContractError::at("$", problem))
}

/// What a reply says: without the white space around it, and without the thoughts that reasoning
/// models put in front (`<think>…</think>`).
pub fn spoken(text: &str) -> &str {
    let text = text.trim_start_matches('\u{feff}').trim();
    let thought = text.strip_prefix("<think>").and_then(|rest| rest.split_once("</think>"));
    thought.map_or(text, |(_, said)| said.trim())
}

/// Reads what models write as one text, as a list of texts, or not at all.
pub(super) fn joined_texts<'de, D: Deserializer<'de>>(source: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a text or a list of texts")]
    enum Texts {
        One(String),
        Many(Vec<String>),
    }
    Ok(Option::<Texts>::deserialize(source)?.map(|texts| match texts {
        Texts::One(text) => text,
        Texts::Many(texts) => texts.join(", "),
    }))
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
    // (An array would read as an object too, field by field.)
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(value);
    }
    let text = spoken(text);
    if text.starts_with('[') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        return Err(ContractError::at("$", "expected a JSON object, found an array"));
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
    match (largest, objects.broken) {
        (Some(candidate), broken) if broken.as_ref().is_none_or(|(read, _)| *read <= candidate.len()) => {
            Err(explain::<T>(candidate))
        }
        (_, Some((_, problem))) => Err(ContractError::at("$", problem)),
        (_, None) => Err(no_object(text)),
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
    let found = match text.is_empty() {
        true => "an empty reply".to_owned(),
        false => format!("text that begins {:?}", excerpt(text, 60)),
    };
    ContractError::at("$", format!("expected a JSON object, found {found}"))
}

/// The first `max` characters of a text, with an ellipsis where something was left off.
pub fn excerpt(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The outermost complete JSON objects in a text, in order. What looks complete inside one that is
/// broken or cut off is a part of it, and a part is not what was asked for.
struct Objects<'a> {
    text: &'a str,
    from: usize,
    tries: usize,
    /// The broken object that read furthest: how many bytes of it read, and what is wrong there.
    broken: Option<(usize, String)>,
}

impl<'a> Objects<'a> {
    fn of(text: &'a str) -> Self {
        Objects { text, from: 0, tries: MAX_CANDIDATES, broken: None }
    }

    fn note(&mut self, read: usize, problem: String) {
        if self.broken.as_ref().is_none_or(|(known, _)| *known < read) {
            self.broken = Some((read, problem));
        }
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
                    let problem =
                        format!("expected a whole JSON object, found one that is cut off: {begins:?}");
                    self.note(rest.len(), problem);
                    return None;
                }
                Some(Err(error)) => {
                    let read = offset(rest, &error);
                    self.note(
                        read,
                        format!("expected a JSON object, found JSON that does not parse ({error})"),
                    );
                    self.from = start + read.max(1);
                    while !self.text.is_char_boundary(self.from) {
                        self.from += 1;
                    }
                }
                None => self.from = start + 1,
            }
        }
        None
    }
}

/// Where in a text a parse error stands, in bytes.
fn offset(text: &str, error: &serde_json::Error) -> usize {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    (before + error.column().saturating_sub(1)).min(text.len())
}
