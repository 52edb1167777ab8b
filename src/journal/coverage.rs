//! Which edges of the machine a recorded run took.

use std::collections::BTreeSet;

use super::{Fixture, JournalError};
use crate::machine::explore::{Taken, taken};
use crate::machine::{start, transition};

impl Fixture {
    /// The edges that the recorded run took, under the rules it was recorded with.
    ///
    /// # Errors
    /// Where its spec does not check, or its answers do not fit the machine any more; names the
    /// exchange.
    pub fn taken(&self) -> Result<BTreeSet<Taken>, JournalError> {
        let fail =
            |exchange: u64, problem: String| JournalError::named(format!("exchange {exchange}"), problem);
        let rules = self.spec.clone().check().map_err(|error| fail(0, error.to_string()))?;
        let begun = start(&rules, self.input.clone());
        let mut edges: BTreeSet<Taken> = taken(&begun, 0).collect();
        let mut state = begun.state;
        for (number, exchange) in (1..).zip(&self.exchanges) {
            let before = state.task.trace.len();
            let step = transition(&rules, state, exchange.event())
                .map_err(|refused| fail(number, refused.to_string()))?;
            edges.extend(taken(&step, before));
            state = step.state;
        }
        Ok(edges)
    }
}
