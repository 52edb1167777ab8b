//! Refusals: why an event does not fit.

use std::fmt;

use super::effect_id::EffectId;
use crate::contract::ContractError;

/// Why an event does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The run has ended.
    Ended,
    /// The effect was answered before.
    AlreadyAnswered(EffectId),
    /// The run never asked for this.
    NeverAsked(EffectId),
    /// The effect is outstanding, and this kind of event does not answer it.
    WrongKind(EffectId),
    /// The steps that a person wrote do not pass the checks of a plan. The question stands.
    BadEdit(Box<ContractError>),
    /// The input that a person wrote is none that the tool takes. The question stands.
    BadInput(Box<ContractError>),
    /// This is asked, and a person cannot answer it so. The question stands.
    WrongAnswer {
        /// What is asked.
        effect: EffectId,
        /// The kind of the answer.
        answer: &'static str,
        /// What would answer it.
        expected: &'static str,
    },
    /// No phase handles this event. A state that was made by hand can get here; a run cannot.
    Unhandled,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Ended => f.write_str("the run has ended"),
            Refusal::AlreadyAnswered(id) => write!(f, "{id} was answered before"),
            Refusal::NeverAsked(id) => write!(f, "the run has not asked for {id}"),
            Refusal::WrongKind(id) => write!(f, "this kind of event does not answer {id}"),
            Refusal::BadEdit(error) => write!(f, "the edited steps do not fit: {error}"),
            Refusal::BadInput(error) => write!(f, "the edited input does not fit: {error}"),
            Refusal::WrongAnswer { effect, answer, expected } => {
                write!(f, "{effect} is answered by {expected}, not by `{answer}`")
            }
            Refusal::Unhandled => f.write_str("no phase handles it"),
        }
    }
}
