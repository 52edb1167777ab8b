//! `mcp`: what MCP servers offer, and what of it is pinned.

use serde_json::json;

use crate::args::ServersArgs;
use crate::out::{Exit, stdout_columns};
use crate::screen::while_waiting;
use crate::signals::handle_signals;
use crate::{out, text};
use planwright_app::{Class, McpFile, McpListing, Overrides, Result, Settings};

/// Asks the servers that a file names.
fn ask(args: &ServersArgs) -> Result<(McpFile, Vec<McpListing>)> {
    handle_signals(|| Some("planwright: stopped at once".to_owned()));
    // No model is asked.
    let settings = Overrides { offline: true, ..Overrides::default() };
    let settings = Settings::resolve(&settings, args.config.as_deref(), None)?;
    let file = McpFile::read(args.agent.as_deref(), &settings)?;
    let listed = while_waiting("asking the servers", || file.list(&args.servers, &settings))?;
    Ok((file, listed))
}

pub fn list(args: &ServersArgs, as_json: bool) -> Result<()> {
    let (_, listed) = ask(args)?;
    match as_json {
        true => out::print_json(&listed.iter().map(listing_json).collect::<Vec<_>>())?,
        false => out::print_lines(&listing_lines(&listed))?,
    }
    listed.iter().try_for_each(McpListing::check)
}

pub fn pin(args: &ServersArgs, only_check: bool) -> Result<Exit> {
    let (file, listed) = ask(args)?;
    let path = if only_check { None } else { Some(file.pin(&listed)?) };
    out::print_lines(&listed.iter().flat_map(change_lines).collect::<Vec<_>>())?;
    let Some(path) = path else {
        let differs = listed.iter().any(|listing| !listing.is_pinned || !listing.changes.is_empty());
        return Ok(differs.then_some(Class::Failed));
    };
    out::remark(&format!("pinned in {}", path.display()));
    Ok(None)
}

/// What differs from the pins of a server, or how many tools it has.
fn change_lines(listing: &McpListing) -> Vec<String> {
    let used = listing.used.iter().filter(|used| **used).count() as u64;
    let state = match (listing.is_pinned, listing.changes.is_empty()) {
        (false, _) => "not pinned before",
        (true, true) => "as pinned",
        (true, false) => "says something else than was pinned:",
    };
    let head = format!("{}: {} used, {state}", text::line(&listing.server), text::count(used, "tool"));
    std::iter::once(head)
        .chain(listing.changes.iter().map(|line| format!("  {}", text::line(line))))
        .collect()
}

fn listing_lines(listed: &[McpListing]) -> Vec<String> {
    let rows = listed.iter().flat_map(|listing| {
        listing.tools.iter().zip(&listing.used).map(|((tool, contract), used)| match contract {
            Ok(contract) => {
                let used = if *used { "" } else { "not used: " };
                let approval = if contract.needs_approval { ", asks under \"risky\"" } else { "" };
                let once = if contract.happens_once() { ", once" } else { "" };
                let about = contract.description.lines().next().unwrap_or_default();
                let effect = format!("{}{once}{approval}", contract.effect);
                [text::line(&contract.name), effect, text::line(&format!("{used}{about}"))]
            }
            Err(problem) => {
                let name = format!("{}.{}", listing.server, tool.name);
                [text::line(&name), "refused".to_owned(), text::line(problem)]
            }
        })
    });
    text::table(["tool", "effect", "description"], rows, stdout_columns())
}

fn listing_json(listing: &McpListing) -> serde_json::Value {
    let tools = listing.tools.iter().zip(&listing.used).map(|((tool, contract), used)| {
        let (contract, refused) = (contract.as_ref().ok(), contract.as_ref().err());
        json!({"tool": tool.name, "used": used, "contract": contract, "refused": refused})
    });
    json!({
        "server": listing.server, "pinned": listing.is_pinned, "changes": listing.changes,
        "problem": listing.problem,
        "tools": tools.collect::<serde_json::Value>(),
    })
}
