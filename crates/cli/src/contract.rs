//! What a run is about beside its question: a contract, earlier turns, whose question it is.

use std::path::Path;

use super::args::RunArgs;
use super::config::Settings;
use super::failure::{Failure, Outcome};
use planwright::driver::Agent;
use planwright::machine::{Input, Turn};
use planwright::spec::Memory;
use planwright_docs::{Articles, ContractTools};

/// The tools that read contracts, each by its name.
const TOOLS: [&str; 4] =
    ["hybrid_search", "get_article_by_index", "get_article_by_title", "lookup_standard_contract"];

/// The tools over the contract and the standard contract, where one of them is wanted.
pub fn tools(settings: &Settings, wanted: impl Fn(&str) -> bool) -> Outcome<Option<ContractTools>> {
    if !TOOLS.iter().any(|tool| wanted(tool)) {
        return Ok(None);
    }
    let open = |path: &Path| Articles::open(path).map_err(|error| Failure::unusable(error.message));
    let user = settings.contract.as_deref().map(open).transpose()?.unwrap_or_else(Articles::example);
    let standard = settings.standard.as_deref().map(open).transpose()?;
    let standard = standard.unwrap_or_else(Articles::example_standard);
    Ok(Some(ContractTools::new(user, standard, embedder(settings)?)))
}
fn embedder(settings: &Settings) -> Outcome<Option<std::sync::Arc<dyn planwright::ports::Embedder>>> {
    use planwright_http::Embeddings;

    let Some(server) = &settings.embeddings else { return Ok(None) };
    let bad = |error: planwright::ports::ToolError| Failure::unusable(format!("[embeddings]: {error}"));
    let client = Embeddings::new(&server.base_url, &server.model).map_err(bad)?;
    // A search by words alone is better than a long wait.
    let mut client = client.retry(planwright_http::Retry::default().tries(2));
    if let Some(key) = &server.key {
        client = client.key(key.clone()).map_err(bad)?;
    }
    Ok(Some(std::sync::Arc::new(client)))
}

/// The parts of the contract at hand, where the agent reads one.
pub fn outline(agent: &Agent, settings: &Settings) -> Outcome<Vec<String>> {
    let names = super::agent::tool_names(agent.rules().spec());
    let contracts = tools(settings, |name| names.contains(&name))?;
    Ok(contracts.map(|contracts| contracts.outline()).unwrap_or_default())
}

/// The input of a run, with all that was said about it on the command line.
pub fn input(input: Input, args: &RunArgs, agent: &Agent) -> Outcome<Input> {
    let history = args.history.as_deref().map(history).transpose()?.unwrap_or_default();
    if !history.is_empty() && agent.rules().policy().memory == Memory::None {
        let name = &agent.rules().spec().name;
        let problem = format!("--history: the agent {name} remembers no earlier turns (`memory = \"none\"`)");
        return Err(Failure::unusable(problem).hint("take another agent, such as one of `planwright agents`"));
    }
    Ok(Input { history, session: args.session.clone(), ..input })
}

/// Most of a history that is read, in bytes.
const MAX_HISTORY_BYTES: u64 = 1 << 20;

fn history(path: &Path) -> Outcome<Vec<Turn>> {
    let shown = path.display();
    let unreadable = |error| Failure::caused(format!("{shown}: cannot be read"), error);
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_HISTORY_BYTES {
        let problem = format!("{shown}: expected at most {MAX_HISTORY_BYTES} bytes, found {size}");
        return Err(Failure::unusable(problem));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    serde_json::from_str(&text).map_err(|error| {
        let expected = "expected a JSON list of {\"role\": \"user\" or \"assistant\", \"content\": TEXT}";
        Failure::unusable(format!("{shown}: {expected}: {error}"))
    })
}
