//! Verify: a stored run through the present machine. The journal says what was asked and answered; this
//! says where the machine of today, given the same answers, would have asked something else.

use std::fmt;

use super::fold::{header, spec};
use super::walk::walk;
use super::{Difference, JournalError, Record};
use crate::machine::{State, awaited, outstanding};
use crate::prompt::Request;
use crate::spec::{CompiledSpec, Spec};

/// The first place where a stored run would now take another path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The index of the record that does not fit any more; the number of records where it is their end.
    pub record: u64,
    /// What is different.
    pub what: String,
    /// Where exactly, where that can be shown.
    pub difference: Option<Difference>,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}: {}", self.record, self.what)?;
        match &self.difference {
            Some(difference) => write!(f, ", {difference}"),
            None => Ok(()),
        }
    }
}

/// Folds a journal through the present machine, under its own spec or another, and gives the first
/// place where the run would now take another path. `ended` says whether the run had ended: then the
/// machine may not go on where the records stop.
///
/// ```
/// use planwright::driver::Agent;
/// use planwright::journal::diverges;
/// use planwright_docs::Calc;
/// use planwright_offline::Offline;
///
/// let spec = planwright::agents::shipped("validated").unwrap().with_tools(|tool| tool.name == "calc");
/// let agent = Agent::builder(spec.clone()).model(Offline::new()).tool(Calc::new()).build()?;
/// let run = agent.run("12/4+9?")?;
/// assert_eq!(diverges(run.records(), None, true)?, None);
///
/// let mut other = spec;
/// other.roles.planner.prompt.push_str("\nBe brief.");
/// let divergence = diverges(run.records(), Some(&other), true)?.unwrap();
/// assert_eq!(divergence.to_string(), "record 1: plan.1.1 asks planner something else than it did");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Where the journal has no header of this version, or the spec does not check.
pub fn diverges(
    records: &[Record],
    under: Option<&Spec>,
    ended: bool,
) -> Result<Option<Divergence>, JournalError> {
    let header = header(records)?;
    let rules = under.unwrap_or_else(|| spec(header, records)).clone().check();
    let rules = rules.map_err(|error| JournalError::at(0, format!("spec: {error}")))?;
    // What was asked under rules that were changed later says nothing of these.
    let changed = records.iter().rposition(|record| matches!(record, Record::SpecChanged(_))).unwrap_or(0);
    let walked = walk(&rules, header.input.clone(), records.iter().cloned(), |index, state, record| {
        let Record::Requested { effect, digest, .. } = record else { return Ok(()) };
        match awaited(&rules, state, *effect).and_then(|effect| Request::of(&rules, state, effect)) {
            _ if index < changed as u64 => Ok(()),
            Some(now) if now.digest == *digest => Ok(()),
            Some(now) => Err(format!("{effect} asks {} something else than it did", now.asked)),
            None => Err(format!("{effect} was asked; {}", waits(&rules, state))),
        }
    });
    let (record, what) = match walked {
        Err(halted) => (halted.record, halted.problem),
        Ok((state, _)) if !ended || state.phase.name().is_terminal() => return Ok(None),
        Ok((state, len)) => (len, format!("the run had ended here; {}", waits(&rules, &state))),
    };
    Ok(Some(Divergence { record, what, difference: None }))
}

fn waits(rules: &CompiledSpec, state: &State) -> String {
    let now: Vec<String> = outstanding(rules, state).iter().map(|effect| effect.id().to_string()).collect();
    match now.is_empty() {
        true => format!("now it has ended in {}", state.phase.name()),
        false => format!("now it waits for {}", now.join(", ")),
    }
}
