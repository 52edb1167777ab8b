//! Reading a model's reply: finds the one JSON object in it and says exactly what does not fit. What a reply
//! says twice and differently, or only in a thought, is not guessed at.

use std::borrow::Cow;
use std::cmp::Reverse;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::excerpt;

/// How many opening braces of a reply are tried as the start of its JSON object.
const MAX_CANDIDATES: usize = 64;
/// The problem of a reply that says two different things.
const SEVERAL: &str = "expected one JSON object, found several that differ";
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

    /// Names a field as the role is asked for it.
    pub(super) fn rename_field(mut self, from: &str, to: &str) -> Self {
        self.problem = self.problem.replace(&format!("`{from}`"), &format!("`{to}`"));
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

/// Refuses a reply that is over the size limit, unread.
pub(super) fn check_size(text: &str, max_bytes: usize) -> Result<(), ContractError> {
    if text.len() <= max_bytes {
        return Ok(());
    }
    Err(ContractError::at("$", format!("expected at most {max_bytes} bytes, found {}", text.len())))
}

/// Parses a reply in words: the text without thoughts.
pub(crate) fn parse_words(text: &str, max_bytes: usize) -> Result<String, ContractError> {
    check_size(text, max_bytes)?;
    Ok(strip_thoughts(text).into_owned())
}

/// The tags between which reasoning models think aloud.
const THOUGHT_TAGS: [&str; 4] = ["think", "thinking", "thought", "reasoning"];
/// Longest thought tag, in bytes.
const MAX_TAG_BYTES: usize = 16;

/// Whether a tag opens a thought, and its length. A tag in backticks is spoken of.
pub(super) fn thought_tag(text: &str, at: usize) -> Option<(bool, usize)> {
    if text[..at].ends_with('`') { None } else { parse_tag(&text[at..]) }
}

fn parse_tag(rest: &str) -> Option<(bool, usize)> {
    let end = rest.bytes().take(MAX_TAG_BYTES).position(|byte| byte == b'>')?;
    let name = rest[..end].strip_prefix('<')?.trim_matches('|');
    let opens = !name.starts_with('/');
    let name = name.trim_start_matches('/').trim();
    THOUGHT_TAGS.iter().any(|tag| tag.eq_ignore_ascii_case(name)).then_some((opens, end + 1))
}

/// Whether a text that begins with `<` may be the beginning of a tag that has not come whole.
pub(super) fn may_begin_tag(rest: &str) -> bool {
    rest.len() < MAX_TAG_BYTES && !rest.contains('>')
}

/// A reply without thoughts, and where a thought begins that does not end. If thoughts nest, one ends when all
/// that were opened in it are closed, and nothing is taken for said that may be thought; else at its first
/// closing tag, and nothing is lost that was said behind a thought about tags.
pub(super) fn cut_thoughts(text: &str, nest: bool) -> (Cow<'_, str>, Option<usize>) {
    let (mut kept, mut from, mut depth, mut opened) = (String::new(), 0, 0, 0);
    for (at, _) in text.match_indices('<') {
        let Some((opens, len)) = thought_tag(text, at) else { continue };
        match (opens, depth) {
            (true, 0) => {
                kept.push_str(&text[from..at]);
                (depth, opened) = (1, at);
            }
            (true, _) => depth += usize::from(nest),
            // Some servers leave the opening tag out: what came before was a thought.
            (false, 0) => kept.clear(),
            (false, _) => depth -= 1,
        }
        from = at + len;
    }
    match (from, depth) {
        (0, _) => (Cow::Borrowed(text), None),
        (_, 0) => (Cow::Owned(kept + &text[from..]), None),
        _ => (Cow::Owned(kept), Some(opened)),
    }
}

/// A reply without the white space around it, and without the thoughts of reasoning models. A tag that is
/// never closed begins a thought where it begins a line; elsewhere it is a word of the text.
pub(crate) fn strip_thoughts(text: &str) -> Cow<'_, str> {
    let text = text.trim_start_matches('\u{feff}').trim();
    match cut_thoughts(text, false) {
        (shown, Some(at)) if !begins_line(text, at) => {
            Cow::Owned(format!("{shown}{}", &text[at..]).trim().to_owned())
        }
        (Cow::Borrowed(text), _) => Cow::Borrowed(text),
        (Cow::Owned(shown), _) => Cow::Owned(shown.trim().to_owned()),
    }
}

