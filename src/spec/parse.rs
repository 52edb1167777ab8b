//! TOML as people write it, read like JSON: what there is to read is compiled once, and for one format.

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};
use toml::de::{DeTable, DeValue};

/// Why a text in TOML does not read, with the place: `line 3, column 1`. The text itself is not in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct TomlError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// What is wrong there.
    pub problem: String,
}

impl TomlError {
    fn at(text: &str, place: usize, problem: &str) -> Self {
        let before = text.get(..place).unwrap_or(text);
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        TomlError { line: before.matches('\n').count() + 1, column, problem: problem.to_owned() }
    }
}

/// Parses a text in TOML.
///
/// # Errors
/// What does not parse or fit, with its place.
pub fn parse_toml<T: DeserializeOwned>(text: &str) -> Result<T, TomlError> {
    let value: Value = toml::from_str(text)
        .map_err(|error| TomlError::at(text, error.span().map_or(0, |span| span.start), error.message()))?;
    serde_path_to_error::deserialize(value).map_err(|error| {
        let problem = error.inner().to_string();
        let place = find_place(text, error.path(), problem.starts_with("unknown field"));
        TomlError::at(text, place.unwrap_or_default(), &problem)
    })
}

/// Where the value at a path begins, or its name.
fn find_place(text: &str, path: &Path, is_name: bool) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let root = DeValue::Table(table.into_inner());
    let (mut place, mut value) = (0, &root);
    for segment in path {
        let found = match (segment, value) {
            (Segment::Map { key }, DeValue::Table(fields)) => {
                let (name, found) = fields.get_key_value(key.as_str())?;
                place = name.span().start;
                found
            }
            (Segment::Seq { index }, DeValue::Array(items)) => items.get(*index)?,
            _ => break,
        };
        if !is_name {
            place = found.span().start;
        }
        value = found.get_ref();
    }
    Some(place)
}
