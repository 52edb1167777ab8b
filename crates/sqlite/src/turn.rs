//! The records of a turn: appended at its head, and read in one sweep. Specs are stored beside them, each once.

use std::sync::Arc;

use planwright::journal::stored::{
    SpecCache, TurnReader, check_header, decode_with_spec, digest_of_spec, encode_with_spec, spec_in,
};
use planwright::journal::{Header, JournalError, Lease, Record, Seal, ThreadId};
use planwright::spec::{Digest, Spec};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use crate::fault::Fault;
use crate::row::{End, Row, find_end, find_kept_end, place};

const MOST_RECORDS: u64 = (1 << 20) - 1;

/// The end of a turn under one lease. A handle remembers the head of each thread that it writes to, and
/// appends there without looking again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    thread: i64,
    epoch: u64,
    turn: u32,
    pub end: End,
}

impl Head {
    /// The head of a turn without records.
    pub fn start(start: Seal, row: &Row, turn: u32) -> Self {
        Head { thread: row.id, epoch: row.epoch, turn, end: End { records: 0, seal: start } }
    }

    /// The head of a turn, which has to have this many records.
    pub fn find(conn: &Connection, start: Seal, row: &Row, turn: u32, len: u64) -> Result<Self, Fault> {
        let found = row.check_end(turn, len, || find_end(conn, place(row.id, turn)))?;
        let head = Head::start(start, row, turn);
        Ok(found.map_or(head, |end| Head { end, ..head }))
    }

    pub fn is_at(&self, lease: &Lease, turn: u32, index: u64) -> bool {
        self.epoch == lease.epoch() && self.turn == turn && self.end.records == index
    }

    /// Moves behind one more record, sealed with all before it. Gives the record's place.
    fn advance(&mut self, thread: &ThreadId, record: &Record, body: &[u8]) -> Result<i64, JournalError> {
        let End { records: len, seal } = self.end;
        record.check_place(thread, self.turn, len)?;
        if len >= MOST_RECORDS {
            return Err(JournalError::at(len, format!("a turn has no more than {MOST_RECORDS} records")));
        }
        self.end = End { records: len + 1, seal: seal.with(body) };
        Ok(place(self.thread, self.turn) + len as i64)
    }

    /// Appends records in a transaction that has checked the lease.
    pub fn append(
        mut self,
        conn: &Connection,
        specs: &mut Specs,
        thread: &ThreadId,
        new: &[Record],
    ) -> Result<Self, Fault> {
        let mut insert = conn.prepare_cached("INSERT INTO record (at, seal, body) VALUES (?1, ?2, ?3)")?;
        for record in new {
            let body = specs.encode(conn, self.end.records, record)?;
            let at = self.advance(thread, record, &body)?;
            let body = ToSqlOutput::Borrowed(ValueRef::Text(&body));
            insert.execute(params![at, self.end.seal.as_bytes(), body])?;
        }
        Ok(self)
    }

    /// Appends one or two records in one statement that checks the lease as well. Gives the new head; `None`
    /// if the lease is not in force, or the append needs more than that. Nothing was appended then.
    pub fn append_leased(
        mut self,
        conn: &Connection,
        lease: &Lease,
        new: &[Record],
    ) -> Result<Option<Self>, Fault> {
        let holds_spec = |record| matches!(record, &Record::Header(_) | &Record::SpecChanged(_));
        let sql = match new {
            _ if new.iter().any(holds_spec) => return Ok(None),
            [_] => ONE,
            [_, _] => TWO,
            _ => return Ok(None),
        };
        let mut insert = conn.prepare_cached(sql)?;
        insert.raw_bind_parameter(1, self.thread)?;
        insert.raw_bind_parameter(2, self.epoch)?;
        insert.raw_bind_parameter(3, i64::from(self.turn) + 1)?;
        for (nth, record) in new.iter().enumerate() {
            let body = record.encode(self.end.records)?;
            let at = self.advance(lease.thread(), record, &body)?;
            // SQLite copies what is bound: one body at a time is in memory twice.
            let body = ToSqlOutput::Borrowed(ValueRef::Text(&body));
            insert.raw_bind_parameter(4 + 3 * nth, at)?;
            insert.raw_bind_parameter(5 + 3 * nth, self.end.seal.as_bytes())?;
            insert.raw_bind_parameter(6 + 3 * nth, body)?;
        }
        match insert.raw_execute() {
            Ok(0) => Ok(None),
            // Another record is at the place already.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => Ok(None),
            done => Ok(done.map(|_| Some(self))?),
        }
    }
}

