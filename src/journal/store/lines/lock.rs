//! Who has a thread: the system's lock on a file of it, taken and given back one at a time.

use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};

use super::LinesStore;
use super::place::io;
use crate::journal::{JournalError, StoreError, ThreadId, disk};

impl LinesStore {
    /// Held while a thread is taken or given back, and, shared, while somebody looks who has it: for
    /// looking is a lock as well.
    pub(super) fn gate(&self, shared: bool) -> Result<File, JournalError> {
        let path = self.root.join("=lock");
        let mut gate = disk::private_options().read(true).append(true).create(true).open(&path);
        if let Err(error) = &gate
            && shared
            && matches!(error.kind(), ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied)
        {
            // Who may only look can wait for those who write.
            gate = File::open(&path);
        }
        let locked = gate.and_then(|gate| {
            if shared { gate.lock_shared() } else { gate.lock() }?;
            Ok(gate)
        });
        locked.map_err(|error| io(&path, "cannot be locked", &error))
    }

    /// Takes the lock of a thread, and writes down who has it. Nobody knows of the folder of a thread in
    /// which nothing was written whether its name would last.
    pub(super) fn lock(&self, thread: &ThreadId, begun: bool) -> Result<File, StoreError> {
        let folder = self.folder(thread);
        let path = folder.join("lock");
        let fail = |error: std::io::Error| io(&path, "cannot be locked", &error);
        if !begun {
            disk::create_private_folder(&folder).and_then(|()| self.sync(&folder)).map_err(fail)?;
        }
        let options = disk::private_options().read(true).write(true).create(true).truncate(false).open(&path);
        let mut lock = options.map_err(fail)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = lock.read_to_string(&mut holder);
                return Err(StoreError::AlreadyRunning {
                    thread: thread.clone(),
                    holder,
                    can_take_over: false,
                });
            }
            Err(TryLockError::Error(error)) => return Err(fail(error).into()),
        }
        let holder = format!("process {}", std::process::id());
        lock.set_len(0).and_then(|()| lock.rewind()).map_err(fail)?;
        lock.write_all(holder.as_bytes()).map_err(fail)?;
        Ok(lock)
    }
}
