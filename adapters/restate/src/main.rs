//! `planwright-restate [AGENT] [ADDRESS]`: a worker with the settings of the program, out of the same configuration file
//! and variables. The usual agent and `0.0.0.0:9080` where nothing else is said.

use std::process::ExitCode;

use planwright_app::{AgentChoice, Error, Overrides, Result, Settings, StorePlace};
use planwright_restate::Worker;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match work(arguments.next(), arguments.next()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("planwright-restate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn work(agent: Option<String>, address: Option<String>) -> Result<()> {
    let address = address.unwrap_or_else(|| "0.0.0.0:9080".to_owned());
    let unusable = |error: &dyn std::fmt::Display| Error::unusable(format!("{address}: {error}"));
    let listens_at = address.parse().map_err(|error: std::net::AddrParseError| unusable(&error))?;
    let settings = Settings::resolve(&Overrides::default(), None, None)?;
    let prepared = AgentChoice { agent, ..AgentChoice::default() }.prepare(&settings, None, None)?;
    let threads = StorePlace::find(None, None, None)?.make()?;
    for line in prepared.warnings.iter().chain(&prepared.notes) {
        eprintln!("planwright-restate: {line}");
    }
    Worker::new(prepared.agent, threads).listen(listens_at).map_err(|error| unusable(&error))
}
