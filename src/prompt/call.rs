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
        (None, Some(_)) => {
            let source = (*progress.schedule.links.inputs.get(step as usize)?)?;
            Cow::Owned(Value::String(progress.steps.get(source as usize)?.output()?.to_owned()))
        }
        (None, None) => return None,
    };
    Some((&planned.tool, input))
}
