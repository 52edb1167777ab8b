//! The one walk over a journal: which state each record met, and what its event made of it.

use super::Record;
use crate::machine::{Input, State, start, transition};
use crate::spec::CompiledSpec;

/// Where a walk stopped, and why.
pub(super) struct Halted {
    /// The index of the record.
    pub record: u64,
    /// Why it does not fit.
    pub problem: String,
}

/// Walks a journal from its start under a spec. `visit` sees every record behind the header with its index and
/// the state before it, and may stop the walk. Gives the last state, and how many records there are.
pub(super) fn walk(
    rules: &CompiledSpec,
    input: Input,
    records: impl IntoIterator<Item = Record>,
    mut visit: impl FnMut(u64, &State, &Record) -> Result<(), String>,
) -> Result<(State, u64), Halted> {
    let mut state = start(rules, input).state;
    let mut index = 1;
    for record in records.into_iter().skip(1) {
        let halted = |problem| Halted { record: index, problem };
        visit(index, &state, &record).map_err(halted)?;
        match record {
            Record::Header(_) => return Err(halted("expected no second header".to_owned())),
            Record::Answered { event, .. } | Record::Happened(event) => {
                state = transition(rules, state, event).map_err(|refused| halted(refused.to_string()))?.state;
            }
            Record::Requested { .. } | Record::Resolved { .. } | Record::SpecChanged(_) => {}
        }
        index += 1;
    }
    Ok((state, index))
}
