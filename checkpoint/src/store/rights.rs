//! Whose the state directory and the files in it are: their owner's alone, and only as far as the owner lets us.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use super::{
    error::OpenError,
    names::{SHM, WAL, beside},
};
use crate::paths::StatePaths;

/// The mode of the state directory.
const DIR: u32 = 0o700;
/// The mode of the files in it.
const FILE: u32 = 0o600;

/// Makes the state directory `dir`, for its owner alone; of one that is there, everybody else's rights are taken.
///
/// # Errors
/// Refuses a link, what belongs to somebody else, and a directory that bars its own owner; fails if it cannot be made.
pub fn make_dir(dir: &Path) -> Result<(), OpenError> {
    let fail = |error| OpenError::io(dir, error);
    match fs::symlink_metadata(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new().recursive(true).mode(DIR).create(dir).map_err(fail)?;
            if let Some(parent) = dir.parent() {
                File::open(parent).and_then(|parent| parent.sync_all()).map_err(fail)?;
            }
        }
        Err(error) => return Err(fail(error)),
        Ok(_there) => {}
    }
    check_own(dir, true)?;
    narrow(dir, DIR)
}

/// Takes everybody else's rights on a thing of our own, and never gives its owner any.
///
/// Who took the owner's rights away did so on purpose: that is refused, also for a user whom no mode stops.
fn narrow(path: &Path, wanted: u32) -> Result<(), OpenError> {
    let fail = |error| OpenError::io(path, error);
    let mode = fs::symlink_metadata(path).map_err(fail)?.permissions().mode() & 0o7777;
    if mode & wanted != wanted {
        let found = mode & 0o777;
        return Err(OpenError::Narrow { path: path.to_owned(), found, wanted });
    }
    if mode & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(wanted)).map_err(fail)?;
    }
    Ok(())
}

/// Refuses links, wrong kinds and other people's files; what is not there yet is fine.
pub(crate) fn check_own(path: &Path, is_dir: bool) -> Result<(), OpenError> {
    let refuse = |why| Err(OpenError::Unsafe { path: path.to_owned(), why });
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(OpenError::io(path, error)),
    };
    if found.file_type().is_symlink() {
        return refuse("it is a symbolic link");
    }
    if found.is_dir() != is_dir || !(found.is_dir() || found.is_file()) {
        return refuse("it is not of the expected kind");
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return refuse("it belongs to another user");
    }
    if !is_dir && found.nlink() != 1 {
        return refuse("it has another name as well (a hard link)");
    }
    Ok(())
}

/// Checks every file that `SQLite` will open.
pub(super) fn check_files(paths: &StatePaths) -> Result<(), OpenError> {
    files(paths).iter().try_for_each(|path| check_own(path, false))
}

/// Narrows every file that a driver writes to its owner; what is not there yet is fine.
pub(super) fn narrow_files(paths: &StatePaths) -> Result<(), OpenError> {
    let there = files(paths).into_iter().chain([paths.lock()]).filter(|path| path.exists());
    for path in there {
        check_own(&path, false)?;
        narrow(&path, FILE)?;
    }
    Ok(())
}

/// The files of the database, and the one that is about to take its place.
fn files(paths: &StatePaths) -> Vec<PathBuf> {
    let journal = paths.journal();
    let own = ["", WAL, SHM].iter().map(|end| beside(&journal, end));
    own.chain([paths.next_journal()]).collect()
}
