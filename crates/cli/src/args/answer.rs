//! What may be typed in answer to a run that waits for a person.

use std::path::PathBuf;

use clap::Args;

/// An answer, and to which question.
#[derive(Args)]
pub struct AnswerArgs {
    /// Answer the question that a waiting run has asked a person
    #[arg(long, value_name = "TEXT", group = "answer")]
    pub respond: Option<String>,
    /// Say yes to a plan or a call that the run has asked a person to approve
    #[arg(long, group = "answer")]
    pub approve: bool,
    /// Say yes to a call, with this input instead: a JSON value
    #[arg(long, value_name = "FILE", group = "answer")]
    pub edit_input: Option<PathBuf>,
    /// Say no to it, and why; the agent's policy says what follows
    #[arg(long, value_name = "REASON", group = "answer")]
    pub reject: Option<String>,
    /// Say yes, with these steps in place of the remaining ones, or of the plan: a JSON list of plan
    /// steps
    #[arg(long, value_name = "FILE", group = "answer")]
    pub edit: Option<PathBuf>,
    /// The token of what is answered; the answer is void for anything else
    #[arg(long, value_name = "TOKEN", requires = "answer")]
    pub token: Option<String>,
}

/// What became of a write that is in doubt.
#[derive(Args)]
pub struct DoubtArgs {
    /// Of a write in doubt: it happened, and the tool would have returned this
    #[arg(long, value_name = "OUTPUT", group = "answer")]
    pub happened: Option<String>,
    /// Of a write in doubt: it did not happen, and is done now
    #[arg(long, group = "answer")]
    pub did_not_happen: bool,
    /// Of a write in doubt: whatever happened, the run ends here
    #[arg(long, value_name = "REASON", group = "answer")]
    pub stop: Option<String>,
}
