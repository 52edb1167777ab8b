//! A transaction of prepared statements. What is not committed is as if it had never been.

use rusqlite::Connection;

use super::fault::Fault;

pub(super) struct Tx<'c>(&'c Connection);

impl<'c> Tx<'c> {
    /// To read, all of it from one moment.
    pub fn reading(conn: &'c Connection) -> Result<Self, Fault> {
        Tx::begin(conn, "BEGIN")
    }

    /// To write, as the only one who does.
    pub fn writing(conn: &'c Connection) -> Result<Self, Fault> {
        Tx::begin(conn, "BEGIN IMMEDIATE")
    }

    fn begin(conn: &'c Connection, how: &str) -> Result<Self, Fault> {
        conn.prepare_cached(how)?.execute([])?;
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
            // Where even that fails, closing the file undoes it.
            let _ = self.0.execute_batch("ROLLBACK");
        }
    }
}
