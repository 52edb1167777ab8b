//! `diagram`: draws the phases of an agent, as they were explored.

use super::args::{DiagramArgs, Format};
use super::exit::Exit;
use super::failure::Outcome;
use super::verify::{Report, explore};
use super::{agent, out};
use crate::agents;

pub fn diagram(args: &DiagramArgs) -> Outcome<Exit> {
    let name = args.agent.as_deref().unwrap_or(agents::DEFAULT);
    let rules = agent::rules(name, agent::spec(name)?)?;
    out::print_text(drawn(&explore(&rules)?, args.format).trim_end())?;
    Ok(Exit::Done)
}

fn drawn(_: &Report, format: Format) -> String {
    match format {
        Format::Mermaid => String::new(),
        Format::Dot => String::new(),
    }
}
