//! What the command line and a service of planwright both stand on: settings to agent, what is pending, and
//! the types of `--json`.
//!
//! **Invariant:** nothing here reads a terminal or writes to one, and nothing knows an exit code.

mod agent;
mod catalog;
mod conclusion;
mod contract;
mod error;
mod handbook;
mod location;
mod pending;
mod report;
mod settings;
mod spent;
mod store;
mod toolbox;

pub use agent::{AgentChoice, PreparedAgent};
pub use catalog::{
    compile_agent, compile_spec, load_spec, replaying_agent, spec_for_fixture, spec_source, tool_names,
    with_tools_of,
};
pub use conclusion::run_error;
pub use error::{Class, Error, Result};
pub use location::RunLocation;
pub use pending::{Pending, PendingJson, Subject, now, shell_word};
pub use report::{DifferenceJson, DriftJson, RunInfo, RunReport};
pub use settings::{IndexProgress, Overrides, Settings, configured_keys};
pub use spent::Spent;
pub use store::{StorePlace, StoredThread, visit_threads};
