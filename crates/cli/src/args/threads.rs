//! What may be typed about threads that are kept.

use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{Args, Subcommand};

use super::checking::{FROM_EXAMPLES, FromArgs};
use super::store::{ConfigArgs, StoreArgs};
use super::thread::{
    ANSWER_EXAMPLES, AnswerThreadArgs, CancelArgs, FORK_EXAMPLES, ForkArgs, RESOLVE_EXAMPLES,
    RESUME_EXAMPLES, ResolveArgs, ResumeThreadArgs, SHOW_EXAMPLES, ShowThreadArgs,
};
use planwright::journal::ThreadId;

pub const THREADS_EXAMPLES: &str = "\
Examples:
  planwright run --thread 보고서 \"Compare both offers, and ask me before you conclude.\"
  planwright threads list --status waiting
  planwright threads show 보고서 --records
  planwright threads answer 보고서 --token TOKEN --respond \"좋습니다\"
  planwright threads fork 보고서 --to second-try --before human.1.2
  planwright threads prune --older-than 30d --dry-run

Threads are kept where --store says, else $PLANWRIGHT_STORE, else `path` in [persistence] of the
configuration file, else in $XDG_DATA_HOME/planwright/threads.db or ~/.local/share/planwright/threads.db
(%LOCALAPPDATA% on Windows). Turns and steps count from 1, records from 0.";

#[derive(Args)]
pub struct ThreadsArgs {
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(subcommand)]
    pub command: ThreadsCommand,
}

#[derive(Subcommand)]
pub enum ThreadsCommand {
    /// List threads, the last written to first
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),
    /// Show a thread: what was asked, where it stands, what was answered
    #[command(after_help = SHOW_EXAMPLES)]
    Show(ShowThreadArgs),
    /// Go on with the last turn of a thread
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(Box<ResumeThreadArgs>),
    /// Answer what a person is asked, and go on
    #[command(after_help = ANSWER_EXAMPLES)]
    Answer(Box<AnswerThreadArgs>),
    /// Say what became of a write that is in doubt, and go on
    #[command(alias = "settle", after_help = RESOLVE_EXAMPLES)]
    Resolve(Box<ResolveArgs>),
    /// End the last turn of a thread without going on with it
    #[command(after_help = "Example:\n  planwright threads cancel 보고서 --reason \"the offer has expired\"")]
    Cancel(CancelArgs),
    /// Begin a thread with what another holds up to a point
    #[command(after_help = FORK_EXAMPLES)]
    Fork(ForkArgs),
    /// Print a turn as a fixture; the same as `planwright fixture from`
    #[command(after_help = FROM_EXAMPLES)]
    Export(FromArgs),
    /// Delete threads, with all their turns
    #[command(after_help = "Example:\n  planwright threads delete --yes first-try second-try")]
    Delete(DeleteArgs),
    /// Delete the threads that have ended and were not written to for a while
    #[command(after_help = PRUNE_EXAMPLES)]
    Prune(PruneArgs),
    /// Give back the space of what was deleted
    #[command(after_help = "Example:\n  planwright threads vacuum")]
    Vacuum(ConfigArgs),
    /// Look at all that is kept, and say what is damaged
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
}

impl ThreadsCommand {
    /// Whether results are to be JSON.
    pub fn wants_json(&self) -> bool {
        match self {
            ThreadsCommand::List(args) => args.json,
            ThreadsCommand::Show(args) => args.json,
            ThreadsCommand::Resume(args) => args.show.json,
            ThreadsCommand::Answer(args) => args.show.json,
            ThreadsCommand::Resolve(args) => args.show.json,
            ThreadsCommand::Check(args) => args.json,
            _ => false,
        }
    }
}

pub const WAITING_EXAMPLES: &str = "\
Examples:
  planwright waiting
  planwright waiting --json | jq -r '.waiting[].command'

Each with how long it has waited, its token, and the command that answers it. Where there are more, the
command for the next page is said on stderr.";

const LIST_EXAMPLES: &str = "\
Examples:
  planwright threads list
  planwright threads list --status waiting --status in_doubt
  planwright threads list --prefix 보고서 --limit 20
  planwright threads list --json | jq -r '.threads[].thread'

Where there are more, the command for the next page is said on stderr.";

const PRUNE_EXAMPLES: &str = "\
Examples:
  planwright threads prune --older-than 30d --dry-run
  planwright threads prune --older-than 12h --status failed

Threads that wait, are in doubt or can go on are never pruned.";

const CHECK_EXAMPLES: &str = "\
Example:
  planwright threads check

Exit codes: 0 all is as it was written, 1 something is damaged, 2 the store cannot be read.";

/// Where the last turn of a thread stands.
fn statuses() -> [PossibleValue; 5] {
    [
        PossibleValue::new("unfinished").help("It was stopped and can go on, or is being run"),
        PossibleValue::new("waiting").help("A person has to answer"),
        PossibleValue::new("in_doubt").help("A write may or may not have happened"),
        PossibleValue::new("done").help("It has an answer"),
        PossibleValue::new("failed").help("It ended without one"),
    ]
}

/// Which page of a list.
#[derive(Args)]
pub struct PageArgs {
    /// Most lines
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub limit: u16,
    /// Where the page before this one ended
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
}

#[derive(Args)]
pub struct ListArgs {
    /// Only threads that stand so; can be given more than once
    #[arg(long, value_name = "STATUS", value_parser = statuses())]
    pub status: Vec<String>,
    /// Only threads whose names begin so
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub prefix: String,
    #[command(flatten)]
    pub page: PageArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}

#[derive(Args)]
pub struct WaitingArgs {
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub page: PageArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}

#[derive(Args)]
pub struct DeleteArgs {
    /// The threads
    #[arg(required = true, value_name = "THREAD")]
    pub threads: Vec<ThreadId>,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}

#[derive(Args)]
pub struct PruneArgs {
    /// How long they were not written to: a number with s, m, h, d or w
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub older_than: Duration,
    /// Only threads that ended so
    #[arg(long, value_name = "STATUS", value_parser = ["done", "failed"])]
    pub status: Option<String>,
    /// Delete nothing, and say what would be deleted
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}

#[derive(Args)]
pub struct CheckArgs {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}

fn age(text: &str) -> Result<Duration, String> {
    let unit = |letter| match letter {
        's' => Some(1),
        'm' => Some(60),
        'h' => Some(60 * 60),
        'd' => Some(24 * 60 * 60),
        'w' => Some(7 * 24 * 60 * 60),
        _ => None,
    };
    let read = || {
        let unit = unit(text.chars().next_back()?)?;
        let number: u64 = text[..text.len() - 1].parse().ok()?;
        Some(Duration::from_secs(number.checked_mul(unit)?))
    };
    read().ok_or_else(|| "expected a number with s, m, h, d or w, such as 30d".to_owned())
}
