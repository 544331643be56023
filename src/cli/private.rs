//! Sets file modes that protect data from other users of the machine.
//!
//! Only the program's own user can read the files that it creates. The same holds for the files of the Redis server
//! that it starts, which inherits the umask. Files that an earlier version left readable are restricted the next time
//! they are used.
//!
//! # Which modes are changed
//! Earlier versions created directories of mode 755 and files of mode 644. Files and directories that still have these
//! modes are restricted. Any other mode was chosen by an operator, such as 750 for a group that makes backups, and
//! stays. The mode of a directory that contains other files, such as a home directory, stays as well.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::Mode;
use rustix::process::{geteuid, umask};

use crate::config::FILE_NAME;

/// Names of the files that the program reads or creates in a data directory, and that `make run` creates there.
const OWN: [&str; 7] =
    ["archive.db", "archive.db-shm", "archive.db-wal", "demo-unfinished", "fanfold.lock", FILE_NAME, "redis"];

/// Sets the umask, so that only the user can access files created from now on, including those of child processes.
pub(super) fn begin() {
    let others = Mode::RWXG | Mode::RWXO;
    let chosen = umask(others);
    umask(chosen | others);
}

/// Restricts the modes of the data directory and of the archive's files, if an earlier version left them readable.
pub(super) fn close(data_dir: &Path) {
    for file in ["archive.db", "archive.db-wal", "archive.db-shm"] {
        narrow(&data_dir.join(file), 0o644, 0o600);
    }
    if has_only_own(data_dir).unwrap_or(false) {
        narrow(data_dir, 0o755, 0o700);
    }
    if own(data_dir).is_some_and(|directory| directory.mode() & 0o007 != 0) {
        tracing::warn!(
            "others can enter the data directory {}, but cannot read the files in it",
            data_dir.display()
        );
    }
}

fn narrow(path: &Path, from: u32, to: u32) {
    if own(path).is_none_or(|found| found.mode() & 0o777 != from) {
        return;
    }
    match fs::set_permissions(path, Permissions::from_mode(to)) {
        Ok(()) => tracing::info!("{} could be read by others; its mode is now {to:o}", path.display()),
        Err(error) => tracing::warn!(%error, "cannot restrict {}, which others can read", path.display()),
    }
}

/// Returns a file's metadata; `None` if the file is a symbolic link or belongs to another user.
fn own(path: &Path) -> Option<Metadata> {
    fs::symlink_metadata(path).ok().filter(|found| found.uid() == geteuid().as_raw() && !found.is_symlink())
}

fn has_only_own(directory: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(directory)? {
        if !OWN.iter().any(|own| entry.as_ref().is_ok_and(|entry| entry.file_name() == *own)) {
            return Ok(false);
        }
    }
    Ok(true)
}
