//! Specs: each is stored once, however many turns began with it. A header, or a change of the spec, is stored
//! with the digest of its spec in place of the spec.

use std::sync::Arc;

use planwright::journal::{Header, JournalError, Origin, Record};
use planwright::machine::Input;
use planwright::spec::{Digest, Spec};
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use crate::fault::Fault;

/// The spec that was stored or read last: most runs of a process are of one agent.
#[derive(Debug, Default)]
pub(crate) struct Specs(Option<(Digest, Arc<Spec>)>);

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
}

impl Specs {
    /// The text of a record as it is stored.
    pub fn encode(&mut self, conn: &Connection, index: u64, record: &Record) -> Result<Vec<u8>, Fault> {
        let spec = match record {
            Record::Header(header) => &header.spec,
            Record::SpecChanged(spec) => spec,
            _ => return Ok(record.encode(index)?),
        };
        let Some(spec) = self.store(conn, index, spec)? else { return Ok(record.encode(index)?) };
        let stored = match record.clone() {
            Record::Header(header) => {
                let Header { format, run, thread, turn, origin, input, model, .. } = *header;
                let header = StoredHeader { format, run, thread, turn, origin, spec, input, model };
                Stored::Header(Box::new(header))
            }
            _ => Stored::SpecChanged(spec),
        };
        serde_json::to_vec(&stored).map_err(|error| JournalError::at(index, error.to_string()).into())
    }

    /// Stores a spec. `None` if another is stored under its digest.
    fn store(&mut self, conn: &Connection, index: u64, spec: &Arc<Spec>) -> Result<Option<Digest>, Fault> {
        let has = "SELECT EXISTS (SELECT 1 FROM spec WHERE digest = ?1)";
        if let Some((digest, last)) = &self.0
            && Arc::ptr_eq(last, spec)
            && conn.prepare_cached(has)?.query_row([digest.bytes()], |row| row.get(0))?
        {
            return Ok(Some(*digest));
        }
        let text = serde_json::to_string(spec.as_ref());
        let text = text.map_err(|error| JournalError::at(index, error.to_string()))?;
        let digest = Digest::of([text.as_bytes()]);
        let insert = "INSERT OR IGNORE INTO spec (digest, text) VALUES (?1, ?2)";
        conn.prepare_cached(insert)?.execute(params![digest.bytes(), text])?;
        if find_text(conn, digest)? != Some(text) {
            return Ok(None);
        }
        self.0 = Some((digest, Arc::clone(spec)));
        Ok(Some(digest))
    }

    /// The record of a text whose seal fits.
    pub fn decode(&mut self, conn: &Connection, index: u64, text: &[u8]) -> Result<Record, Fault> {
        let holds_spec = text.starts_with(b"{\"header\":") || text.starts_with(b"{\"rules\":");
        Ok(match holds_spec.then(|| serde_json::from_slice(text).ok()).flatten() {
            Some(Stored::SpecChanged(digest)) => Record::SpecChanged(self.find(conn, index, digest)?),
            Some(Stored::Header(header)) => {
                let StoredHeader { format, run, thread, turn, origin, spec, input, model } = *header;
                let spec = self.find(conn, index, spec)?;
                Record::Header(Box::new(Header { format, run, thread, turn, origin, spec, input, model }))
            }
            None => Record::decode(text).map_err(|problem| JournalError::at(index, problem))?,
        })
    }

    fn find(&mut self, conn: &Connection, index: u64, digest: Digest) -> Result<Arc<Spec>, Fault> {
        if let Some((_, last)) = self.0.as_ref().filter(|(last, _)| *last == digest) {
            return Ok(Arc::clone(last));
        }
        let text = find_text(conn, digest)?.ok_or_else(|| JournalError::at(index, "its spec is lost"))?;
        if Digest::of([text.as_bytes()]) != digest {
            return Err(JournalError::at(index, "its spec is not as it was written").into());
        }
        let unread = |error| JournalError::at(index, format!("its spec does not read: {error}"));
        let spec: Arc<Spec> = Arc::new(serde_json::from_str(&text).map_err(unread)?);
        self.0 = Some((digest, Arc::clone(&spec)));
        Ok(spec)
    }
}

fn find_text(conn: &Connection, digest: Digest) -> Result<Option<String>, Fault> {
    let mut select = conn.prepare_cached("SELECT text FROM spec WHERE digest = ?1")?;
    Ok(select.query_row([digest.bytes()], |row| row.get(0)).optional()?)
}

/// Deletes the specs that no record needs. If a record does not say which it needs, the list of those holds a
/// null, and nothing is deleted.
pub(crate) fn sweep_specs(conn: &Connection) -> Result<(), Fault> {
    let sql = "DELETE FROM spec WHERE lower(hex(digest)) NOT IN ( \
         SELECT CASE WHEN json_valid(body) THEN json_extract(body, '$.header.spec') END FROM record \
         WHERE at & 0xFFFFF = 0 \
         UNION SELECT CASE WHEN json_valid(body) THEN json_extract(body, '$.rules') END FROM record \
         WHERE substr(body, 1, 9) = '{\"rules\":')";
    Ok(conn.execute(sql, []).map(drop)?)
}

/// What is wrong with the stored specs, a line each.
pub(crate) fn check_specs(conn: &Connection) -> Result<Vec<String>, Fault> {
    let mut select = conn.prepare("SELECT digest, text FROM spec")?;
    let mut rows = select.query([])?;
    let mut lines = Vec::new();
    while let Some(row) = rows.next()? {
        let text: String = row.get(1)?;
        if row.get_ref(0)?.as_bytes().ok() != Some(Digest::of([text.as_bytes()]).bytes()) {
            lines.push("the store: a spec is not as it was written".to_owned());
        }
    }
    Ok(lines)
}
