//! Exit codes, in one place. Scripts rely on them: a code is never given another meaning.

use std::process::ExitCode;

use planwright_app::Class;

/// How the program ends: well, or in one of the classes of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done,
    Of(Class),
}

const CODES: [(Exit, u8, &str); 9] = [
    (
        Exit::Done,
        0,
        "an answer; every fixture replays the same; every invariant holds; every edge is covered",
    ),
    (
        Exit::Of(Class::Failed),
        1,
        "the run ended in ERROR; a replay drifts from its fixture, or from what is stored; an invariant is \
         violated; an edge is not covered; `threads check` or `show` found damage",
    ),
    (
        Exit::Of(Class::Unusable),
        2,
        "wrong usage; a file, spec or setting that cannot be used; a damaged thread that is to be used",
    ),
    (
        Exit::Of(Class::Interrupted),
        3,
        "interrupted: the model did not answer; a run with --thread, --journal or --record can go on",
    ),
    (Exit::Of(Class::InDoubt), 4, "in doubt: a write may or may not have happened and is not repeated"),
    (
        Exit::Of(Class::Waiting),
        5,
        "waiting: a person has to answer; `threads answer`, or `resume` for a journal, goes on",
    ),
    (
        Exit::Of(Class::Conflict),
        6,
        "somebody else has the thread, or the answer came too late or for something else",
    ),
    (
        Exit::Of(Class::Undecided),
        7,
        "undecided: `verify` could show neither that every invariant holds nor that one does not",
    ),
    (Exit::Of(Class::Cancelled), 130, "cancelled"),
];

impl Exit {
    pub fn code(self) -> u8 {
        CODES.iter().find(|(exit, ..)| *exit == self).map_or(2, |(_, code, _)| *code)
    }
}

/// The table that `--help` shows.
pub fn exit_codes() -> String {
    let lines = CODES.map(|(_, code, meaning)| format!("{code:>5}  {meaning}"));
    format!("Exit codes:\n{}", lines.join("\n"))
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}
