//! Reading a model's reply: finds the JSON object in it and says exactly what does not fit.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};

/// How many opening braces of a reply are tried as the start of its JSON object.
const MAX_CANDIDATES: usize = 64;
/// Longest path and longest problem of a contract error, in characters.
const MAX_MESSAGE_CHARS: usize = 500;

/// Something that does not fit a contract, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct ContractError {
    path: String,
    problem: String,
}

impl ContractError {
    /// An error at a JSON path (`$.steps[2].tool`) or a field name of a declaration. Both texts are
    /// cut to a bounded length, since they may quote a reply.
    pub(crate) fn at(path: impl AsRef<str>, problem: impl AsRef<str>) -> Self {
        let bounded = |text: &str| excerpt(text, MAX_MESSAGE_CHARS);
        ContractError { path: bounded(path.as_ref()), problem: bounded(problem.as_ref()) }
    }

    /// The JSON path of the value that does not fit.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What was expected and what came.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// Puts the error under an outer path.
    pub(super) fn under(mut self, outer: &str) -> Self {
        self.path = match self.path.strip_prefix('$') {
            Some(rest) => format!("{outer}{rest}"),
            None => format!("{outer}.{}", self.path),
        };
        self
    }

    /// Replaces the head of the path.
    pub(super) fn moved(mut self, from: &str, to: &str) -> Self {
        if let Some(rest) = self.path.strip_prefix(from) {
            self.path = format!("{to}{rest}");
        }
        self
    }
}

/// The first `max` characters of a text, with an ellipsis if something was left off.
pub fn excerpt(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Refuses a reply that is over the size limit, unread.
pub(crate) fn check_size(text: &str, max_bytes: usize) -> Result<(), ContractError> {
    if text.len() <= max_bytes {
        return Ok(());
    }
    Err(ContractError::at("$", format!("expected at most {max_bytes} bytes, found {}", text.len())))
}

/// A reply without the white space around it, and without the thoughts that reasoning models put in
/// front (`<think>…</think>`).
pub(crate) fn strip_thoughts(text: &str) -> &str {
    let text = text.trim_start_matches('\u{feff}').trim();
    let thought = text.strip_prefix("<think>").and_then(|rest| rest.split_once("</think>"));
    thought.map_or(text, |(_, reply)| reply.trim())
}

/// Deserializes what models write as one text, as a list of texts, or not at all.
pub(super) fn deserialize_texts<'de, D: Deserializer<'de>>(source: D) -> Result<Option<String>, D::Error> {
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

/// Parses the JSON object of a reply as `T`: the reply itself or, if it is wrapped in a code fence or in
/// prose, the first outermost object in it that fits.
///
/// # Errors
/// The JSON path and the problem: of the largest object found if none fits, of the whole reply if there
/// is no object in it.
pub(super) fn parse_object<T: DeserializeOwned>(text: &str, max_bytes: usize) -> Result<T, ContractError> {
    check_size(text, max_bytes)?;
    // Nearly every reply is just the object, so that is tried first and without path tracking.
    // (An array would read as an object too, field by field.)
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(value);
    }
    let text = strip_thoughts(text);
    if text.starts_with('[') && serde_json::from_str::<IgnoredAny>(text).is_ok() {
        return Err(ContractError::at("$", "expected a JSON object, found an array"));
    }
    let mut largest: Option<&str> = None;
    let mut objects = Objects { text, from: 0, tries: MAX_CANDIDATES, broken: None };
    for candidate in &mut objects {
        match serde_json::from_str(candidate) {
            Ok(value) => return Ok(value),
            Err(_) if largest.is_none_or(|known| known.len() < candidate.len()) => largest = Some(candidate),
            Err(_) => {}
        }
    }
    Err(match (largest, objects.broken) {
        (Some(candidate), None) => explain_misfit::<T>(candidate),
        (Some(candidate), Some((read, _))) if read <= candidate.len() => explain_misfit::<T>(candidate),
        (_, Some((_, problem))) => ContractError::at("$", problem),
        (None, None) if text.is_empty() => {
            ContractError::at("$", "expected a JSON object, found an empty reply")
        }
        (None, None) => {
            let begins = excerpt(text, 60);
            ContractError::at("$", format!("expected a JSON object, found text that begins {begins:?}"))
        }
    })
}

/// Why an object does not fit, with the path to the place.
fn explain_misfit<T: DeserializeOwned>(candidate: &str) -> ContractError {
    let mut source = serde_json::Deserializer::from_str(candidate);
    match serde_path_to_error::deserialize::<_, T>(&mut source) {
        Ok(_) => ContractError::at("$", "expected one JSON object"),
        Err(error) => {
            let inner = error.path().to_string();
            let path = if inner == "." { "$".to_owned() } else { format!("$.{inner}") };
            // serde_json ends with a line and a column inside the candidate; the path says more.
            let message = error.into_inner().to_string();
            ContractError::at(
                path,
                message.rsplit_once(" at line ").map_or(message.as_str(), |(said, _)| said),
            )
        }
    }
}

/// The outermost complete JSON objects in a text, in order. What looks complete inside one that is
/// broken or cut off is a part of it, and a part is not what was asked for.
struct Objects<'a> {
    text: &'a str,
    from: usize,
    tries: usize,
    /// The broken object that parsed furthest: how many bytes of it, and what is wrong there.
    broken: Option<(usize, String)>,
}

impl Objects<'_> {
    fn note_broken(&mut self, read: usize, problem: String) {
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
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
            match values.next()? {
                Ok(_) => {
                    self.from = start + values.byte_offset();
                    return Some(&self.text[start..self.from]);
                }
                Err(error) if error.is_eof() => {
                    let begins = excerpt(rest, 60);
                    let problem =
                        format!("expected a whole JSON object, found one that is cut off: {begins:?}");
                    self.note_broken(rest.len(), problem);
                    return None;
                }
                Err(error) => {
                    let read = error_offset(rest, &error);
                    let problem = format!("expected a JSON object, found JSON that does not parse ({error})");
                    self.note_broken(read, problem);
                    self.from = start + read.max(1);
                    while !self.text.is_char_boundary(self.from) {
                        self.from += 1;
                    }
                }
            }
        }
        None
    }
}

/// Where in a text a parse error stands, in bytes.
fn error_offset(text: &str, error: &serde_json::Error) -> usize {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    (before + error.column().saturating_sub(1)).min(text.len())
}
