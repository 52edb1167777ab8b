//! What may be typed behind `export`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::StoreArgs;

#[derive(Subcommand)]
pub enum ExportCommand {
    /// Send runs to an OpenTelemetry collector, with the span ids that they had while they went on
    #[command(after_help = include_str!("../help/export_otlp.txt"))]
    Otlp(OtlpArgs),
    /// Write runs as one trace for Perfetto
    #[command(after_help = include_str!("../help/export_chrome.txt"))]
    Chrome(ChromeArgs),
}

/// Which runs.
#[derive(Args)]
pub struct ExportedArgs {
    /// Threads with all their turns, such as demo, single turns, such as demo:2, or journals
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Args)]
pub struct OtlpArgs {
    #[command(flatten)]
    pub exported: ExportedArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ChromeArgs {
    #[command(flatten)]
    pub exported: ExportedArgs,
    /// Write the trace into this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write it in the place of the file that is there
    #[arg(long, requires = "output")]
    pub force: bool,
}
