//! What was collected is shown once: of a record that an earlier result holds too, only its name and where it was
//! found first. The same article comes by its number, by its title and by a search.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Map, Value};

use crate::contract::canonical;

/// Under which keys a record has its text.
const TEXTS: [&str; 4] = ["text", "content", "summary", "snippet"];

/// The records that were shown, whole, with the step that found each.
#[derive(Default)]
pub(super) struct Shown(BTreeMap<String, String>);

impl Shown {
    /// The output of a step as it is shown after those before it. Records are the objects with a text in a JSON list,
    /// or in a list of a JSON object.
    pub fn add<'a>(&mut self, output: Cow<'a, str>, step: impl Fn() -> String) -> Cow<'a, str> {
        // Without a list there is nothing to read it for.
        if !output.trim_start().starts_with(['[', '{']) || !output.contains('[') {
            return output;
        }
        let Ok(mut value) = serde_json::from_str::<Value>(&output) else { return output };
        let lists: Vec<&mut Vec<Value>> = match &mut value {
            Value::Array(list) => vec![list],
            Value::Object(fields) => fields.values_mut().filter_map(Value::as_array_mut).collect(),
            _ => return output,
        };
        let mut repeats = false;
        for record in lists.into_iter().flatten() {
            let whole = canonical(record);
            let Some((fields, key)) = record.as_object_mut().and_then(|fields| {
                let key = TEXTS.into_iter().find(|key| has_text(fields, key))?;
                Some((fields, key))
            }) else {
                continue;
            };
            match self.0.entry(whole) {
                Entry::Vacant(entry) => drop(entry.insert(step())),
                Entry::Occupied(first) => {
                    fields.shift_remove(key);
                    fields.insert("same_as".to_owned(), first.get().as_str().into());
                    repeats = true;
                }
            }
        }
        if repeats { value.to_string().into() } else { output }
    }
}

fn has_text(fields: &Map<String, Value>, key: &str) -> bool {
    fields.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_is_shown_once_whatever_found_it_and_nothing_else_changes() {
        let mut shown = Shown::default();
        let mut add =
            |output: &'static str, step: &str| shown.add(output.into(), || step.to_owned()).into_owned();
        let five = r#"{"contract":"user","articles":[{"part":"제5조","text":"갑은 을에게 알린다."}]}"#;
        assert_eq!(add(five, "step_1"), five);
        let found = r#"{"articles":[{"part":"제7조","text":"끝난다."},{"part":"제5조","text":"갑은 을에게 알린다."}]}"#;
        let once = r#"{"articles":[{"part":"제7조","text":"끝난다."},{"part":"제5조","same_as":"step_1"}]}"#;
        assert_eq!(add(found, "step_2"), once);
        let seven = r#"[{"text":"끝난다.","part":"제7조"}]"#;
        assert_eq!(add(seven, "step_3"), r#"[{"part":"제7조","same_as":"step_2"}]"#);
        for other in
            [r#"[{"part":"제5조","text":"갑은 알린다."}]"#, "[1, 1]", "[1", "글", r#"[{"note":"x"}]"#]
        {
            assert_eq!((add(other, "a"), add("7", "b")), (other.to_owned(), "7".to_owned()));
        }
    }
}
