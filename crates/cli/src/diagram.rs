//! `diagram`: draws the phases of an agent, as they were explored.

use super::args::{DiagramArgs, Format};
use super::exit::Exit;
use super::failure::Outcome;
use super::screen::while_waiting;
use super::{agent, out};
use planwright::agents;
use planwright::machine::explore::diagram::{dot, mermaid};
use planwright::machine::explore::sketch;

pub fn diagram(args: &DiagramArgs) -> Outcome<Exit> {
    let name = args.agent.as_deref().unwrap_or(agents::DEFAULT);
    let rules = agent::rules(name, agent::spec(name)?)?;
    let report = while_waiting("exploring every edge", || sketch(&rules));
    let drawing = match args.format {
        Format::Mermaid => mermaid(&report),
        Format::Dot => dot(&report),
    };
    out::print_text(drawing.trim_end())?;
    Ok(Exit::Done)
}
