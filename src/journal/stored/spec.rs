//! A spec is stored once, however many turns began with it: a header, or a change of the spec, is stored with the
//! digest of its spec in place of the spec.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::journal::{Header, JournalError, Origin, Record};
use crate::machine::Input;
use crate::ports::ModelServer;
use crate::prompt::TraceContext;
use crate::spec::{Digest, Spec};

/// The spec that was stored or read last: most runs of a process are of one agent.
pub type SpecCache = Option<(Digest, Arc<Spec>)>;

/// A record that holds a spec, as it is stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stored {
    Header(Box<StoredHeader>),
    #[serde(rename = "rules")]
    SpecChanged(Digest),
}

/// A [`Header`] with the digest of its spec.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredHeader {
    format: u32,
    run: String,
    thread: String,
    turn: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    spec: Digest,
    input: Input,
    model: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    servers: Vec<ModelServer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace: Option<TraceContext>,
}

/// The spec in a record, if there is one.
pub fn spec_in(record: &Record) -> Option<&Arc<Spec>> {
    match record {
        Record::Header(header) => Some(&header.spec),
        Record::SpecChanged(spec) => Some(spec),
        _ => None,
    }
}

/// The text of a spec as it is stored, and its digest.
///
/// # Errors
/// If it cannot be written as JSON. `index` is the place of its record.
pub fn digest_of_spec(index: u64, spec: &Spec) -> Result<(Digest, String), JournalError> {
    let text = serde_json::to_string(spec).map_err(|error| JournalError::at(index, error.to_string()))?;
    Ok((Digest::of([text.as_bytes()]), text))
}

/// The text of a record whose spec is stored under a digest. A record without a spec has its own text.
///
/// # Errors
/// If it cannot be written as JSON.
pub fn encode_with_spec(index: u64, record: &Record, spec: Digest) -> Result<Vec<u8>, JournalError> {
    let stored = match record.clone() {
        Record::Header(header) => {
            let Header { format, run, thread, turn, origin, input, model, servers, trace, .. } = *header;
            let header =
                StoredHeader { format, run, thread, turn, origin, spec, input, model, servers, trace };
            Stored::Header(Box::new(header))
        }
        Record::SpecChanged(_) => Stored::SpecChanged(spec),
        _ => return record.encode(index),
    };
    serde_json::to_vec(&stored).map_err(|error| JournalError::at(index, error.to_string()))
}

/// Reads the record of a text whose seal fits. `find_text` finds the text of a spec by its digest.
///
/// # Errors
/// [`Damaged`](crate::journal::JournalErrorKind::Damaged) if the text is no record, or its spec is not as it was
/// written, and those of `find_text`.
pub fn decode_with_spec<E: From<JournalError>>(
    cache: &mut SpecCache,
    index: u64,
    text: &[u8],
    find_text: impl FnOnce(Digest) -> Result<Option<String>, E>,
) -> Result<Record, E> {
    let find = |digest: Digest| -> Result<Arc<Spec>, E> {
        if let Some((_, last)) = cache.as_ref().filter(|(last, _)| *last == digest) {
            return Ok(Arc::clone(last));
        }
        let text = find_text(digest)?.ok_or_else(|| JournalError::at(index, "its spec is lost"))?;
        if Digest::of([text.as_bytes()]) != digest {
            return Err(JournalError::at(index, "its spec is not as it was written").into());
        }
        let unread = |error| JournalError::at(index, format!("its spec does not read: {error}"));
        let spec: Arc<Spec> = Arc::new(serde_json::from_slice(text.as_bytes()).map_err(unread)?);
        *cache = Some((digest, Arc::clone(&spec)));
        Ok(spec)
    };
    let holds_spec = text.starts_with(b"{\"header\":") || text.starts_with(b"{\"rules\":");
    Ok(match holds_spec.then(|| serde_json::from_slice(text).ok()).flatten() {
        Some(Stored::SpecChanged(digest)) => Record::SpecChanged(find(digest)?),
        Some(Stored::Header(header)) => {
            let StoredHeader { spec, format, run, thread, turn, origin, input, model, servers, trace } =
                *header;
            let spec = find(spec)?;
            let header = Header { format, run, thread, turn, origin, spec, input, model, servers, trace };
            Record::Header(Box::new(header))
        }
        None => Record::decode(text).map_err(|problem| JournalError::at(index, problem))?,
    })
}
