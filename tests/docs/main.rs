//! The local document tools.

mod articles;
mod cache;
mod calc;
mod contracts;
mod folder;

use std::sync::Arc;

use planwright::contract::{ToolContract, Trust};
use planwright::ports::{Secret, Tool, ToolCall, ToolError, ToolOutput};
use planwright_docs::{Articles, Calc, ContractTools, Docs};
use planwright_http::{Embeddings, Lookup, Search, Wiki};
use serde_json::Value;

/// Calls a tool without a deadline, with room for so many bytes.
fn call(tool: &dyn Tool, input: &Value, max_output_bytes: usize) -> Result<ToolOutput, ToolError> {
    tool.call(&ToolCall { max_output_bytes, ..ToolCall::new(input, "run/1") })
}

#[test]
fn every_shipped_tool_declares_its_contract() {
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(Docs::of(Vec::new())),
        Arc::new(Calc::new()),
        Arc::new(Wiki::default()),
        Arc::new(Lookup::default()),
        Arc::new(Search::new(Secret::new("key")).unwrap()),
    ];
    let embeddings = Arc::new(Embeddings::new("http://localhost/v1", "e", &Secret::new("")).unwrap());
    tools.extend(ContractTools::new(Articles::example(), Articles::example(), Some(embeddings)).tools());
    let declared: Vec<ToolContract> = tools.iter().map(|tool| tool.contract()).collect();
    assert_eq!(declared, planwright::agents::tools());
    for contract in declared {
        contract.check().unwrap();
        assert!(contract.takes_text());
        assert!(contract.name == "calc" || contract.trust == Trust::Untrusted, "{}", contract.name);
    }
}
