//! What a journal needs of the system that keeps its bytes.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Where a journal's bytes are kept: a file of the system's, or what stands in for one.
pub trait FileIo: fmt::Debug + Send {
    /// How many bytes there are.
    ///
    /// # Errors
    /// The system's.
    fn size(&self) -> io::Result<u64>;

    /// All of them.
    ///
    /// # Errors
    /// The system's.
    fn read(&self) -> io::Result<Vec<u8>>;

    /// Writes bytes from a place on. Where it fails, some of them may have been written.
    ///
    /// # Errors
    /// The system's.
    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// Forgets what is behind a place.
    ///
    /// # Errors
    /// The system's.
    fn cut(&mut self, at: u64) -> io::Result<()>;

    /// Returns when what was written survives a loss of power.
    ///
    /// # Errors
    /// The system's.
    fn sync(&mut self) -> io::Result<()>;
}

impl FileIo for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        let (mut file, mut bytes) = (self, Vec::new());
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(at))?;
        self.write_all(bytes)
    }

    fn cut(&mut self, at: u64) -> io::Result<()> {
        self.set_len(at)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}
