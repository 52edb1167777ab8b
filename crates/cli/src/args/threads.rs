//! What may be typed about threads that are kept, and about recorded runs.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{ArgGroup, Args, Subcommand};
use jiff::{SpanRelativeTo, Timestamp};

use super::{AnswerArgs, DoubtArgs, ShowArgs, StoreArgs, turn, values};
use planwright::driver::Changed;
use planwright::journal::ThreadId;
use planwright::machine::EffectId;
use planwright_app::{Overrides, SpendingBy};

#[derive(Subcommand)]
pub enum ThreadsCommand {
    /// List threads, the last written to first
    #[command(after_help = include_str!("../help/threads_list.txt"))]
    List(ListArgs),
    /// Show a thread: what was asked, where it stands, what was answered
    #[command(after_help = include_str!("../help/threads_show.txt"))]
    Show(ShowThreadArgs),
    /// Go on with the last turn of a thread
    #[command(after_help = include_str!("../help/threads_resume.txt"))]
    Resume(Box<ResumeThreadArgs>),
    /// Answer what a person is asked, and go on
    #[command(after_help = include_str!("../help/threads_answer.txt"))]
    Answer {
        #[command(flatten)]
        answer: Box<AnswerArgs>,
        #[command(flatten)]
        thread: Box<ResumeThreadArgs>,
    },
    /// Say what became of a write that is in doubt, and go on
    #[command(alias = "settle", after_help = include_str!("../help/threads_resolve.txt"))]
    #[command(group = ArgGroup::new("resolution").required(true).args(["happened", "did_not_happen", "stop"]))]
    Resolve {
        /// The token of the doubt, as `planwright waiting` says it
        #[arg(long, value_name = "TOKEN")]
        token: Option<String>,
        #[command(flatten)]
        resolution: DoubtArgs,
        #[command(flatten)]
        thread: Box<ResumeThreadArgs>,
    },
    /// End the last turn of a thread without going on with it
    #[command(after_help = "Example:\n  planwright threads cancel 보고서 --reason \"the offer has expired\"")]
    Cancel {
        /// The thread
        thread: ThreadId,
        /// Why
        #[arg(long, value_name = "REASON", default_value = "cancelled on the command line")]
        reason: String,
    },
    /// Begin a thread with what another holds up to a point
    #[command(after_help = include_str!("../help/threads_fork.txt"))]
    Fork(ForkArgs),
    /// Print the records of a turn as JSON lines: a journal file
    #[command(after_help = include_str!("../help/threads_export.txt"))]
    Export(FromArgs),
    /// Delete threads, with all their turns
    #[command(after_help = "Example:\n  planwright threads delete --yes first-try second-try")]
    Delete {
        /// The threads
        #[arg(required = true, value_name = "THREAD")]
        threads: Vec<ThreadId>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Delete the threads that have ended and were not written to for a while
    #[command(after_help = include_str!("../help/threads_prune.txt"))]
    Prune {
        /// How long they were not written to: a number with s, m, h, d or w
        #[arg(long, value_name = "AGE", value_parser = parse_age)]
        older_than: Duration,
        /// Only threads that ended so
        #[arg(long, value_name = "STATUS", value_parser = ["done", "failed"])]
        status: Option<String>,
        /// Delete nothing, and say what would be deleted
        #[arg(long)]
        dry_run: bool,
    },
    /// Give back the space of what was deleted
    #[command(after_help = "Example:\n  planwright threads vacuum")]
    Vacuum,
    /// Look at all that is kept, and say what is damaged
    #[command(after_help = include_str!("../help/threads_check.txt"))]
    Check {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
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
}

/// Where the last turn of a thread stands.
fn statuses() -> [PossibleValue; 5] {
    values([
        ("unfinished", "It was stopped and can go on, or is being run"),
        ("waiting", "A person has to answer"),
        ("in_doubt", "A write may or may not have happened"),
        ("done", "It has an answer"),
        ("failed", "It ended without one"),
    ])
}

#[derive(Args)]
pub struct ShowThreadArgs {
    /// The thread
    pub thread: ThreadId,
    /// Only this turn, from 1
    #[arg(long, value_name = "N", value_parser = turn())]
    pub turn: Option<u32>,
    /// Each record, numbered
    #[arg(long)]
    pub records: bool,
    /// Whole texts of results and records, not their beginnings
    #[arg(long)]
    pub full: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ResumeThreadArgs {
    /// The thread
    pub thread: ThreadId,
    #[command(flatten)]
    pub compiled: RulesArgs,
    #[command(flatten)]
    pub settings: Overrides,
    #[command(flatten)]
    pub show: ShowArgs,
}

/// Which rules a turn goes on under.
#[derive(Args)]
pub struct RulesArgs {
    /// An agent whose rules are not those that the turn began with
    #[arg(long, value_name = "NAME|FILE")]
    pub spec: Option<String>,
    /// Go on under the rules of --spec; the journal says so
    #[arg(long, requires = "spec", conflicts_with = "keep")]
    adopt: bool,
    /// Go on under the rules that it began with, whatever --spec says
    #[arg(long)]
    keep: bool,
    /// Take the thread over from a process that has it: that one can write nothing more
    #[arg(long)]
    pub take_over: bool,
}

impl RulesArgs {
    pub fn changed(&self) -> Changed {
        match (&self.spec, self.adopt, self.keep) {
            (None, ..) | (_, _, true) => Changed::Keep,
            (_, true, _) => Changed::Adopt,
            _ => Changed::Refuse,
        }
    }
}

#[derive(Args)]
pub struct ForkArgs {
    /// The thread that is copied; it is left as it is
    pub thread: ThreadId,
    /// The name of the new thread
    #[arg(long, value_name = "NEW")]
    pub to: ThreadId,
    /// The last turn that is copied, from 1 [default: the last there is]
    #[arg(long, value_name = "N", value_parser = turn())]
    pub turn: Option<u32>,
    /// How many records of that turn are copied [default: all]
    #[arg(long, value_name = "RECORDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub at: Option<u64>,
    /// Copy what was there before this was answered, such as human.1.2
    #[arg(long, value_name = "EFFECT", conflicts_with = "at")]
    pub before: Option<EffectId>,
}

fn parse_age(text: &str) -> Result<Duration, String> {
    let span =
        text.parse::<jiff::Span>().and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()));
    let age = span.and_then(Duration::try_from);
    age.map_err(|_| {
        "expected a number with s, m, h, d or w, such as 30d, and at most 19,998 years".to_owned()
    })
}

#[derive(Args)]
pub struct CostArgs {
    /// Journal files to add up, instead of the threads of the store
    #[arg(value_name = "FILE")]
    pub journals: Vec<PathBuf>,
    /// What was spent since then: 7d, 12h, or a date such as 2026-11-20
    #[arg(long, value_name = "AGE|DATE", value_parser = parse_since)]
    pub since: Option<u64>,
    /// What one line adds up
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    pub by: SpendingBy,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// A time in milliseconds since 1970: so long ago, or the beginning of a day here.
fn parse_since(text: &str) -> Result<u64, String> {
    parse_time(text, |age| Timestamp::now().checked_sub(age))
}

/// A time in milliseconds since 1970: so long from now, or the beginning of a day here.
pub fn parse_until(text: &str) -> Result<u64, String> {
    parse_time(text, |age| Timestamp::now().checked_add(age))
}

fn parse_time(
    text: &str,
    from_now: impl Fn(Duration) -> Result<Timestamp, jiff::Error>,
) -> Result<u64, String> {
    let day = || text.parse::<jiff::civil::Date>().ok()?.to_zoned(jiff::tz::TimeZone::system()).ok();
    let time = match parse_age(text) {
        Ok(age) => from_now(age).ok(),
        Err(_) => day().map(|day| day.timestamp()),
    };
    let time = time.and_then(|time| u64::try_from(time.as_millisecond()).ok());
    time.ok_or_else(|| "expected an age such as 7d or 12h, or a date such as 2026-11-20".to_owned())
}

#[derive(Subcommand)]
pub enum FixtureCommand {
    /// Make a fixture out of a turn of a thread
    #[command(after_help = include_str!("../help/fixture_from.txt"))]
    From(FromArgs),
}

#[derive(Args)]
pub struct FromArgs {
    /// The thread
    pub thread: ThreadId,
    /// The turn, from 1 [default: the last]
    #[arg(long, value_name = "N", value_parser = turn())]
    pub turn: Option<u32>,
    /// Where it is written; stdout where no file is named
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write it in the place of the file that is there
    #[arg(long, requires = "output")]
    pub force: bool,
}

#[derive(Args)]
pub struct ReplayArgs {
    /// Fixtures, or folders of them
    #[arg(required_unless_present = "all_stored", value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
    /// Replay under this agent instead of the shipped one that the fixture names; stored runs, instead of under
    /// their own rules
    #[arg(long, visible_alias = "spec", value_name = "NAME|FILE", conflicts_with = "as_recorded")]
    pub agent: Option<String>,
    /// A folder of agents of your own (*.toml): each fixture is replayed under the one that it names
    #[arg(long, value_name = "DIR", conflicts_with_all = ["agent", "as_recorded", "all_stored"])]
    pub agents: Option<PathBuf>,
    /// Replay under the spec in the fixture
    #[arg(long, conflicts_with = "all_stored")]
    pub as_recorded: bool,
    /// Exit with 1 also for a fixture that is of an agent that is not known, or of a run that is unfinished
    #[arg(long, conflicts_with_all = ["as_recorded", "all_stored"])]
    pub strict: bool,
    /// Record anew what drifts, out of the answers that are recorded; nothing is asked
    #[arg(long, conflicts_with_all = ["as_recorded", "all_stored"])]
    pub update: bool,
    /// Take every stored turn through the present machine
    #[arg(long, conflicts_with = "paths")]
    pub all_stored: bool,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct TraceArgs {
    /// A fixture or a journal
    #[arg(value_name = "FILE", required_unless_present = "thread")]
    pub file: Option<PathBuf>,
    /// The last turn of this thread, or the one of --turn
    #[arg(long, conflicts_with = "file")]
    pub thread: Option<ThreadId>,
    /// The turn of the thread, from 1
    #[arg(long, value_name = "N", conflicts_with = "file", value_parser = turn())]
    pub turn: Option<u32>,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print the trace lines as they are, one JSON object a line
    #[arg(long)]
    pub json: bool,
}
