//! The records of a turn: appended at its head, and read in one sweep. Specs are stored beside them, each once.

use std::sync::{Arc, Mutex, PoisonError};

use planwright::journal::stored::{
    SpecCache, TurnReader, check_header, decode_with_spec, digest_of_spec, encode_with_spec, spec_in,
};
use planwright::journal::{Header, JournalError, Lease, Record, Seal, ThreadId};
use planwright::spec::{Digest, Spec};

use crate::fault::Fault;
use crate::pool::Conn;
use crate::row::{End, ThreadRow, find_end, find_kept_end};

/// The end of a turn under one lease. A store remembers the head of each thread that it writes to, and appends there
/// without looking again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    thread: i64,
    turn: u32,
    pub end: End,
}

/// Records as they are stored, and the head behind them.
pub(crate) struct Sealed {
    head: Head,
    at: Vec<i64>,
    seals: Vec<Vec<u8>>,
    bodies: Vec<String>,
    specs: Vec<Option<Vec<u8>>>,
}

impl Sealed {
    pub fn head(&self) -> Head {
        self.head
    }
}

impl Head {
    /// The head of a turn without records.
    pub fn start(start: Seal, row: &ThreadRow, turn: u32) -> Self {
        Head { thread: row.id, turn, end: End { records: 0, seal: start } }
    }

    /// The head of a turn, which has to have this many records.
    pub fn find(conn: &mut Conn, start: Seal, row: &ThreadRow, turn: u32, len: u64) -> Result<Self, Fault> {
        let found = row.check_end(turn, len, || find_end(conn, row.id, turn))?;
        let head = Head::start(start, row, turn);
        Ok(found.map_or(head, |end| Head { end, ..head }))
    }

    pub fn is_at(&self, turn: u32, index: u64) -> bool {
        self.turn == turn && self.end.records == index
    }

    /// Seals records behind this head. `find_digest` stores the spec of a record that holds one.
    pub fn seal(
        self,
        thread: &ThreadId,
        new: &[Record],
        mut find_digest: impl FnMut(u64, &Arc<Spec>) -> Result<Option<Digest>, Fault>,
    ) -> Result<Sealed, Fault> {
        let (at, seals, bodies, specs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut sealed = Sealed { head: self, at, seals, bodies, specs };
        for record in new {
            let end = sealed.head.end;
            record.check_place(thread, self.turn, end.records)?;
            let spec = spec_in(record).map(|spec| find_digest(end.records, spec)).transpose()?.flatten();
            let body = match spec {
                Some(digest) => encode_with_spec(end.records, record, digest)?,
                None => record.encode(end.records)?,
            };
            let seal = end.seal.with(&body);
            let body = String::from_utf8(body).expect("JSON is UTF-8");
            sealed.head.end = End { records: end.records + 1, seal };
            sealed.at.push(end.records as i64);
            sealed.seals.push(seal.as_bytes().to_owned());
            sealed.bodies.push(body);
            sealed.specs.push(spec.map(|digest| digest.bytes().to_owned()));
        }
        Ok(sealed)
    }

    /// Appends in a transaction that has locked the row of the thread.
    pub fn append(
        self,
        conn: &mut Conn,
        specs: &Specs,
        thread: &ThreadId,
        new: &[Record],
    ) -> Result<Self, Fault> {
        let sealed = self.seal(thread, new, |index, spec| specs.store(conn, index, spec))?;
        let Sealed { head, at, seals, bodies, specs } = sealed;
        if !new.is_empty() {
            let sql = "INSERT INTO record (thread, turn, at, seal, body, spec) \
                 SELECT $1, $2, * FROM unnest($3::bigint[], $4::bytea[], $5::text[], $6::bytea[])";
            conn.execute(sql, &[&self.thread, &(self.turn as i32), &at, &seals, &bodies, &specs])?;
        }
        Ok(head)
    }

    /// Appends in one statement that checks the lease as well, and that the record before is there: a server that took
    /// over may have lost it. Gives the new head; `None` if the lease is not in force, or the append needs more than
    /// that. Nothing was appended then.
    pub fn append_leased(
        self,
        conn: &mut Conn,
        lease: &Lease,
        new: &[Record],
    ) -> Result<Option<Self>, Fault> {
        let holds_spec = new.iter().any(|record| spec_in(record).is_some());
        if new.is_empty() || holds_spec || self.end.records == 0 {
            return Ok(None);
        }
        let Sealed { head, at, seals, bodies, .. } = self.seal(lease.thread(), new, |_, _| Ok(None))?;
        let (before, epoch) = (self.end.records as i64 - 1, lease.epoch() as i64);
        let values: &[&(dyn postgres::types::ToSql + Sync)] = &[
            &self.thread,
            &(self.turn as i32),
            &epoch,
            &before,
            &self.end.seal.as_bytes(),
            &at,
            &seals,
            &bodies,
        ];
        // The lock of the row waits for one who takes the thread over, and then sees the new epoch.
        let sql = "INSERT INTO record (thread, turn, at, seal, body) SELECT held.id, $2, new.* FROM ( \
               SELECT id FROM thread WHERE id = $1 AND epoch = $3 AND written = $3 AND NOT noted AND turns = $2 + 1 \
               FOR SHARE) AS held, \
             unnest($6::bigint[], $7::bytea[], $8::text[]) AS new \
             WHERE EXISTS (SELECT FROM record WHERE thread = $1 AND turn = $2 AND at = $4 AND seal = $5)";
        match conn.execute(sql, values) {
            Ok(0) => Ok(None),
            // Another record is at the place already.
            Err(fault) if fault.has_code(&postgres::error::SqlState::UNIQUE_VIOLATION) => Ok(None),
            done => done.map(|_| Some(head)),
        }
    }
}

/// Reads a turn, and checks that it is as it was written.
pub(crate) fn read_turn(
    conn: &mut Conn,
    start: Seal,
    specs: &Specs,
    row: &ThreadRow,
    turn: u32,
) -> Result<Vec<Record>, Fault> {
    let mut reader = TurnReader::new(start, row, turn, || find_kept_end(conn, row.id, turn))?;
    let sql = "SELECT at, seal, body FROM record WHERE thread = $1 AND turn = $2 ORDER BY at";
    for found in conn.query(sql, &[&row.id, &(turn as i32)])? {
        let body = found.get::<_, &str>(2).as_bytes();
        reader.take(found.get(0), found.get(1), body, |index| specs.decode(conn, index, body))?;
    }
    Ok(reader.finish()?)
}

/// Reads the first record of a turn, and checks that it is as it was written.
pub(crate) fn read_header(
    conn: &mut Conn,
    start: Seal,
    specs: &Specs,
    row: &ThreadRow,
    turn: u32,
) -> Result<Header, Fault> {
    let sql = "SELECT seal, body FROM record WHERE thread = $1 AND turn = $2 AND at = 0";
    let found =
        conn.find(sql, &[&row.id, &(turn as i32)])?.ok_or_else(|| JournalError::at(0, "it is lost"))?;
    let body = found.get::<_, &str>(1).as_bytes();
    check_header(start, found.get(0), body, || specs.decode(conn, 0, body))
}

/// The specs of a store.
#[derive(Debug, Default)]
pub(crate) struct Specs(Mutex<SpecCache>);

impl Specs {
    fn last(&self) -> SpecCache {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember(&self, last: SpecCache) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = last;
    }

