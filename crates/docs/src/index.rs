//! The index: documents, their passages and the terms in them, in one SQLite database (FTS5) in memory
//! or in a file. What a passage is, its tool says: a piece of a document, an article of a contract.
//! SQLite splits the indexed text at blanks alone; `terms.rs` says what the terms are. Equal scores are ordered by document and position, so the same documents
//! give the same ranking however they came in.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Result, Transaction, TransactionBehavior, params};

use crate::terms::{push_terms, query_terms};

/// A passage's id holds its document and, in this many bits, its position.
const POSITION_BITS: u32 = 24;
/// How long one process waits for another that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// Counts the formats of the database, the rules for terms and passages included.
const FORMAT: i64 = 2;

const SCHEMA: &str = "
    CREATE TABLE documents (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL, modified INTEGER NOT NULL,
        unreadable TEXT
    );
    CREATE TABLE passages (id INTEGER PRIMARY KEY, headings TEXT NOT NULL, text TEXT NOT NULL);
    CREATE VIRTUAL TABLE terms USING fts5(
        heading, body, content = '', contentless_delete = 1, tokenize = 'ascii'
    );
    INSERT INTO terms (terms, rank) VALUES ('hashsize', 16777216);";

/// A word in a heading counts twice.
const SEARCH: &str = "
    SELECT found.name, passages.id, passages.headings, passages.text, found.score
    FROM (
        SELECT terms.rowid AS id, documents.name AS name, bm25(terms, 2.0, 1.0) AS score
        FROM terms CROSS JOIN documents ON documents.id = terms.rowid >> ?3
        WHERE terms MATCH ?1 ORDER BY score, name, terms.rowid LIMIT ?2
    ) AS found JOIN passages ON passages.id = found.id
    ORDER BY found.score, found.name, found.id";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The headings above it, outermost first; none holds a line break.
    pub headings: Vec<String>,
    pub text: String,
}

/// A piece of a document that a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// The document's path from the folder, with `/`, or its name.
    pub path: String,
    /// The headings above the passage, outermost first.
    pub headings: Vec<String>,
    /// Its place among the document's passages, from 0.
    pub position: usize,
    /// What it says: about 600 to 900 characters, less where a section is shorter.
    pub text: String,
    /// How well it fits the query; comparable within one search.
    pub score: f64,
}

/// The size of a file and its time in nanoseconds since 1970; it is read again when these change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub bytes: u64,
    pub modified: i64,
}

/// A document that the index knows.
pub(crate) struct Indexed {
    pub stamp: Stamp,
    /// Why it has no passages, if it could not be read as what it is.
    pub unreadable: Option<String>,
}

pub(crate) struct Index(Connection);

impl Index {
    pub fn in_memory() -> Result<Self> {
        Index::over(Connection::open_in_memory()?)
    }

    /// The index in a file that exists; an empty file becomes an empty index.
    pub fn open(path: &Path) -> Result<Self> {
        Index::over(Connection::open(path)?)
    }

    fn over(mut connection: Connection) -> Result<Self> {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        let format =
            |connection: &Connection| connection.pragma_query_value(None, "user_version", |row| row.get(0));
        // A reader waits for no writer.
        if format(&connection)? == FORMAT {
            return Ok(Index(connection));
        }
        // Another process may open it at the same time: the second finds the format in place.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        match format(&transaction)? {
            0 => {
                transaction.execute_batch(SCHEMA)?;
                transaction.pragma_update(None, "user_version", FORMAT)?;
            }
            FORMAT => {}
            _ => return Err(rusqlite::Error::InvalidQuery),
        }
        transaction.commit()?;
        Ok(Index(connection))
    }

    /// Empties the database in a file, damaged or not, in step with other processes that have it open.
    pub fn clear(path: &Path) -> Result<()> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
        connection.execute_batch("VACUUM")?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, false)?;
        Ok(())
    }

    pub fn documents(&self) -> Result<HashMap<String, Indexed>> {
        let mut query = self.0.prepare("SELECT name, bytes, modified, unreadable FROM documents")?;
        let documents = query.query_map([], |row| {
            let stamp = Stamp { bytes: row.get(1)?, modified: row.get(2)? };
            Ok((row.get(0)?, Indexed { stamp, unreadable: row.get(3)? }))
        })?;
        documents.collect()
    }

    /// Begins to change documents. Other processes wait until the changes are committed.
    pub fn change(&mut self) -> Result<Transaction<'_>> {
        self.0.transaction_with_behavior(TransactionBehavior::Immediate)
    }

    /// The passages that hold a term of the query, best first.
    pub fn search(&self, query: &str, limit: usize) -> Result<Vec<Passage>> {
        let terms = query_terms(query);
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        let wanted = format!("\"{}\"", terms.join("\" OR \""));
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut search = self.0.prepare_cached(SEARCH)?;
        let passages = search.query_map(params![wanted, limit, POSITION_BITS], |row| {
            let headings: String = row.get(2)?;
            Ok(Passage {
                path: row.get(0)?,
                position: (row.get::<_, i64>(1)? & ((1 << POSITION_BITS) - 1)) as usize,
                headings: headings.lines().map(str::to_owned).collect(),
                text: row.get(3)?,
                score: -row.get::<_, f64>(4)?,
            })
        })?;
        passages.collect()
    }
}

/// Whether an error says that the file is damaged, no database, or one of another format.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    // Without a code: a value of another type, or the format. Unknown: a table that is missing.
    use ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
    matches!(error.sqlite_error_code(), None | Some(DatabaseCorrupt | NotADatabase | Unknown))
}

/// Adds a document that is not there, with its passages or the reason why it has none.
pub(crate) fn add(
    connection: &Connection,
    name: &str,
    stamp: Stamp,
    passages: &std::result::Result<Vec<Entry>, String>,
) -> Result<()> {
    let insert = "INSERT INTO documents (name, bytes, modified, unreadable) VALUES (?1, ?2, ?3, ?4)";
    let mut insert = connection.prepare_cached(insert)?;
    insert.execute(params![name, stamp.bytes, stamp.modified, passages.as_ref().err()])?;
    let first = connection.last_insert_rowid() << POSITION_BITS;
    let mut passage =
        connection.prepare_cached("INSERT INTO passages (id, headings, text) VALUES (?1, ?2, ?3)")?;
    let mut terms =
        connection.prepare_cached("INSERT INTO terms (rowid, heading, body) VALUES (?1, ?2, ?3)")?;
    for (id, Entry { headings, text }) in (first..).zip(passages.iter().flatten()) {
        let headings = headings.join("\n");
        let (mut heading, mut body) = (String::new(), String::with_capacity(2 * text.len()));
        push_terms(name, &mut heading);
        push_terms(&headings, &mut heading);
        push_terms(text, &mut body);
        terms.execute(params![id, heading, body])?;
        passage.execute(params![id, headings, text])?;
    }
    Ok(())
}

pub(crate) fn remove(connection: &Connection, name: &str) -> Result<()> {
    let mut remove = connection.prepare_cached("DELETE FROM documents WHERE name = ?1 RETURNING id")?;
    let id: Option<i64> = remove.query_row([name], |row| row.get(0)).optional()?;
    let Some(places) = id.map(|id| [id << POSITION_BITS, (id + 1) << POSITION_BITS]) else { return Ok(()) };
    connection.prepare_cached("DELETE FROM terms WHERE rowid >= ?1 AND rowid < ?2")?.execute(places)?;
    connection.prepare_cached("DELETE FROM passages WHERE id >= ?1 AND id < ?2")?.execute(places)?;
    Ok(())
}
