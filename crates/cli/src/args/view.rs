//! What may be typed behind `view` and `compare`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::StoreArgs;

#[derive(Args)]
pub struct CompareArgs {
    /// A run: a thread, such as demo or demo:2 for its second turn, a journal, or a fixture
    #[arg(value_name = "A", value_parser = NonEmptyStringValueParser::new())]
    pub one: String,
    /// The other run; without it A is compared with its own replay under the present rules
    #[arg(value_name = "B", value_parser = NonEmptyStringValueParser::new())]
    pub other: Option<String>,
    /// Replay A under this agent instead of the shipped one that it names
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "other")]
    pub agent: Option<String>,
    /// Write both side by side into this file, one page that needs no server
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write it in the place of the file that is there
    #[arg(long, requires = "output")]
    pub force: bool,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ExplainArgs {
    /// A run: a thread, such as demo or demo:2 for its second turn, a journal, or a fixture
    #[arg(value_name = "RUN", value_parser = NonEmptyStringValueParser::new())]
    pub run: String,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ViewArgs {
    /// A run: a thread, such as demo or demo:2 for its second turn, a journal, or a fixture
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Write the run into this file, one page that needs no server, and open nothing
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write it in the place of the file that is there
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Say where it is shown, and open no browser
    #[arg(long, conflicts_with = "output")]
    pub no_open: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}
