//! What a tool is called with.

use std::borrow::Cow;

use serde_json::Value;

use crate::machine::State;

/// The tool of a step and the input it is called with: the plan's own, or an earlier step's output.
///
/// Returns `None` where the run has no such step, or the output it needs is not there yet.
pub fn tool_call(state: &State, step: u32) -> Option<(&str, Cow<'_, Value>)> {
    let progress = state.task.progress.as_ref()?;
    let planned = progress.plan.steps.get(step as usize)?;
    let input = match (&planned.input, &planned.input_from) {
        (Some(input), _) => Cow::Borrowed(input),
        (None, Some(name)) => {
            let steps = progress.plan.steps.iter().take(step as usize).enumerate();
            let source = steps.rev().find(|(at, earlier)| earlier.has_name(*at, name)).map(|(at, _)| at)?;
            Cow::Owned(Value::String(progress.steps.get(source)?.output()?.to_owned()))
        }
        (None, None) => return None,
    };
    Some((&planned.tool, input))
}
