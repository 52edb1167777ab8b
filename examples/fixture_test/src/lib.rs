//! An agent of one's own, to be tested without a model.

use planwright::prelude::*;
use planwright::spec::SpecError;

/// The agent that answers about the boiler. A program adds a model: a replay needs none.
///
/// # Errors
/// A spec that contradicts itself.
pub fn agent() -> Result<Agent, SpecError> {
    let notes = ToolContract::text("notes", "Searches my notes.", ToolEffect::Pure);
    let spec = planwright::agents::shipped("plan-then-execute").expect("shipped").with_tools(|_| false);
    Agent::builder(spec)
        .tool(FnTool::new(notes, |_| Ok("The boiler was serviced on 3 May by Kim Ltd.".into())))
        .build()
}
