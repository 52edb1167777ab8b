//! Values as lines of text, which are laid side by side.

use serde_json::Value;

/// A value as lines: JSON with a field a line, also where it stands in a text, broken behind each `\n` in it. What a text
/// says stays escaped there, so that it can pass for no field.
pub(super) fn lines_of(value: &Value) -> String {
    let inside = |text: &str| serde_json::from_str::<Value>(text).ok().filter(Value::is_object);
    let written = |value: &Value| format!("{value:#}").replace("\\n", "\\n\n    ");
    match value {
        Value::String(text) => inside(text).as_ref().map_or_else(|| text.clone(), written),
        Value::Null => String::new(),
        other => written(other),
    }
}
