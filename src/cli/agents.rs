//! `agents`: lists the shipped agents, or shows one.

use serde_json::{Value, json};

use super::args::{AgentsArgs, AgentsCommand};
use super::exit::Exit;
use super::failure::Outcome;
use super::style::columns;
use super::{agent, out, text};
use crate::agents;
use crate::spec::{Spec, Validate};

pub fn agents(args: &AgentsArgs) -> Outcome<Exit> {
    match &args.command {
        None => list(args.json)?,
        Some(AgentsCommand::Show { agent, json }) if *json || args.json => {
            out::print_json(agent::rules(agent, agent::spec(agent)?)?.spec())?;
        }
        Some(AgentsCommand::Show { agent, .. }) => {
            // A file that does not load is not shown as if it were an agent.
            agent::rules(agent, agent::spec(agent)?)?;
            out::print_text(agent::source(agent)?.trim_end())?;
        }
    }
    Ok(Exit::Done)
}

fn list(as_json: bool) -> Outcome<()> {
    let specs: Vec<Spec> = agents::names().filter_map(agents::shipped).collect();
    if as_json {
        let objects: Vec<Value> = specs.iter().map(object).collect();
        return out::print_json(&objects);
    }
    let mut rows = vec![["name", "flow", "description"].map(str::to_owned).to_vec()];
    rows.extend(specs.iter().map(|spec| {
        let default = if spec.name == agents::DEFAULT { " (default)" } else { "" };
        vec![format!("{}{default}", spec.name), flow(spec), text::line(&spec.description)]
    }));
    let lines = text::table(&rows, columns(terminal_size::terminal_size_of(std::io::stdout())));
    out::print(&(lines.join("\n") + "\n"))
}

fn flow(spec: &Spec) -> String {
    match spec.policy.validate {
        Validate::Off => "PLAN EXECUTE WRITE".to_owned(),
        Validate::Verdict | Validate::Sufficiency => {
            format!("PLAN EXECUTE VALIDATE WRITE, at most {} replans", spec.limits.max_replans)
        }
    }
}

fn object(spec: &Spec) -> Value {
    let tools: Vec<&str> = spec.tools.iter().map(|tool| tool.name.as_str()).collect();
    json!({
        "name": spec.name, "default": spec.name == agents::DEFAULT, "flow": flow(spec),
        "description": spec.description, "tools": tools,
    })
}
