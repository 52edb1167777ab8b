//! The index: documents, their passages and the terms in them, in one SQLite database (FTS5) in memory
//! or in a file. What a passage is, its tool says: a piece of a document, an article of a contract.
//!
//! SQLite splits the indexed text at blanks alone. Words of spaced scripts are one lower-case term each, and
//! their root another. A run of Hangul, Han, kana or another script whose words are not told apart by spaces
//! alone gives every pair of neighbouring characters and the whole run, so `상태기계`, `상태 기계는` and `기계를`
//! share terms without a dictionary. Equal scores are ordered by document and position, so the same documents
//! give the same ranking however they came in.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Result, Transaction, TransactionBehavior, params};

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// Longer words are cut, so that no text makes a term of any size.
const MAX_WORD_CHARS: usize = 64;
/// Longer runs give their pairs alone.
const MAX_RUN_CHARS: usize = 16;
const MAX_QUERY_TERMS: usize = 64;
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

/// Appends the terms of a text, a blank before each.
fn push_terms(text: &str, terms: &mut String) {
    // Compatibility composition: decomposed Hangul and full-width letters become what people type.
    match is_nfkc_quick(text.chars()) {
        _ if text.is_ascii() => push_runs(text.chars().map(|c| c.to_ascii_lowercase()), terms),
        IsNormalized::Yes => push_runs(text.chars().flat_map(char::to_lowercase), terms),
        _ => push_runs(text.nfkc().flat_map(char::to_lowercase), terms),
    }
}

fn push_runs(chars: impl Iterator<Item = char>, terms: &mut String) {
    let (mut run, mut of) = (String::new(), None);
    for c in chars {
        let script = script(c);
        if script != of {
            push_run(&run, of, terms);
            run.clear();
            of = script;
        }
        run.push(c);
    }
    push_run(&run, of, terms);
}

/// Appends the terms of characters of one script.
fn push_run(run: &str, script: Option<Script>, terms: &mut String) {
    let mut push = |term: &str| terms.extend([" ", term]);
    match script {
        Some(Script::Spaced) => {
            let end = run.char_indices().nth(MAX_WORD_CHARS).map_or(run.len(), |(at, _)| at);
            let term = singular(&run[..end]);
            push(&term);
            root(&term).into_iter().for_each(push);
        }
        Some(Script::Unspaced) => {
            let bounds: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
            bounds.windows(3).for_each(|pair| push(&run[pair[0]..pair[2]]));
            // A pair is its own whole run.
            let length = bounds.len() - 1;
            if length != 2 && length <= MAX_RUN_CHARS {
                push(run);
            }
        }
        None => {}
    }
}

/// How words are told apart: by spaces, or by pairs of characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Spaced,
    Unspaced,
}

fn script(c: char) -> Option<Script> {
    let is_unspaced = matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}'
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
        | '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}');
    c.is_alphanumeric().then_some(if is_unspaced { Script::Unspaced } else { Script::Spaced })
}

/// `plans` and `plan` are one term: the rules of Harman's S-stemmer.
fn singular(word: &str) -> Cow<'_, str> {
    let (ending, put, but): (_, _, &[&str]) = match word.ends_with("ies") {
        true => ("ies", "y", &["eies", "aies"]),
        false => ("s", "", &["aes", "ees", "oes", "us", "ss"]),
    };
    let kept = word.len() <= 3 || !word.is_ascii() || but.iter().any(|but| word.ends_with(but));
    match word.strip_suffix(ending).filter(|_| !kept) {
        Some(stem) if put.is_empty() => Cow::Borrowed(stem),
        Some(stem) => Cow::Owned(format!("{stem}{put}")),
        None => Cow::Borrowed(word),
    }
}

/// What `contribute` and `contribution` have in common: a term beside the word, so that the word counts most.
fn root(word: &str) -> Option<&str> {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return None;
    }
    let ending = |end: &str, least: usize| word.strip_suffix(end).filter(|rest| rest.len() >= least);
    let base = ending("ation", 5)
        .or_else(|| ending("ion", 4).filter(|rest| rest.ends_with(['t', 's'])))
        .or_else(|| ending("ing", 4))
        .or_else(|| ending("ed", 4))
        .unwrap_or(word);
    let base = base.strip_suffix('e').filter(|rest| rest.len() >= 4).unwrap_or(base);
    let base = base.strip_suffix("at").filter(|rest| rest.len() >= 5).unwrap_or(base);
    // `planning` and `plan`.
    let bytes = base.as_bytes();
    let doubled = matches!(bytes, [.., one, other] if one == other && !b"aeiouls".contains(one));
    let base = if doubled && base.len() > 4 { &base[..base.len() - 1] } else { base };
    (base.len() < word.len()).then_some(base)
}

/// Words of a question that say nothing of what it is about.
const EMPTY_WORDS: &str =
    "a about an and are as at be by can could did do does for from had has have how i in is it its me my of on or
    our should that the their there these this to was we were what when where which who why will with would you
    your doe";

/// The different terms of a query, without empty words unless there are no others.
fn query_terms(query: &str) -> Vec<String> {
    let mut joined = String::new();
    push_terms(query, &mut joined);
    let mut terms: Vec<&str> = joined.split_whitespace().collect();
    let is_empty = |term: &&str| EMPTY_WORDS.split_whitespace().any(|word| word == *term);
    if !terms.iter().all(is_empty) {
        terms.retain(|term| !is_empty(term));
    }
    let mut seen = HashSet::new();
    terms.retain(|term| seen.insert(*term));
    terms.into_iter().take(MAX_QUERY_TERMS).map(str::to_owned).collect()
}
