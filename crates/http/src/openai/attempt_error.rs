//! Why one try gave no reply.

use ureq::http::header::{HeaderMap, LOCATION};

use super::server_error::Said;
use crate::transport::{Broken, shown};
use planwright::machine::{FailureClass, ModelFailure, Usage};
use planwright::ports::{Cause, ModelError, Unanswered};

/// Why one try gave no reply.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The server said so. It may be about how the request was put.
    Said(Said),
    /// The answer is no reply.
    Failed(ModelError),
    /// There was no answer.
    Unanswered { error: Unanswered, passing: bool },
}

impl Trouble {
    pub(super) fn failed(class: FailureClass, message: impl Into<String>) -> Self {
        Trouble::Failed(ModelError::failed(class, message))
    }

    /// The same, for which the server counts this.
    pub(super) fn costing(self, usage: Usage) -> Self {
        match self {
            Trouble::Failed(ModelError::Failed(failure)) => {
                Trouble::Failed(ModelError::Failed(ModelFailure { usage, ..failure }))
            }
            other => other,
        }
    }

    pub(super) fn passing(cause: Cause, message: impl Into<String>) -> Self {
        Trouble::broken(Broken { cause, message: message.into(), passing: true })
    }

    pub(super) fn broken(broken: Broken) -> Self {
        let Broken { cause, message, passing } = broken;
        Trouble::Unanswered { error: Unanswered { cause, message, retry_after: None, tries: 1 }, passing }
    }

    pub(super) fn redirect(headers: &HeaderMap) -> Self {
        let place = headers
            .get(LOCATION)
            .and_then(|place| place.to_str().ok())
            .map_or_else(|| "no place that it names".to_owned(), shown);
        let message = format!("expected an answer, found a redirect to {place}; redirects are not followed");
        Trouble::broken(Broken { cause: Cause::BadResponse, message, passing: false })
    }
}
