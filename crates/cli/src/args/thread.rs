//! What may be typed about one thread.

use clap::Args;

use super::running::{AnswerArgs, DoubtArgs, ShowArgs, WorldArgs};
use super::store::{ConfigArgs, turn};
use planwright::driver::Changed;
use planwright::journal::ThreadId;
use planwright::machine::EffectId;

pub const SHOW_EXAMPLES: &str = "\
Examples:
  planwright threads show 보고서
  planwright threads show 보고서 --turn 1 --records    where it can be forked";

pub const RESUME_EXAMPLES: &str = "\
Examples:
  planwright threads resume 보고서
  planwright threads resume 보고서 --spec mine.toml --adopt
  planwright threads resume 보고서 --take-over     where another process hangs: it can write nothing more";

pub const ANSWER_EXAMPLES: &str = "\
Examples:
  planwright threads answer 보고서                     at a terminal: shows the question and reads a line
  planwright threads answer 보고서 --token 3f9c… --respond \"좋습니다\"
  planwright threads answer 보고서 --token 3f9c… --reject \"too expensive\"

The token is that of the question, as `planwright waiting` and `planwright threads show` say it. An answer
is taken once: one that comes late, or is meant for something else, changes nothing (exit code 6).";

pub const RESOLVE_EXAMPLES: &str = "\
Examples:
  planwright threads resolve 송금 --token 3f9c… --happened \"sent, no. 4711\"
  planwright threads resolve 송금 --token 3f9c… --did-not-happen
  planwright threads resolve 송금 --token 3f9c… --stop \"called the bank\"

A write is in doubt where it was asked for and its process ended before the answer came. Look whether it
happened, and say so.";

pub const FORK_EXAMPLES: &str = "\
Examples:
  planwright threads fork 보고서 --to again --before human.1.2     another answer to the same question
  planwright threads fork 보고서 --to again --turn 1 --at 5        with the first 5 records of turn 1
  planwright threads resume again";

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
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}

/// Which rules a turn goes on under.
#[derive(Args)]
pub struct RulesArgs {
    /// An agent whose rules are not those that the turn began with
    #[arg(long, value_name = "NAME|FILE")]
    pub spec: Option<String>,
    /// Go on under the rules of --spec; the journal says so
    #[arg(long, requires = "spec", conflicts_with = "keep")]
    pub adopt: bool,
    /// Go on under the rules that it began with, whatever --spec says
    #[arg(long)]
    pub keep: bool,
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
pub struct ResumeThreadArgs {
    /// The thread
    pub thread: ThreadId,
    #[command(flatten)]
    pub rules: RulesArgs,
    #[command(flatten)]
    pub world: WorldArgs,
    #[command(flatten)]
    pub show: ShowArgs,
}

#[derive(Args)]
pub struct AnswerThreadArgs {
    /// The thread
    pub thread: ThreadId,
    #[command(flatten)]
    pub answer: AnswerArgs,
    #[command(flatten)]
    pub rules: RulesArgs,
    #[command(flatten)]
    pub world: WorldArgs,
    #[command(flatten)]
    pub show: ShowArgs,
}

#[derive(Args)]
#[command(group = clap::ArgGroup::new("resolution").required(true).args(["happened", "did_not_happen", "stop"]))]
pub struct ResolveArgs {
    /// The thread
    pub thread: ThreadId,
    /// The token of the doubt, as `planwright waiting` says it
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    #[command(flatten)]
    pub resolution: DoubtArgs,
    #[command(flatten)]
    pub rules: RulesArgs,
    #[command(flatten)]
    pub world: WorldArgs,
    #[command(flatten)]
    pub show: ShowArgs,
}

#[derive(Args)]
pub struct CancelArgs {
    /// The thread
    pub thread: ThreadId,
    /// Why
    #[arg(long, value_name = "REASON", default_value = "cancelled on the command line")]
    pub reason: String,
    #[command(flatten)]
    pub config: ConfigArgs,
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
    #[command(flatten)]
    pub config: ConfigArgs,
}
