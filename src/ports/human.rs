//! The port of people: puts a question, brings the answer.

use std::sync::Arc;

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
    /// Asks and waits for the answer. `None` lets the run end waiting.
    fn ask(&self, question: &Question<'_>) -> Option<HumanAnswer>;
}

impl<T: Human + ?Sized> Human for Arc<T> {
    fn ask(&self, question: &Question<'_>) -> Option<HumanAnswer> {
        (**self).ask(question)
    }
}

/// What a person is asked.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Question<'a> {
    /// The effect that the answer answers.
    pub effect: EffectId,
    /// The step's position in the plan, from 0.
    pub step: u32,
    /// The question.
    pub text: &'a str,
    /// The run so far: plan, results, trace.
    pub state: &'a State,
    /// Why the last answer was refused, if it was.
    pub refused: Option<&'a str>,
}
