//! Whose leases stand in a place: every owner file, what could not be read, and what was left half done.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    files::{LeaseDir, Owner, parse_lease_name},
    problem::Problem,
};

/// The owner files of a place.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// Those that could be read.
    pub(super) readable: Vec<Owner>,
    /// What could not be read, and why.
    pub(super) bad: Vec<String>,
    /// What an interrupted create or destroy left.
    pub(super) rests: Vec<PathBuf>,
}

/// True for the name of something that is no lease yet or no lease any more.
pub(super) fn is_rest(name: &str) -> bool {
    name.starts_with(".gone.") || name.starts_with(".new.")
}

/// Reads every owner file of a place; a place that is missing holds none.
pub(super) fn owners(state_dir: &Path) -> Result<Owners, Problem> {
    let mut found = Owners::default();
    let entries = match fs::read_dir(state_dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(Problem::io("list", state_dir)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(Problem::io("list", state_dir))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if is_rest(name) {
            found.rests.push(entry.path());
        }
        let Some((slot, ordinal)) = parse_lease_name(name) else { continue };
        match LeaseDir::new(entry.path()).owner() {
            Ok(Some(owner)) if owner.slot == slot && owner.ordinal == ordinal => {
                found.readable.push(owner);
            }
            Ok(Some(_)) => found.bad.push(format!("{name} says that it is another lease")),
            // It went between the listing and the look.
            Ok(None) => {}
            Err(problem) => found.bad.push(problem.told().as_str().to_owned()),
        }
    }
    Ok(found)
}