/// With `turns` as a bare column SQLite would use the index of a list, and take several times as long.
const ONE: &str = "INSERT INTO record (at, seal, body) SELECT ?4, ?5, ?6 FROM thread \
     WHERE id = ?1 AND epoch = ?2 AND written = ?2 AND noted = 0 AND turns + 0 = ?3";

const TWO: &str = "INSERT INTO record (at, seal, body) SELECT ?4, ?5, ?6 FROM thread \
     WHERE id = ?1 AND epoch = ?2 AND written = ?2 AND noted = 0 AND turns + 0 = ?3 \
     UNION ALL SELECT ?7, ?8, ?9 FROM thread \
     WHERE id = ?1 AND epoch = ?2 AND written = ?2 AND noted = 0 AND turns + 0 = ?3";

/// Reads a turn, and checks that it is as it was written.
pub(crate) fn read_turn(
    conn: &Connection,
    start: Seal,
    specs: &mut Specs,
    row: &Row,
    turn: u32,
) -> Result<Vec<Record>, Fault> {
    let (from, to) = (place(row.id, turn), place(row.id, turn + 1));
    let mut reader = TurnReader::new(start, row, turn, || find_kept_end(conn, from))?;
    let select = "SELECT at, seal, body FROM record WHERE at >= ?1 AND at < ?2 ORDER BY at";
    let mut select = conn.prepare_cached(select)?;
    let mut rows = select.query([from, to])?;
    while let Some(found) = rows.next()? {
        let at: i64 = found.get(0)?;
        let (written, body) = (found.get_ref(1)?, found.get_ref(2)?);
        let (written, body) = (written.as_bytes().unwrap_or_default(), body.as_bytes().unwrap_or_default());
        reader.take(at - from, written, body, |index| specs.decode(conn, index, body))?;
    }
    Ok(reader.finish()?)
}

/// The specs of a handle.
#[derive(Debug, Default)]
pub(crate) struct Specs(SpecCache);

impl Specs {
    /// The text of a record as it is stored.
    pub fn encode(&mut self, conn: &Connection, index: u64, record: &Record) -> Result<Vec<u8>, Fault> {
        let Some(spec) = spec_in(record) else { return Ok(record.encode(index)?) };
        Ok(match self.store(conn, index, spec)? {
            Some(digest) => encode_with_spec(index, record, digest)?,
            None => record.encode(index)?,
        })
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
        let (digest, text) = digest_of_spec(index, spec)?;
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
        decode_with_spec(&mut self.0, index, text, |digest| find_text(conn, digest))
    }
}

fn find_text(conn: &Connection, digest: Digest) -> Result<Option<String>, Fault> {
    let mut select = conn.prepare_cached("SELECT text FROM spec WHERE digest = ?1")?;
    Ok(select.query_row([digest.bytes()], |row| row.get(0)).optional()?)
}

/// Reads the first record of a turn, and checks that it is as it was written.
pub(crate) fn read_header(
    conn: &Connection,
    start: Seal,
    specs: &mut Specs,
    row: &Row,
    turn: u32,
) -> Result<Header, Fault> {
    let mut select = conn.prepare_cached("SELECT seal, body FROM record WHERE at = ?1")?;
    let mut rows = select.query([place(row.id, turn)])?;
    let found = rows.next()?.ok_or_else(|| JournalError::at(0, "it is lost"))?;
    let (written, body) = (found.get_ref(0)?, found.get_ref(1)?);
    let (written, body) = (written.as_bytes().unwrap_or_default(), body.as_bytes().unwrap_or_default());
    check_header(start, written, body, || specs.decode(conn, 0, body))
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
