//! Which keywords a schema may use, and which values they take.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::pattern::{MAX_PATTERNS, Pattern};
use super::refer::pointer;
use crate::contract::ContractError;

const MAX_DEPTH: usize = 32;
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "array", "object", "null"];
/// The keywords that strict-mode servers take.
const PLAIN: &str = "type properties required additionalProperties items enum const anyOf minItems maxItems \
    minLength maxLength minimum maximum";
/// The other keywords that assert something.
const RICH: &str = "$ref $defs definitions pattern allOf oneOf not if then else prefixItems additionalItems contains \
    minContains maxContains uniqueItems unevaluatedItems patternProperties propertyNames minProperties maxProperties \
    dependentRequired dependentSchemas dependencies unevaluatedProperties exclusiveMinimum exclusiveMaximum multipleOf";
/// Keywords that change what others mean, in ways that are not followed.
const REFUSED: &str = "$dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $anchor $vocabulary";

fn is_one_of(list: &str, keyword: &str) -> bool {
    list.split(' ').any(|known| known == keyword)
}

/// Whether strict-mode servers take a keyword, or ignore it as an annotation.
pub(super) fn is_plain(keyword: &str) -> bool {
    !is_one_of(RICH, keyword)
}

fn takes_any_text(schema: &Value) -> bool {
    let asserts = |keyword: &str| !is_plain(keyword) || is_one_of(PLAIN, keyword);
    let holds = |(keyword, value): (&String, &Value)| match keyword.as_str() {
        "type" => value == "string",
        "minLength" => value.as_u64().is_some_and(|least| least <= 1),
        other => !asserts(other),
    };
    schema["type"] == "string" && schema.as_object().is_some_and(|keywords| keywords.iter().all(holds))
}

/// A JSON schema that was checked itself, ready to check values.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(super) root: Value,
    pub(super) patterns: BTreeMap<String, Pattern>,
    /// Whether it uses more than the keywords that strict-mode servers take.
    pub(super) is_rich: bool,
    /// Whether every text of at least one character conforms: what most tools take.
    pub(super) takes_any_text: bool,
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.root == other.root
    }
}

impl Schema {
    /// Checks a schema and compiles its patterns.
    ///
    /// # Errors
    /// The first keyword that is ill-formed or not checked, by its path in the schema.
    pub fn new(schema: &Value) -> Result<Self, ContractError> {
        let read = read(schema)?;
        let takes_any_text = takes_any_text(schema);
        Ok(Schema { root: schema.clone(), patterns: read.patterns, is_rich: read.is_rich, takes_any_text })
    }

    /// A schema that no value conforms to.
    pub(crate) fn nothing() -> Self {
        Schema { root: Value::Bool(false), patterns: BTreeMap::new(), is_rich: true, takes_any_text: false }
    }

    /// The schema as it was written.
    pub fn as_value(&self) -> &Value {
        &self.root
    }
}

/// What reading a schema finds.
#[derive(Default)]
struct Read {
    patterns: BTreeMap<String, Pattern>,
    is_rich: bool,
    /// What is referred to, and which of it is still to be read.
    targets: BTreeSet<String>,
    unread: Vec<String>,
}

/// Reads a whole schema, and whatever in it is referred to.
fn read(schema: &Value) -> Result<Read, ContractError> {
    let mut read = Read::default();
    if !schema.is_object() {
        return refuse("$", "expected a JSON schema (an object)");
    }
    read.check_schema(schema, "$", schema, 0)?;
    while let Some(target) = read.unread.pop() {
        let found = schema.pointer(&target).expect("it was found where it is referred to");
        read.check_schema(schema, &format!("#{target}"), found, 0)?;
    }
    Ok(read)
}

fn refuse<T>(path: &str, problem: impl AsRef<str>) -> Result<T, ContractError> {
    Err(ContractError::at(path, problem))
}

impl Read {
    fn check_schema(
        &mut self,
        root: &Value,
        path: &str,
        schema: &Value,
        depth: usize,
    ) -> Result<(), ContractError> {
        if depth > MAX_DEPTH {
            return refuse(path, format!("nested deeper than {MAX_DEPTH} levels"));
        }
        let Value::Object(keywords) = schema else {
            self.is_rich = true;
            let problem = "expected a JSON schema (an object)";
            return if schema.is_boolean() { Ok(()) } else { refuse(path, problem) };
        };
        for (keyword, value) in keywords {
            let place = format!("{path}.{keyword}");
            self.is_rich |= is_one_of(RICH, keyword);
            if !self.check_keyword(root, &place, (keyword, value), depth + 1)? {
                return refuse(&place, format!("ill-formed value {value}"));
            }
        }
        Ok(())
    }

