//! One run at a time on an output.

use same_file::Handle;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// Opens `path`, or creates it empty, for this process alone; `None` when another one has it. The
/// lock ends with the file returned, however the process ends.
///
/// File systems without locks exist; there it is opened all the same.
///
/// # Errors
/// When the file can be neither opened nor created.
pub fn take(path: &Path) -> io::Result<Option<File>> {
    loop {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => {
                return Err(error);
            }
            _ => {}
        }
        // Whoever had it may just have renamed or removed it: then this is not the file at `path`.
        match Handle::from_path(path) {
            Ok(there) if there == Handle::from_file(file.try_clone()?)? => return Ok(Some(file)),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
}
