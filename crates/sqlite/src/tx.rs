//! A transaction of prepared statements, rolled back unless it is committed.

use rusqlite::Connection;

use crate::fault::Fault;

pub(crate) struct Tx<'c>(&'c Connection);

impl<'c> Tx<'c> {
    /// Begins to read, all of it as of one moment.
    pub fn read(conn: &'c Connection) -> Result<Self, Fault> {
        Tx::begin(conn, "BEGIN")
    }

    /// Begins to write, as the only writer.
    pub fn write(conn: &'c Connection) -> Result<Self, Fault> {
        Tx::begin(conn, "BEGIN IMMEDIATE")
    }

    fn begin(conn: &'c Connection, sql: &str) -> Result<Self, Fault> {
        conn.prepare_cached(sql)?.execute([])?;
        Ok(Tx(conn))
    }

    pub fn commit(self) -> Result<(), Fault> {
        self.0.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }
}

impl Drop for Tx<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // If even this fails, closing the file rolls back.
            let _ = self.0.execute_batch("ROLLBACK");
        }
    }
}
