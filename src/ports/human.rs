//! The port of people: puts a question, brings the answer.

use crate::machine::{EffectId, HumanAnswer, State};

/// A person, or a program that answers for one. Blocking.
///
/// ```
/// use planwright::ports::{Human, Question};
/// use planwright::machine::HumanAnswer;
///
/// struct Boss;
///
/// impl Human for Boss {
///     fn ask(&self, question: &Question<'_>) -> Option<HumanAnswer> {
///         Some(HumanAnswer::respond(format!("{}: yes", question.text)))
///     }
/// }
/// ```
pub trait Human: Send + Sync {
    /// Asks and waits for the answer; `None` if the run is to wait for it.
    fn ask(&self, question: &Question<'_>) -> Option<HumanAnswer>;
}

/// What a person is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The effect that the answer answers.
    pub effect: EffectId,
    /// The step's position in the plan, from 0.
    pub step: u32,
    /// The question.
    pub text: &'a str,
    /// The run so far: plan, results, trace.
    pub state: &'a State,
    /// Why the answer before was not taken, where it was not.
    pub refused: Option<&'a str>,
}
