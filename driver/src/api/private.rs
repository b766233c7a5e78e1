//! Files for their owner alone, changed as a whole.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use checkpoint::store::make_dir;

/// Puts `bytes` in the place of what is at `path`, if anything is; it is on disk when this returns.
///
/// # Errors
/// Fails if the directory or the file cannot be written; then what was there is there still.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_dir(path.parent().unwrap_or(Path::new("."))).map_err(io::Error::other)?;
    let new = path.with_extension("new");
    // One that a change left which was broken off was never in force.
    drop(fs::remove_file(&new));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)
}