    /// Whether a keyword's value is well-formed. What a schema in it gets wrong is an error of its own.
    fn check_keyword(
        &mut self,
        root: &Value,
        path: &str,
        (keyword, value): (&str, &Value),
        depth: usize,
    ) -> Result<bool, ContractError> {
        Ok(match (keyword, value) {
            ("properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas", _) => {
                let Value::Object(fields) = value else { return Ok(false) };
                for (name, field) in fields {
                    let path = format!("{path}.{name}");
                    if keyword == "patternProperties" {
                        self.compile(&path, name)?;
                    }
                    self.check_schema(root, &path, field, depth)?;
                }
                true
            }
            ("dependencies" | "dependentRequired", Value::Object(fields)) => {
                for (name, field) in fields {
                    match texts(field) {
                        None if keyword == "dependencies" => {
                            self.check_schema(root, &format!("{path}.{name}"), field, depth)?;
                        }
                        None => return Ok(false),
                        Some(_) => {}
                    }
                }
                true
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(choices)) => {
                for (at, choice) in choices.iter().enumerate() {
                    self.check_schema(root, &format!("{path}[{at}]"), choice, depth)?;
                }
                self.is_rich |= keyword == "items";
                !choices.is_empty() || keyword == "items"
            }
            (
                "items"
                | "additionalItems"
                | "additionalProperties"
                | "contains"
                | "propertyNames"
                | "not"
                | "if"
                | "then"
                | "else"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                _,
            ) => {
                let is_flag = keyword == "additionalProperties" && value.is_boolean();
                self.is_rich |= keyword == "additionalProperties" && !is_flag;
                if !is_flag {
                    self.check_schema(root, path, value, depth)?;
                }
                true
            }
            ("$ref", Value::String(to)) => {
                let Some(target) = pointer(to).filter(|target| root.pointer(target).is_some()) else {
                    let problem = format!("expected a reference into this schema (\"#/…\"), found {to:?}");
                    return refuse(path, problem);
                };
                if self.targets.insert(target.to_string()) {
                    self.unread.push(target.into_owned());
                }
                true
            }
            ("pattern", Value::String(pattern)) => self.compile(path, pattern).map(|()| true)?,
            ("type", _) => {
                let names = value.as_str().map(|name| vec![name]).or_else(|| texts(value));
                names.is_some_and(|names| names.iter().all(|name| TYPES.contains(name)))
            }
            ("required", _) => texts(value).is_some(),
            ("enum", _) => value.as_array().is_some_and(|values| !values.is_empty()),
            ("uniqueItems", _) => value.is_boolean(),
            ("minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum", _) => value.is_number(),
            ("multipleOf", _) => value.as_f64().is_some_and(|number| number > 0.0),
            ("minItems" | "maxItems" | "minLength" | "maxLength", _) => value.is_u64(),
            ("minProperties" | "maxProperties" | "minContains" | "maxContains", _) => value.is_u64(),
            ("$id", _) => depth == 1,
            ("const", _) => true,
            ("$ref" | "pattern" | "anyOf" | "oneOf" | "allOf" | "prefixItems", _) => false,
            ("dependencies" | "dependentRequired", _) => false,
            _ if is_one_of(REFUSED, keyword) => return refuse(path, "unsupported keyword"),
            _ => match mistaken_for(keyword) {
                Some(meant) => return refuse(path, format!("unknown keyword; is {meant:?} meant?")),
                None => true,
            },
        })
    }

    fn compile(&mut self, path: &str, pattern: &str) -> Result<(), ContractError> {
        if self.patterns.contains_key(pattern) {
            return Ok(());
        }
        if self.patterns.len() == MAX_PATTERNS {
            return refuse(path, format!("expected at most {MAX_PATTERNS} patterns in a schema, found more"));
        }
        let compiled = Pattern::new(pattern).map_err(|problem| ContractError::at(path, problem))?;
        self.patterns.insert(pattern.to_owned(), compiled);
        Ok(())
    }
}

/// The keyword that an unknown one with the same letters, or but one letter more or less, is meant to be. Any other
/// unknown keyword is an annotation, as the drafts say.
fn mistaken_for(keyword: &str) -> Option<&'static str> {
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.chars().flat_map(char::to_lowercase).collect();
        letters.sort_unstable();
        letters
    };
    let found = letters(keyword);
    let lacks_one = |long: &[char], short: &[char]| {
        long.len() == short.len() + 1
            && (0..long.len()).any(|at| [&long[..at], &long[at + 1..]].concat() == short)
    };
    let is_meant = |known: &&str| {
        let known = letters(known);
        found == known || known.len() > 3 && (lacks_one(&found, &known) || lacks_one(&known, &found))
    };
    PLAIN.split(' ').chain(RICH.split(' ')).find(is_meant)
}

/// A list of texts.
pub(super) fn texts(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}
