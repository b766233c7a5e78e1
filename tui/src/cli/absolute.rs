//! The whole path of a directory or file that the caller named.

use std::path::{Path, PathBuf};

use super::exit::{Exit, Failure};

/// The directory with its whole path.
pub(crate) fn absolute(dir: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(dir).map_err(|error| {
        Failure::new(Exit::Usage, format!("cannot use {}: {error}", dir.display()))
    })
}
