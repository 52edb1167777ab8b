//! The names of tools and agents, which share one space.

use super::refuse::{Checked, refuse};
use crate::contract::HITL;
use crate::spec::{Spec, SpecError};

pub(super) fn check_names(spec: &Spec) -> Checked {
    let mut names = std::collections::BTreeSet::new();
    for (at, tool) in spec.tools.iter().enumerate() {
        let field = format!("tools[{at}]");
        tool.check().map_err(|error| {
            SpecError::at(format!("{field}.{}", error.path()), error.problem().to_owned())
        })?;
        if !names.insert(tool.name.as_str()) {
            return refuse(field, format!("the name {:?} is taken", tool.name));
        }
    }
    for (at, agent) in spec.agents.iter().enumerate() {
        let field = format!("agents[{at}]");
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let name = &agent.name;
        if name.is_empty() || name.len() > 64 || !name.chars().all(legal) {
            let problem = format!("expected 1 to 64 letters, digits, `_` or `-`, found {name:?}");
            return refuse(format!("{field}.name"), problem);
        }
        if [crate::contract::FINAL_ANSWER, HITL].contains(&name.as_str()) {
            return refuse(format!("{field}.name"), format!("{name:?} is reserved"));
        }
        if agent.description.trim().is_empty() {
            return refuse(format!("{field}.description"), "expected a sentence, found nothing");
        }
        if !names.insert(name.as_str()) {
            return refuse(field, format!("the name {name:?} is taken"));
        }
    }
    Ok(())
}
