//! The tools that read a contract.

use std::path::Path;
use std::sync::Arc;

use crate::catalog::tool_names;
use crate::error::{Error, Result};
use crate::settings::Settings;
use planwright::driver::Agent;
use planwright::ports::{Embedder, ToolError};
use planwright_docs::{Articles, ContractTools};
use planwright_http::{Embeddings, Retry};

/// Their names.
const TOOLS: [&str; 4] =
    ["hybrid_search", "get_article_by_index", "get_article_by_title", "lookup_standard_contract"];

/// The tools over the contract and the standard contract, if one of them is wanted.
pub fn open_tools(settings: &Settings, wanted: impl Fn(&str) -> bool) -> Result<Option<ContractTools>> {
    if !TOOLS.iter().any(|tool| wanted(tool)) {
        return Ok(None);
    }
    let open = |path: &Path| Articles::open(path).map_err(|error| Error::unusable(error.message));
    let user = settings.contract.as_deref().map(open).transpose()?.unwrap_or_else(Articles::example);
    let standard = settings.standard.as_deref().map(open).transpose()?;
    let standard = standard.unwrap_or_else(Articles::example_standard);
    Ok(Some(ContractTools::new(user, standard, open_embedder(settings)?)))
}

fn open_embedder(settings: &Settings) -> Result<Option<Arc<dyn Embedder>>> {
    let Some(server) = &settings.embeddings else { return Ok(None) };
    let bad = |error: ToolError| Error::unusable(format!("[embeddings]: {error}"));
    let client = Embeddings::new(&server.base_url, &server.model).map_err(bad)?;
    // A search by words alone is better than a long wait.
    let mut client = client.retry(Retry::default().tries(2));
    if let Some(key) = &server.key {
        client = client.key(key.clone()).map_err(bad)?;
    }
    Ok(Some(Arc::new(client)))
}

/// The parts of the contract, if the agent reads one.
pub fn outline(agent: &Agent, settings: &Settings) -> Result<Vec<String>> {
    let names = tool_names(agent.rules().spec());
    let contracts = open_tools(settings, |name| names.contains(&name))?;
    Ok(contracts.map(|contracts| contracts.outline()).unwrap_or_default())
}
