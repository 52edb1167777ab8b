//! Messages: what the handlers take and give, as JSON.

use planwright::driver::Resolution;
use planwright::journal::RunStatus;
use planwright::machine::{EffectId, HumanAnswer, Turn};
use serde::{Deserialize, Serialize};

/// A question, as a new turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The question.
    pub question: String,
    /// What was said before the thread began, for an agent that remembers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Turn>,
}

/// A person's answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The token of the question, from its [`Report`]. An answer with another is refused; one without answers whatever
    /// is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// What they say.
    pub answer: HumanAnswer,
}

/// What a person says of a write in doubt.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Resolve {
    /// It happened.
    Happened {
        /// The token of the write, from its [`Report`].
        token: String,
        /// What the tool would have returned.
        output: String,
    },
    /// It did not happen: it is done now.
    DidNotHappen {
        /// The token of the write, from its [`Report`].
        token: String,
    },
    /// Whatever happened, the run ends here.
    Stop {
        /// The token of the write, from its [`Report`].
        token: String,
        /// Why.
        reason: String,
    },
}

impl Resolve {
    /// The token, and what is said.
    pub(crate) fn split(self) -> (String, Resolution) {
        match self {
            Resolve::Happened { token, output } => (token, Resolution::Happened { output }),
            Resolve::DidNotHappen { token } => (token, Resolution::DidNotHappen),
            Resolve::Stop { token, reason } => (token, Resolution::Stop { reason }),
        }
    }
}

/// The end of a run from outside.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// Why.
    pub reason: String,
}

/// Where a run is when a handler has done what it can.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The run's id.
    pub run: String,
    /// Which turn of the thread it is, from 0.
    pub turn: u32,
    /// Its status.
    pub status: RunStatus,
    /// The token that an answer must carry, if a person has to say something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Why an effect got no answer, if that is what stopped it. `resume` goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The end of a run that no handler performs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct End {
    pub run: String,
    pub reason: String,
}

/// The time for an answer is over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TimeOut {
    pub run: String,
    pub effect: EffectId,
}

/// Under which key the object's state has [`Current`].
pub(crate) const CURRENT: &str = "current";

/// The run that a thread was last at, in the object's state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Current {
    pub run: String,
    /// The invocation that performs it, if one does.
    pub invocation: Option<String>,
}
