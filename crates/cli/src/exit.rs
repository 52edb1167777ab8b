//! Exit codes, in one place. Scripts rely on them: a code is never given another meaning.

use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done,
    Failed,
    Unusable,
    Interrupted,
    InDoubt,
    Waiting,
    Conflict,
    Undecided,
    Cancelled,
}

impl Exit {
    const ALL: [Exit; 9] = [
        Exit::Done,
        Exit::Failed,
        Exit::Unusable,
        Exit::Interrupted,
        Exit::InDoubt,
        Exit::Waiting,
        Exit::Conflict,
        Exit::Undecided,
        Exit::Cancelled,
    ];

    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Unusable => 2,
            Exit::Interrupted => 3,
            Exit::InDoubt => 4,
            Exit::Waiting => 5,
            Exit::Conflict => 6,
            Exit::Undecided => 7,
            Exit::Cancelled => 130,
        }
    }

    /// The code by name, for JSON.
    pub fn name(self) -> &'static str {
        match self {
            Exit::Done => "DONE",
            Exit::Failed => "FAILED",
            Exit::Unusable => "UNUSABLE",
            Exit::Interrupted => "INTERRUPTED",
            Exit::InDoubt => "IN_DOUBT",
            Exit::Waiting => "WAITING",
            Exit::Conflict => "CONFLICT",
            Exit::Undecided => "UNDECIDED",
            Exit::Cancelled => "CANCELLED",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Exit::Done => {
                "an answer; every fixture replays the same; every invariant holds; every edge is covered"
            }
            Exit::Failed => {
                "the run ended in ERROR; a replay drifts from its fixture, or from what is stored; an invariant \
                 is violated; an edge is not covered; `threads check` or `show` found damage"
            }
            Exit::Unusable => {
                "wrong usage; a file, spec or setting that cannot be used; a damaged thread that is to be used"
            }
            Exit::Interrupted => {
                "interrupted: the model did not answer; a run with --thread, --journal or --record can go on"
            }
            Exit::InDoubt => "in doubt: a write may or may not have happened and is not repeated",
            Exit::Waiting => {
                "waiting: a person has to answer; `threads answer`, or `resume` for a journal, goes on"
            }
            Exit::Conflict => {
                "somebody else has the thread, or the answer came too late or for something else"
            }
            Exit::Undecided => {
                "undecided: `verify` could show neither that every invariant holds nor that one does not"
            }
            Exit::Cancelled => "cancelled",
        }
    }

    /// The table that `--help` shows.
    pub fn table() -> String {
        let lines = Exit::ALL.map(|exit| format!("{:>5}  {}", exit.code(), exit.meaning()));
        format!("Exit codes:\n{}", lines.join("\n"))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}
