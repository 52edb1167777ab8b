//! A fixture as records: what is shown of a journal is shown of it.

use std::collections::HashMap;
use std::sync::Arc;

use planwright::journal::{Fixture, Header, JOURNAL_FORMAT, JournalError, Record};
use planwright::machine::{Effect, EffectId, start, transition};
use planwright::prompt::Request;
use planwright::spec::Digest;

/// The records of a recorded run, without times: each effect is asked when the machine asks it.
///
/// # Errors
/// Where its spec does not check, or its answers do not fit the machine; names the exchange.
pub fn records_of_fixture(fixture: &Fixture) -> Result<Vec<Record>, JournalError> {
    let spec = fixture.spec.clone();
    let compiled = spec.clone().check();
    let compiled = compiled.map_err(|error| JournalError::damaged("spec", error.to_string()))?;
    let header = Header {
        format: JOURNAL_FORMAT,
        run: String::new(),
        thread: String::new(),
        turn: 0,
        origin: None,
        spec: Arc::new(spec),
        input: fixture.input.clone(),
        model: fixture.model.clone(),
    };
    let mut records = vec![Record::Header(Box::new(header))];
    let digests: HashMap<EffectId, Digest> = fixture.exchanges.iter().filter_map(|one| one.key()).collect();
    let step = start(&compiled, fixture.input.clone());
    let (mut state, mut effects) = (step.state, step.effects);
    for (number, exchange) in (1..).zip(&fixture.exchanges) {
        for effect in &effects {
            let known = digests.get(&effect.id()).copied();
            let asked = || Request::of(&compiled, &state, *effect).map(|request| request.digest);
            let digest = known.or_else(|| asked().filter(|_| matches!(effect, Effect::AskHuman { .. })));
            let requested = |digest| Record::Requested { effect: effect.id(), digest, at: None };
            records.extend(digest.map(requested));
        }
        records.push(Record::of_event(exchange.event(), None));
        let step = transition(&compiled, state, exchange.event());
        let step =
            step.map_err(|refused| JournalError::damaged(format!("exchange {number}"), refused.to_string()))?;
        (state, effects) = (step.state, step.effects);
    }
    for effect in effects.iter().filter(|effect| matches!(effect, Effect::AskHuman { .. })) {
        let digest = Request::of(&compiled, &state, *effect).map(|request| request.digest);
        records.extend(digest.map(|digest| Record::Requested { effect: effect.id(), digest, at: None }));
    }
    Ok(records)
}
