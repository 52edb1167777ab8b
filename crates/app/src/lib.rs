//! What the command line and a service of planwright both stand on: settings to agent, what is pending, and
//! the types of `--json`.
//!
//! **Invariant:** nothing here reads a terminal or writes to one, and nothing knows an exit code.

mod agent;
mod agent_line;
mod config;
mod copy;
mod error;
mod explain;
mod mcp;
mod mcp_file;
mod models;
mod overrides;
mod pending;
mod provider;
mod report;
mod servers;
mod settings;
#[cfg(feature = "schema")]
pub mod shapes;
mod spending;
mod spool;
mod steps;
mod store;
mod store_address;
mod toolbox;
mod turn;
mod view;
mod waiting;

pub use agent::{AgentChoice, PreparedAgent, load_spec, spec_for_fixture, spec_source, with_tools_of};
pub use agent_line::{AgentLine, variant};
pub use copy::{CopyReport, UncopiedThread, copy_threads};
pub use error::{Class, Error, Result, read_text};
pub use explain::{ExplainedEffect, Explanation, Refused};
pub use mcp_file::{McpFile, McpListing};
pub use overrides::Overrides;
pub use pending::{Pending, RunLocation, parse_calls};
pub use planwright_mcp::end_connections;
pub use provider::Provider;
pub use report::{RunInfo, drift_json, ended_run, last_state, result_text};
pub use settings::{IndexProgress, Settings, configured_keys};
pub use spending::{Spending, SpendingBy, SpendingLine, SpendingReport, Spent};
pub use spool::Spool;
pub use steps::{plan_json, report_text, results_text, step_text, trace_line_json};
pub use store::{StorePlace, StoredThread, ThreadsPage, list_page, new_thread_id, search_page, shell_word};
pub use store_address::StoreAddress;
pub use turn::{RecordLine, ShownThread, ShownTurn, answer_line, make_fixture_of};
pub use view::*;
pub use waiting::{WaitingPage, WaitingRun};

/// How long a write under way is waited for where a process is told to end; then it is in doubt. With the end of what was
/// started this takes less than the ten seconds after which supervisors kill.
pub const WRITE_GRACE: std::time::Duration = std::time::Duration::from_secs(5);

/// The values of all configured keys: those of the usual variables where the configuration file cannot be used.
pub fn known_keys() -> Vec<planwright::ports::Secret> {
    config::ConfigFile::find(None).unwrap_or_default().keys()
}

/// The currency of the prices in the configuration file; the usual one where none is named.
pub fn configured_currency(config: Option<&std::path::Path>) -> Option<String> {
    config::ConfigFile::find(config).ok()?.currency.filter(|currency| !currency.trim().is_empty())
}
