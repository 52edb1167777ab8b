//! Whether a contract fits the tool that is called under its name.

use serde_json::Value;

use super::ToolContract;

impl ToolContract {
    /// Where a run that goes by this contract would be mistaken about the tool at hand: the tool does more
    /// than the contract says, may not be called as often, or takes no such input. A contract may ask for
    /// more care than its tool, never for less; the rest is its own to say.
    ///
    /// ```
    /// use planwright::contract::{ToolContract, ToolEffect};
    ///
    /// let said = ToolContract::text("send", "Sends a text.", ToolEffect::Read);
    /// let tool = ToolContract { effect: ToolEffect::Write, ..said.clone() };
    /// assert_eq!(said.mistaken_about(&tool).unwrap(), "effect: expected write, found read");
    /// assert_eq!(tool.mistaken_about(&said), None);
    /// ```
    pub fn mistaken_about(&self, tool: &ToolContract) -> Option<String> {
        if tool.effect > self.effect {
            let (expected, found) = (tool.effect.as_str(), self.effect.as_str());
            return Some(format!("effect: expected {expected}, found {found}"));
        }
        if tool.happens_once() && !self.happens_once() {
            return Some("idempotent: expected false, found true".to_owned());
        }
        no_such_input(&self.input, &tool.input)
    }
}

/// Why no input that fits the one schema fits the other. What is not clear from their types and from the
/// fields that they name is left to the call.
fn no_such_input(said: &Value, taken: &Value) -> Option<String> {
    let kind = |schema: &Value| schema.get("type").and_then(Value::as_str).map(str::to_owned);
    let (found, expected) = (kind(said)?, kind(taken)?);
    if found != expected && !(found == "integer" && expected == "number") {
        return Some(format!("input: expected {expected}, found {found}"));
    }
    let fields = said.get("properties").and_then(Value::as_object)?;
    let required = taken.get("required").and_then(Value::as_array)?;
    let missing = required.iter().filter_map(Value::as_str).find(|field| !fields.contains_key(*field))?;
    Some(format!("input: expected the field {missing:?}, found none of that name"))
}
