//! The shipped tools declare the contracts that the shipped agents name.

use std::sync::Arc;

use planwright::contract::ToolContract;
use planwright::ports::{Embedder, Secret, Tool, ToolError};
use planwright_docs::{Articles, Calc, ContractTools, Docs};
use planwright_http::{Lookup, Search, Wiki};

#[test]
fn every_shipped_tool_declares_its_contract() {
    struct Silent;
    impl Embedder for Silent {
        fn embed(&self, _: &[String]) -> Result<Vec<Vec<f32>>, ToolError> {
            Err(ToolError::new("http", "no"))
        }
    }
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(Docs::of(Vec::new())),
        Arc::new(Calc::new()),
        Arc::new(Wiki::default()),
        Arc::new(Lookup::default()),
        Arc::new(Search::new(Secret::new("key")).unwrap()),
    ];
    let contracts =
        ContractTools::new(Articles::example(), Articles::example_standard(), Some(Arc::new(Silent)));
    tools.extend(contracts.tools());
    let declared: Vec<ToolContract> = tools.iter().map(|tool| tool.contract()).collect();
    assert_eq!(declared, planwright::agents::tools());
    for contract in declared {
        contract.check().unwrap();
    }
}
