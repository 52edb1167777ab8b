//! The pattern of a suggestion, compiled and checked against its tool and its template.

use regex_lite::Regex;

use super::{SpecError, Suggestion};
use crate::contract::PlanContract;

impl Suggestion {
    /// Checks the suggestion, and compiles its pattern.
    pub(super) fn compile(&self, plan: &PlanContract) -> Result<Regex, SpecError> {
        let pattern =
            Regex::new(&self.pattern).map_err(|error| SpecError::at("pattern", error.to_string()))?;
        if plan.tool(&self.tool).is_none() {
            return Err(SpecError::at("tool", format!("there is no tool {:?}", self.tool)));
        }
        let known = |name: &&str| match name.parse::<usize>() {
            Ok(nth) => nth < pattern.captures_len(),
            Err(_) => pattern.capture_names().flatten().any(|group| group == *name),
        };
        match referenced_groups(&self.input).into_iter().find(|name| !known(name)) {
            Some(unknown) => {
                let problem = "which `pattern` does not have; a plain `$` is written `$$`";
                Err(SpecError::at("input", format!("refers to the group {unknown:?}, {problem}")))
            }
            None => Ok(pattern),
        }
    }
}

/// The groups that a template refers to, as [`regex_lite::Captures::expand`] reads it: `$name` with the
/// longest name there is, or `${name}`; `$$` is a plain `$`.
fn referenced_groups(template: &str) -> Vec<&str> {
    let reference = Regex::new(r"\$(?:\$|\{([^}]*)\}|([0-9A-Za-z_]+))").expect("it is a pattern");
    let groups = reference.captures_iter(template).filter_map(|found| found.get(1).or(found.get(2)));
    groups.map(|group| group.as_str()).collect()
}
