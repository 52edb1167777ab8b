//! Refusals: why an event does not fit.

use thiserror::Error;

use super::effect_id::EffectId;
use crate::contract::ContractError;

/// Why an event does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The run has ended.
    #[error("the run has ended")]
    Ended,
    /// The run does not wait for this effect: it was answered before, or never asked for.
    #[error("the run does not wait for {0}")]
    NotAwaited(EffectId),
    /// The effect is outstanding, and this kind of event does not answer it.
    #[error("this kind of event does not answer {0}")]
    WrongKind(EffectId),
    /// The steps that a person wrote do not pass the checks of a plan. The question stands.
    #[error("the edited steps do not fit: {0}")]
    BadEdit(Box<ContractError>),
    /// The input that a person wrote is none that the tool takes. The question stands.
    #[error("the edited input does not fit: {0}")]
    BadInput(Box<ContractError>),
    /// This is asked, and a person cannot answer it so. The question stands.
    #[error("{effect} is answered by {expected}, not by `{answer}`")]
    WrongAnswer {
        /// What is asked.
        effect: EffectId,
        /// The kind of the answer.
        answer: &'static str,
        /// What would answer it.
        expected: &'static str,
    },
    /// No phase handles the event. A fault in the machine, never in the caller.
    #[error("no phase handles it")]
    Unhandled,
}