fn begins_line(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with('\n')
}

/// A reply without any thought, closed or not.
pub(super) fn strip_all_thoughts(text: &str) -> Cow<'_, str> {
    cut_thoughts(text.trim_start_matches('\u{feff}'), true).0
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
/// prose, the one outermost object in it that fits. Thoughts and what stands in quotation marks are not taken. A
/// reply that says two different things says nothing, also where one of them does not fit. The error is about the largest object found if none fits; else about the whole reply.
pub(super) fn parse_object<T: DeserializeOwned>(text: &str, max_bytes: usize) -> Result<T, ContractError> {
    check_size(text, max_bytes)?;
    // Nearly every reply is just the object, so that is tried first and without path tracking.
    // (An array would read as an object too, field by field.)
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(value);
    }
    let shown = strip_thoughts(text);
    if shown.starts_with('[') && serde_json::from_str::<IgnoredAny>(&shown).is_ok() {
        return Err(ContractError::at("$", "expected a JSON object, found an array"));
    }
    let Objects { whole, broken, doubt } = find_objects(text);
    let mut misfits: Vec<&str> = Vec::new();
    let mut fits: Option<(T, &str)> = None;
    for candidate in whole {
        match (serde_json::from_str(candidate), &fits) {
            (Ok(value), None) => fits = Some((value, candidate)),
            (Ok(_), Some((_, first))) if is_same_json(first, candidate) => {}
            (Ok(_), Some(_)) => return Err(ContractError::at("$", SEVERAL)),
            (Err(_), _) => misfits.push(candidate),
        }
    }
    let holds_fit =
        |object: &str| serde_json::from_str(object).is_ok_and(|value: Value| any_part_fits::<T>(&value));
    let problem = match (fits, doubt) {
        (Some((_, first)), None)
            if misfits.iter().any(|other| holds_fit(other) || shares_field(first, other)) =>
        {
            SEVERAL.to_owned()
        }
        (Some((value, _)), None) => return Ok(value),
        (Some(_), Some(problem)) => problem,
        (None, doubt) => {
            let read = broken.as_ref().map_or(0, |(read, _)| *read);
            let largest = misfits.into_iter().min_by_key(|candidate| Reverse(candidate.len()));
            if let Some(candidate) = largest.filter(|candidate| read <= candidate.len()) {
                return Err(explain_misfit::<T>(candidate));
            }
            broken.map(|(_, problem)| problem).or(doubt).unwrap_or_else(|| match &*shown {
                "" => "expected a JSON object, found an empty reply".to_owned(),
                text => format!("expected a JSON object, found text that begins {:?}", excerpt(text, 60)),
            })
        }
    };
    Err(ContractError::at("$", problem))
}

/// Whether a value holds an object that fits.
fn any_part_fits<T: DeserializeOwned>(value: &Value) -> bool {
    let fits = |part: &Value| part.is_object() && T::deserialize(part).is_ok() || any_part_fits::<T>(part);
    match value {
        Value::Object(fields) => fields.values().any(fits),
        Value::Array(items) => items.iter().any(fits),
        _ => false,
    }
}

/// Whether two objects speak of the same: a field of the one is a field of the other.
fn shares_field(one: &str, other: &str) -> bool {
    let fields = |text| serde_json::from_str::<serde_json::Map<String, Value>>(text).unwrap_or_default();
    let known = fields(one);
    fields(other).keys().any(|field| known.contains_key(field))
}

fn is_same_json(one: &str, other: &str) -> bool {
    let value = |text| serde_json::from_str::<Value>(text).ok();
    one == other || value(one).is_some_and(|one| Some(one) == value(other))
}

/// Why an object does not fit, with the path to the place.
fn explain_misfit<T: DeserializeOwned>(candidate: &str) -> ContractError {
    let mut source = serde_json::Deserializer::from_str(candidate);
    let Err(error) = serde_path_to_error::deserialize::<_, T>(&mut source) else {
        return ContractError::at("$", "expected one JSON object");
    };
    let inner = error.path().to_string();
    let path = if inner == "." { "$".to_owned() } else { format!("$.{inner}") };
    // serde_json ends with a line and a column inside the candidate; the path says more.
    let message = error.into_inner().to_string();
    ContractError::at(path, message.rsplit_once(" at line ").map_or(&*message, |(problem, _)| problem))
}

