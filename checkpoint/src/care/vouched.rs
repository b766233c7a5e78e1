//! Opening a backup: only where its manifest vouches for everything in it.

use std::path::Path;

use rusqlite::Connection;

use super::{content, manifest::Manifest};
use crate::{
    schema,
    store::{OpenError, check_own, open_file},
};

/// Opens the backup at `file`, whose manifest vouches for everything in it.
///
/// # Errors
/// Refuses what is no backup, what was changed since it was made, and a newer schema.
pub(super) fn open(file: &Path) -> Result<(Connection, Manifest), OpenError> {
    check_own(file, false)?;
    if !file.exists() {
        return Err(OpenError::io(file, std::io::ErrorKind::NotFound.into()));
    }
    let mut conn = open_file(file)?;
    schema::check_backup(&conn).map_err(|error| OpenError::schema(file, error))?;
    let mut read = || {
        let tx = conn.transaction()?;
        let manifest = Manifest::read(&tx)?;
        vouches(&tx, &manifest).map(|vouched| (manifest, vouched))
    };
    let (manifest, vouched) = read().map_err(|error| OpenError::sql(file, error))?;
    if vouched {
        return Ok((conn, manifest));
    }
    let what = "its rows are not those that its manifest vouches for".to_owned();
    Err(OpenError::Damaged { path: file.to_owned(), what })
}

/// True if everything that the rows say gives the digest that `manifest` has.
fn vouches(conn: &Connection, manifest: &Manifest) -> rusqlite::Result<bool> {
    content::digest(conn).map(|(digest, _counts)| digest == manifest.sha256)
}