    /// Stores a spec, and keeps others from sweeping it until the transaction ends. `None` if another is stored under
    /// its digest.
    pub fn store(&self, conn: &mut Conn, index: u64, spec: &Arc<Spec>) -> Result<Option<Digest>, Fault> {
        let has = "SELECT FROM spec WHERE digest = $1 FOR KEY SHARE";
        if let Some((digest, _)) = self.last().filter(|(_, last)| Arc::ptr_eq(last, spec))
            && conn.find(has, &[&digest.bytes()])?.is_some()
        {
            return Ok(Some(digest));
        }
        let (digest, text) = digest_of_spec(index, spec)?;
        let insert = "INSERT INTO spec VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING";
        conn.execute(insert, &[&digest.bytes(), &text])?;
        let select = "SELECT text FROM spec WHERE digest = $1 FOR KEY SHARE";
        let found = conn.find(select, &[&digest.bytes()])?;
        if found.is_none_or(|found| found.get::<_, &str>(0) != text) {
            return Ok(None);
        }
        self.remember(Some((digest, Arc::clone(spec))));
        Ok(Some(digest))
    }

    /// The record of a text whose seal fits.
    fn decode(&self, conn: &mut Conn, index: u64, text: &[u8]) -> Result<Record, Fault> {
        let mut cache = self.last();
        let record = decode_with_spec(&mut cache, index, text, |digest| {
            let found = conn.find("SELECT text FROM spec WHERE digest = $1", &[&digest.bytes()])?;
            Ok::<_, Fault>(found.map(|found| found.get(0)))
        })?;
        self.remember(cache);
        Ok(record)
    }
}

/// Deletes the specs that no record needs. One that is about to need one waits, and stores it anew.
pub(crate) fn sweep_specs(conn: &mut Conn) -> Result<(), Fault> {
    conn.client.batch_execute("LOCK TABLE spec IN EXCLUSIVE MODE")?;
    let sql = "DELETE FROM spec WHERE NOT EXISTS (SELECT FROM record WHERE record.spec = spec.digest)";
    conn.execute(sql, &[]).map(drop)
}

/// What is wrong with the stored specs, a line each.
pub(crate) fn check_specs(conn: &mut Conn) -> Result<Vec<String>, Fault> {
    let is_spoilt = |row: &postgres::Row| {
        Digest::of([row.get::<_, &str>(1).as_bytes()]).bytes() != row.get::<_, &[u8]>(0)
    };
    let found = conn.query("SELECT digest, text FROM spec", &[])?;
    let line = |_| "the store: a spec is not as it was written".to_owned();
    Ok(found.iter().filter(|row| is_spoilt(row)).map(line).collect())
}
