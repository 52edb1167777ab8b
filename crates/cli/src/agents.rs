//! `agents`: lists the shipped agents, or shows one.

use serde_json::{Value, json};

use crate::args::{AgentsArgs, AgentsCommand};
use crate::exit::Exit;
use crate::style::stdout_columns;
use crate::{out, text};
use planwright::agents;
use planwright::spec::{Horizon, Orchestrate, Spec, Validate, ValidateAt, Write};
use planwright_app::{Result, compile_agent, spec_source, tool_names};

pub fn agents(args: &AgentsArgs) -> Result<Exit> {
    match &args.command {
        None => list(args.json)?,
        Some(AgentsCommand::Show { agent, json }) if *json || args.json => {
            out::print_json(compile_agent(agent)?.spec())?;
        }
        Some(AgentsCommand::Show { agent, .. }) => {
            // A file that does not load is not shown as if it were an agent.
            compile_agent(agent)?;
            out::print_text(spec_source(agent)?.trim_end())?;
        }
    }
    Ok(Exit::Done)
}

fn list(as_json: bool) -> Result<()> {
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
    out::print_lines(&text::table(&rows, stdout_columns()))
}

/// The phases of an agent in one line, out of its policy.
fn flow(spec: &Spec) -> String {
    let (policy, limits) = (&spec.policy, &spec.limits);
    let mut phases = vec![match policy.intake.as_slice() {
        [] => "PLAN".to_owned(),
        intake => {
            let asked: Vec<String> =
                intake.iter().map(|intake| text::variant(intake).replace('_', " ")).collect();
            format!("PLAN ({})", asked.join(", "))
        }
    }];
    phases.push(match policy.orchestrate {
        Orchestrate::Never => "EXECUTE".to_owned(),
        Orchestrate::EachStep => "EXECUTE (orchestrated)".to_owned(),
    });
    let validate = (policy.validate != Validate::Off).then(|| "VALIDATE".to_owned());
    let write = match policy.write {
        Write::Model => Some("WRITE"),
        Write::LastResult => Some("WRITE (last result)"),
        Write::Summary => Some("WRITE (summary)"),
        Write::Planner => None,
    };
    let write = write.map(str::to_owned);
    phases.extend(
        match policy.validate_at {
            ValidateAt::Results => [validate, write],
            ValidateAt::Answer => [write, validate],
        }
        .into_iter()
        .flatten(),
    );
    let phases = phases.join(" ");
    match (policy.horizon, limits.max_iterations) {
        (Horizon::Next, Some(most)) => format!("{phases}, at most {most} rounds"),
        _ if policy.can_replan() => format!("{phases}, at most {} replans", limits.max_replans),
        _ => phases,
    }
}

fn object(spec: &Spec) -> Value {
    let tools = tool_names(spec);
    json!({
        "name": spec.name, "default": spec.name == agents::DEFAULT, "flow": flow(spec),
        "description": spec.description, "tools": tools,
    })
}
