//! Specs: each is kept once, however many runs began with it. A header, and a change of the rules, is kept
//! with the digest of its spec in the spec's place.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::fault::Fault;
use planwright::journal::seal;
use planwright::journal::{Header, JournalError, Origin, Record};
use planwright::machine::Input;
use planwright::spec::{Digest, Spec};

/// The spec that was kept or read last: most runs of a process are one agent's.
#[derive(Debug, Default)]
pub(super) struct Specs(Option<(Digest, Arc<Spec>)>);

/// A record that holds a spec, as it is kept.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kept {
    Header(Box<KeptHeader>),
    #[serde(rename = "rules")]
    SpecChanged(Digest),
}

/// A [`Header`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptHeader {
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
    /// A record as its text.
    pub fn written(&mut self, conn: &Connection, index: u64, record: &Record) -> Result<Vec<u8>, Fault> {
        let spec = match record {
            Record::Header(header) => &header.spec,
            Record::SpecChanged(spec) => spec,
            _ => return Ok(seal::encode(index, record)?),
        };
        let Some(spec) = self.keep(conn, index, spec)? else { return Ok(seal::encode(index, record)?) };
        let kept = match record {
            Record::Header(header) => {
                let Header { format, run, thread, turn, origin, input, model, .. } = Header::clone(header);
                Kept::Header(Box::new(KeptHeader { format, run, thread, turn, origin, spec, input, model }))
            }
            _ => Kept::SpecChanged(spec),
        };
        serde_json::to_vec(&kept).map_err(|error| JournalError::at(index, error.to_string()).into())
    }

    /// Keeps a spec. `None` where another is kept under its digest.
    fn keep(&mut self, conn: &Connection, index: u64, spec: &Arc<Spec>) -> Result<Option<Digest>, Fault> {
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
        match text_of(conn, digest)? {
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

    /// The record of a text whose seal holds.
    pub fn read(&mut self, conn: &Connection, index: u64, text: &[u8]) -> Result<Record, Fault> {
        Ok(match kept(text) {
            Some(Kept::SpecChanged(digest)) => Record::SpecChanged(self.find(conn, index, digest)?),
            Some(Kept::Header(header)) => {
                let KeptHeader { format, run, thread, turn, origin, spec, input, model } = *header;
                let spec = self.find(conn, index, spec)?;
                Record::Header(Box::new(Header { format, run, thread, turn, origin, spec, input, model }))
            }
            None => seal::decode(text).map_err(|problem| JournalError::at(index, problem))?,
        })
    }

    fn find(&mut self, conn: &Connection, index: u64, digest: Digest) -> Result<Arc<Spec>, Fault> {
        if let Some((_, last)) = self.0.as_ref().filter(|(last, _)| *last == digest) {
            return Ok(Arc::clone(last));
        }
        let text = text_of(conn, digest)?.ok_or_else(|| JournalError::at(index, "its spec is lost"))?;
        if Digest::of([text.as_bytes()]) != digest {
            return Err(JournalError::at(index, "its spec is not as it was written").into());
        }
        let unread = |error| JournalError::at(index, format!("its spec does not read: {error}"));
        let spec: Arc<Spec> = Arc::new(serde_json::from_str(&text).map_err(unread)?);
        self.0 = Some((digest, Arc::clone(&spec)));
        Ok(spec)
    }
}

/// A text as a record whose spec is kept elsewhere, where it is one.
fn kept(text: &[u8]) -> Option<Kept> {
    let holds = text.starts_with(b"{\"header\":") || text.starts_with(RULES.as_bytes());
    if holds { serde_json::from_slice(text).ok() } else { None }
}

const RULES: &str = "{\"rules\":";

fn text_of(conn: &Connection, digest: Digest) -> Result<Option<String>, Fault> {
    let mut select = conn.prepare_cached("SELECT text FROM spec WHERE digest = ?1")?;
    Ok(select.query_row([digest.bytes()], |row| row.get(0)).optional()?)
}

/// Takes away the specs that no record needs. Where a record does not say which it needs, none.
pub(super) fn sweep(conn: &Connection) -> Result<(), Fault> {
    let mut used = BTreeSet::new();
    let sql = "SELECT CAST(body AS BLOB) FROM record WHERE at & 0xFFFFF = 0 OR substr(body, 1, 9) = ?1";
    let mut select = conn.prepare(sql)?;
    let mut rows = select.query([RULES])?;
    while let Some(row) = rows.next()? {
        let body = row.get_ref(0)?.as_bytes().unwrap_or_default();
        match kept(body) {
            Some(Kept::Header(header)) => drop(used.insert(header.spec)),
            Some(Kept::SpecChanged(digest)) => drop(used.insert(digest)),
            None if seal::decode(body).is_ok() => {}
            None => return Ok(()),
        }
    }
    for digest in all(conn)?.into_iter().flat_map(|(digest, _)| digest) {
        if !used.contains(&digest) {
            conn.execute("DELETE FROM spec WHERE digest = ?1", [digest.bytes()])?;
        }
    }
    Ok(())
}

/// What is wrong with the specs that are kept, a line each.
pub(super) fn check(conn: &Connection) -> Result<Vec<String>, Fault> {
    let spoilt = |(digest, text): &(Option<Digest>, String)| *digest != Some(Digest::of([text.as_bytes()]));
    let spoilt = all(conn)?.iter().filter(|kept| spoilt(kept)).count();
    Ok(vec!["the store: a spec is not as it was written".to_owned(); spoilt])
}

fn all(conn: &Connection) -> Result<Vec<(Option<Digest>, String)>, Fault> {
    let mut select = conn.prepare("SELECT digest, text FROM spec")?;
    let mut rows = select.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let digest = row.get_ref(0)?.as_bytes().unwrap_or_default();
        found.push((digest.try_into().ok().map(Digest::of_bytes), row.get(1)?));
    }
    Ok(found)
}