/// The outermost JSON objects of a text outside of thoughts.
#[derive(Default)]
struct Objects<'a> {
    /// The complete ones, in order; what looks complete inside a broken one is a part of it.
    whole: Vec<&'a str>,
    /// The broken object that parsed furthest: how many bytes of it, and what is wrong there.
    broken: Option<(usize, String)>,
    /// Why what is whole may not be all that the reply says.
    doubt: Option<String>,
}

impl Objects<'_> {
    fn note_broken(&mut self, read: usize, problem: String) {
        if self.broken.as_ref().is_none_or(|(known, _)| *known < read) {
            self.broken = Some((read, problem));
        }
    }
}

fn find_objects(text: &str) -> Objects<'_> {
    let mut found = Objects::default();
    let (mut from, mut depth, mut tries) = (0, 0, 0);
    // Behind the last thought that ended, and how many were opened since.
    let (mut outside, mut opened) = (0, 0);
    while let Some(at) = text[from..].find(['{', '<']) {
        let start = from + at;
        let rest = &text[start..];
        from = start + 1;
        if let Some((opens, len)) = thought_tag(text, start) {
            from = start + len;
            match (opens, depth) {
                (true, _) => (depth, opened) = (depth + 1, opened + 1),
                (false, 0) if count_opening_tags(&text[outside..start]) > opened => {
                    // One that stands in broken JSON or in backticks may be the one that ends here.
                    found.doubt = Some("expected one JSON object, found a thought that only ends".to_owned());
                    return found;
                }
                (false, 0) => (found, outside, opened) = (Objects::default(), from, 0),
                (false, _) => depth -= 1,
            }
        } else if rest.starts_with('{') && depth == 0 {
            tries += 1;
            if tries > MAX_CANDIDATES {
                let problem = format!("expected one JSON object, found more than {MAX_CANDIDATES} braces");
                found.doubt = Some(problem);
                return found;
            }
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
            match values.next() {
                Some(Err(error)) if error.is_eof() => {
                    let expected = "expected a whole JSON object, found one that is cut off";
                    let problem = format!("{expected}: {:?}", excerpt(rest, 60));
                    found.note_broken(rest.len(), problem.clone());
                    found.doubt = Some(problem);
                    return found;
                }
                Some(Err(error)) => {
                    let read = error_offset(rest, &error);
                    let problem = format!("expected a JSON object, found JSON that does not parse ({error})");
                    // A brace that no key follows is a word of the prose.
                    if begins_with_key(rest[1..].trim_start()) {
                        found.doubt.get_or_insert_with(|| problem.clone());
                    }
                    found.note_broken(read, problem);
                    from = start + read.max(1);
                    while !text.is_char_boundary(from) {
                        from += 1;
                    }
                }
                _ => {
                    from = start + values.byte_offset();
                    found.whole.push(&text[start..from]);
                    if is_quoted(&text[..start], &text[from..]) {
                        let problem = "expected one JSON object, found one in quotation marks";
                        found.doubt.get_or_insert_with(|| problem.to_owned());
                    }
                }
            }
        }
    }
    if depth > 0 {
        found.doubt = Some("expected a JSON object, found a reply that ends in a thought".to_owned());
    }
    found
}

/// Whether what follows a brace is a key, in the quotation marks of JSON, in others, or in none.
fn begins_with_key(text: &str) -> bool {
    let name = text.trim_start_matches(['\'', '‘', '“', '`']);
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    let rest = name[end..].trim_start_matches(['\'', '’', '”', '`']).trim_start();
    text.starts_with('"') || end > 0 && rest.starts_with([':', '='])
}

/// Whether what stands between these two is said to be what somebody else said.
fn is_quoted(before: &str, behind: &str) -> bool {
    before.ends_with(['"', '\'', '“', '‘', '«']) && behind.starts_with(['"', '\'', '”', '’', '»'])
}

fn count_opening_tags(text: &str) -> usize {
    let is_opening = |&(at, _): &(usize, &str)| matches!(parse_tag(&text[at..]), Some((true, _)));
    text.match_indices('<').filter(is_opening).count()
}

/// Where in a text a parse error stands, in bytes.
fn error_offset(text: &str, error: &serde_json::Error) -> usize {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    (before + error.column().saturating_sub(1)).min(text.len())
}
