//! A fixture as records: what is shown of a journal is shown of it.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;

use super::RunView;
use super::timeline::ShownRequest;
use crate::pending::RunLocation;
use planwright::journal::{Exchange, Fixture, Header, JOURNAL_FORMAT, JournalError, Record};
use planwright::machine::{Effect, EffectId, start, transition};
use planwright::prompt::Request;
use planwright::spec::Digest;

/// The records of a recorded run, without times: each effect is asked when the machine asks it.
///
/// # Errors
/// Where its spec does not check, or its answers do not fit the machine; names the exchange.
pub fn records_of_fixture(fixture: &Fixture) -> Result<Vec<Record>, JournalError> {
    match read_fixture(fixture)? {
        (records, None) => Ok(records),
        (_, Some(misfit)) => Err(misfit),
    }
}

/// The records of a recorded run up to the first answer that does not fit the machine, and why it does not.
///
/// # Errors
/// Where its spec does not check.
fn read_fixture(fixture: &Fixture) -> Result<(Vec<Record>, Option<JournalError>), JournalError> {
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
        servers: Vec::new(),
        trace: None,
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
        let step = match transition(&compiled, state, exchange.event()) {
            Ok(step) => step,
            Err(refused) => {
                let misfit = JournalError::damaged(format!("exchange {number}"), refused.to_string());
                return Ok((records, Some(misfit)));
            }
        };
        records.push(Record::of_event(exchange.event(), None));
        (state, effects) = (step.state, step.effects);
    }
    for effect in effects.iter().filter(|effect| matches!(effect, Effect::AskHuman { .. })) {
        let digest = Request::of(&compiled, &state, *effect).map(|request| request.digest);
        records.extend(digest.map(|digest| Record::Requested { effect: effect.id(), digest, at: None }));
    }
    Ok((records, None))
}

/// The view of a recorded run up to the first answer that does not fit the machine, and why it does not.
///
/// # Errors
/// Where its spec does not check.
pub(super) fn view_of_fixture(fixture: &Fixture) -> Result<(RunView, Option<JournalError>), JournalError> {
    let (records, misfit) = read_fixture(fixture)?;
    let mut view = RunView::of(records, None, RunLocation::default(), false)?;
    if view.timeline.iter().any(|effect| effect.redrawn) {
        restore_requests(&mut view, fixture);
    }
    Ok((view, misfit))
}

/// Shows each request as the fixture holds it, and not as the present program would ask it.
fn restore_requests(view: &mut RunView, fixture: &Fixture) {
    let effect_of = |exchange: &Exchange| exchange.key().map(|(effect, _)| effect.to_string());
    let sent: HashMap<String, &Exchange> =
        fixture.exchanges.iter().filter_map(|exchange| Some((effect_of(exchange)?, exchange))).collect();
    for shown in &mut view.timeline {
        let Some(exchange) = sent.get(&shown.effect) else { continue };
        shown.request = match exchange {
            Exchange::Model { request, conversation, .. } => {
                let (payload, messages) = (request.to_string(), conversation.clone());
                ShownRequest::Model { after: None, payload, messages }
            }
            Exchange::Tool { tool, input, .. } => {
                ShownRequest::Tool { tool: tool.clone(), input: input.clone() }
            }
            Exchange::Human { question, .. } | Exchange::Expired { question, .. } => {
                ShownRequest::Person { question: question.clone() }
            }
            Exchange::Waited { .. } | Exchange::Happened(_) => continue,
        };
        let digest = exchange.key().map(|(_, digest)| digest.to_string()).unwrap_or_default();
        if digest != shown.digest {
            shown.timeless.clone_from(&digest);
        }
        (shown.digest, shown.redrawn) = (digest, false);
    }
    for (role, frame) in &fixture.frames {
        let shown = view.frames.entry(role.clone()).or_insert_with(|| json!({}));
        shown["model"] = json!(frame.model);
        shown["system"] = json!(frame.system.join("\n"));
        shown["schema"] = json!(frame.schema);
        shown["temperature"] = json!(frame.temperature);
        shown["max_tokens"] = json!(frame.max_tokens);
    }
}
