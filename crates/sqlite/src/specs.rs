//! Specs: each is stored once, however many turns began with it. A header, or a change of the spec, is stored
//! with the digest of its spec in place of the spec.

use std::collections::BTreeSet;
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
        let stored = match record {
            Record::Header(header) => {
                let Header { format, run, thread, turn, origin, input, model, .. } = Header::clone(header);
                Stored::Header(Box::new(StoredHeader {
                    format,
                    run,
                    thread,
                    turn,
                    origin,
                    spec,
                    input,
                    model,
                }))
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
        match find_text(conn, digest)? {
            Some(kept) if kept != text => return Ok(None),
            Some(_) => {}
            None => {
                let insert = "INSERT INTO spec (digest, text) VALUES (?1, ?2)";
                conn.prepare_cached(insert)?.execute(params![digest.bytes(), text])?;
            }
        }
        self.0 = Some((digest, Arc::clone(spec)));
        Ok(Some(digest))
    }

    /// The record of a text whose seal fits.
    pub fn decode(&mut self, conn: &Connection, index: u64, text: &[u8]) -> Result<Record, Fault> {
        Ok(match parse_stored(text) {
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

/// A text as a record whose spec is stored apart, if it is one.
fn parse_stored(text: &[u8]) -> Option<Stored> {
    let holds = text.starts_with(b"{\"header\":") || text.starts_with(RULES.as_bytes());
    if holds { serde_json::from_slice(text).ok() } else { None }
}

const RULES: &str = "{\"rules\":";

fn find_text(conn: &Connection, digest: Digest) -> Result<Option<String>, Fault> {
    let mut select = conn.prepare_cached("SELECT text FROM spec WHERE digest = ?1")?;
    Ok(select.query_row([digest.bytes()], |row| row.get(0)).optional()?)
}

/// Deletes the specs that no record needs; none of them if a record does not say which it needs.
pub(crate) fn sweep(conn: &Connection) -> Result<(), Fault> {
    let mut used = BTreeSet::new();
    let sql = "SELECT CAST(body AS BLOB) FROM record WHERE at & 0xFFFFF = 0 OR substr(body, 1, 9) = ?1";
    let mut select = conn.prepare(sql)?;
    let mut rows = select.query([RULES])?;
    while let Some(row) = rows.next()? {
        let body = row.get_ref(0)?.as_bytes().unwrap_or_default();
        match parse_stored(body) {
            Some(Stored::Header(header)) => drop(used.insert(header.spec)),
            Some(Stored::SpecChanged(digest)) => drop(used.insert(digest)),
            None if Record::decode(body).is_ok() => {}
            None => return Ok(()),
        }
    }
    for digest in list_all(conn)?.into_iter().flat_map(|(digest, _)| digest) {
        if !used.contains(&digest) {
            conn.execute("DELETE FROM spec WHERE digest = ?1", [digest.bytes()])?;
        }
    }
    Ok(())
}

/// What is wrong with the stored specs, a line each.
pub(crate) fn check(conn: &Connection) -> Result<Vec<String>, Fault> {
    let spoilt = |(digest, text): &(Option<Digest>, String)| *digest != Some(Digest::of([text.as_bytes()]));
    let spoilt = list_all(conn)?.iter().filter(|kept| spoilt(kept)).count();
    Ok(vec!["the store: a spec is not as it was written".to_owned(); spoilt])
}

fn list_all(conn: &Connection) -> Result<Vec<(Option<Digest>, String)>, Fault> {
    let mut select = conn.prepare("SELECT digest, text FROM spec")?;
    let mut rows = select.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let digest = row.get_ref(0)?.as_bytes().unwrap_or_default();
        found.push((digest.try_into().ok().map(Digest::of_bytes), row.get(1)?));
    }
    Ok(found)
}
