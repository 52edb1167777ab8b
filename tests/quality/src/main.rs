//! Asks the offline model the questions of the two files through the built program, as a newcomer would, and
//! prints how many were answered right.

mod judge;
mod question;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use serde::Serialize;
use serde_json::{Value, json};

use judge::{Judgement, Verdict, judge};
use question::{Kind, Question};

/// Asks the offline model 180 questions, 71 of them traps, and prints the score.
#[derive(Parser)]
struct Args {
    /// The program; without it the one that was built beside this one
    #[arg(long)]
    program: Option<PathBuf>,
    /// Ask the questions of one group alone
    #[arg(long, value_name = "GROUP")]
    only: Option<String>,
    /// Ask one question and print the whole reply
    #[arg(long, value_name = "ID")]
    show: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Exit with 1 where fewer percent are right, or where a trap misleads
    #[arg(long, value_name = "PERCENT")]
    min: Option<usize>,
}

/// One question that was asked.
#[derive(Serialize)]
struct Asked {
    #[serde(flatten)]
    question: Question,
    #[serde(flatten)]
    judgement: Judgement,
    exit_code: Option<i32>,
    answer: Value,
    error: Value,
}

/// How many questions of a group had each verdict.
type Scores = BTreeMap<String, BTreeMap<Verdict, usize>>;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(passed) => ExitCode::from(u8::from(!passed)),
        Err(problem) => {
            eprintln!("planwright-quality: {problem}");
            ExitCode::from(2)
        }
    }
}

/// Asks and prints. Says whether the score is as high as it must be.
fn run(args: &Args) -> Result<bool, String> {
    let program = args.program.clone().map_or_else(find_program, Ok)?;
    let is_wanted = |question: &Question| {
        let of_group = args.only.as_ref().is_none_or(|group| question.group == *group);
        of_group && args.show.as_ref().is_none_or(|id| question.id == *id)
    };
    let wanted = question::load()?.into_iter().filter(is_wanted).map(|question| ask(&program, question));
    let asked: Vec<Asked> = wanted.collect::<Result<_, _>>()?;
    let scores = count_scores(&asked);
    let total = scores.get("total").ok_or("no question has this group or id")?;
    let is_shown = |one: &&Asked| args.show.is_some() || one.judgement.verdict != Verdict::Right;
    let longest = if args.show.is_some() { usize::MAX } else { 300 };
    let replies: String = asked.iter().filter(is_shown).map(|one| show_reply(one, longest)).collect();
    let report = match args.json {
        true => format!("{:#}\n", json!({"program": program, "scores": scores, "asked": asked})),
        false => show_scores(&scores) + &replies,
    };
    // A closed pipe is no error.
    let _ = std::io::stdout().write_all(report.as_bytes());
    let misled = scores.get("(traps)").is_some_and(|traps| traps.contains_key(&Verdict::Misleading));
    let percent = total.get(&Verdict::Right).unwrap_or(&0) * 100 / asked.len();
    Ok(args.min.is_none_or(|min| !misled && percent >= min))
}

/// The program that was built beside this one.
fn find_program() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let built = own.with_file_name(format!("planwright{}", std::env::consts::EXE_SUFFIX));
    let missing = "no program: build it with `cargo build -p planwright-cli`, or name one with --program";
    if built.is_file() { Ok(built) } else { Err(missing.to_owned()) }
}

fn ask(program: &Path, question: Question) -> Result<Asked, String> {
    let unusable = |error| format!("{}: {error}", program.display());
    let output = question.command(program).output().map_err(unusable)?;
    let exit_code = output.status.code();
    if exit_code == Some(2) {
        return Err(format!("{}: {}", question.id, String::from_utf8_lossy(&output.stderr)));
    }
    let mut reply: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| json!({}));
    let (answer, error) = (reply["answer"].take(), reply["error"].take());
    let judgement = judge(&question, exit_code, answer.as_str());
    Ok(Asked { question, judgement, exit_code, answer, error })
}

/// The scores by group, by language, of the traps and in all.
fn count_scores(asked: &[Asked]) -> Scores {
    let mut scores = Scores::new();
    for one in asked {
        let Question { group, language, kind, .. } = &one.question;
        let trap = (*kind == Kind::Trap).then(|| "(traps)".to_owned());
        for name in [group.clone(), format!("({language})"), "total".to_owned()].into_iter().chain(trap) {
            *scores.entry(name).or_default().entry(one.judgement.verdict).or_default() += 1;
        }
    }
    scores
}

fn show_scores(scores: &Scores) -> String {
    let show = |(group, score): (&String, &BTreeMap<Verdict, usize>)| {
        let (right, asked) = (score.get(&Verdict::Right).unwrap_or(&0), score.values().sum::<usize>());
        format!("{group:12} {right:>3} of {asked:>3} right, {:>3} %  {score:?}\n", right * 100 / asked)
    };
    scores.iter().map(show).collect()
}

/// One question, its verdict and the reply, with so many characters of each line.
fn show_reply(one: &Asked, longest: usize) -> String {
    let Question { id, group, ask, kind, .. } = &one.question;
    let Judgement { verdict, lacks, misstates } = &one.judgement;
    let reply = one.answer.as_str().map_or_else(|| one.error.to_string(), str::to_owned);
    let cut = |line: &str| line.chars().take(longest).collect::<String>();
    let lines: String = reply.lines().map(|line| format!("    {}\n", cut(line))).collect();
    let (lacks, states) = (json!(lacks), json!(misstates));
    format!("\n{group}/{id} ({kind:?}): {verdict:?}, lacks {lacks}, states {states}\n  {ask}\n{lines}")
}
