//! From a verb on the journal to its file.

use super::{
    super::{exit::Outcome, global::Global},
    args::JournalVerb,
    backup, compact, inspect,
    place::Place,
    replace, verify,
};

/// Runs one verb on a journal.
pub(crate) fn run(verb: JournalVerb, global: &Global) -> Outcome {
    let find = |at| Place::find(at, global);
    match verb {
        JournalVerb::Verify { backup: Some(file), at: _ } => verify::backup(&file, global.json),
        JournalVerb::Verify { backup: None, at } => verify::journal(&find(at)?),
        JournalVerb::Backup { target, at } => backup::run(&find(at)?, &target),
        JournalVerb::Restore { backup, sure, at } => {
            replace::restore(&find(at)?, &backup, sure.confirm)
        }
        JournalVerb::Quarantine { sure, at } => replace::quarantine(&find(at)?, sure.confirm),
        JournalVerb::Compact { older_than, keep, backup, sure, at } => {
            compact::run(&find(at)?, &compact::Scope { older_than, keep, backup }, sure.confirm)
        }
        JournalVerb::Export { target, at } => inspect::export(&find(at)?, target.as_deref()),
        JournalVerb::Inspect { what, limit, at } => inspect::run(&find(at)?, &what, limit),
    }
}
