//! Where the journal is, and how the verbs name each other.

use std::path::{Path, PathBuf};

use checkpoint::{
    care::{PartError, backup::BackupError, finding::Integrity, verify::Report},
    paths::StatePaths,
    store::OpenError,
};
use driver::config;
use executor::seam::highest_fence;
use reconciler_core::{
    id::{Fence, Uuid},
    time::Timestamp,
};

use super::{
    super::{
        absolute::absolute,
        exit::{Exit, Failure, chain},
        global::Global,
    },
    args::Where,
};

use crate::place::quoted;

/// A journal, and what is known of it without reading it.
pub(super) struct Place {
    pub(super) global: Global,
    pub(super) paths: StatePaths,
    /// The run, if a file says it.
    pub(super) run: Option<Uuid>,
    /// The file, if one was given.
    file: Option<PathBuf>,
}

impl Place {
    /// Finds the state directory. With `--state-dir` no file is needed: it may be lost as well.
    pub(super) fn find(at: Where, global: &Global) -> Result<Self, Failure> {
        let global = global.clone();
        if let (Some(dir), None) = (&global.state_dir, &at.file) {
            let paths = StatePaths::new(absolute(dir)?);
            return Ok(Self { global, paths, run: None, file: None });
        }
        let file = at.file.clone().unwrap_or_else(|| PathBuf::from("cluster.toml"));
        let hint = "name the run's file with --file FILE, or its state with --state-dir DIR";
        let invalid = |message: String| Failure::new(Exit::Invalid, message).hint(hint);
        let source = config::read(&file).map_err(|error| invalid(chain(&error)))?;
        let (name, run) = config::identify(&source)
            .ok_or_else(|| invalid(format!("{} names no run", file.display())))?;
        let paths = match &global.state_dir {
            Some(dir) => StatePaths::new(absolute(dir)?),
            None => StatePaths::of_run(&name, run).map_err(|error| {
                Failure::new(Exit::Journal, chain(&error)).hint("give one with --state-dir DIR")
            })?,
        };
        Ok(Self { global, paths, run: Some(run), file: at.file })
    }

    /// A command line on the same journal that works when it is pasted.
    pub(super) fn command(&self, words: &str) -> String {
        let file = self.file.as_deref().map(|file| format!(" --file {}", quoted(file)));
        let dir = self.global.state_dir.as_deref();
        let dir = dir.map(|dir| format!(" --state-dir {}", quoted(dir)));
        let (file, dir) = (file.unwrap_or_default(), dir.unwrap_or_default());
        format!("levelhead journal {words}{file}{dir}")
    }

    /// The highest fence that the providers have seen.
    pub(super) fn fence_seen(&self) -> Result<Fence, Failure> {
        highest_fence(&self.paths.providers()).map_err(|error| {
            let message = format!("it is not known which fences the providers saw: {error}");
            Failure::new(Exit::Journal, message)
                .hint("look at the file; a restore must not bring an old fence back")
        })
    }
}

/// The failure of a journal that cannot be taken, with commands that work from here.
pub(super) fn not_taken(error: OpenError, place: &Place) -> Failure {
    let file = place.file.as_deref().unwrap_or(Path::new("cluster.toml"));
    let here = crate::place::Place::new(file, place.global.state_dir.as_deref());
    Failure::from(driver::StartError::Journal(error)).placed(&here)
}

/// The time.
pub(super) fn now() -> Timestamp {
    (driver::system_clock())()
}

/// The commands that go on from a damaged journal at `path`, for whoever met it.
pub(crate) fn ways_on(path: &Path) -> Vec<String> {
    let dir = path.parent().unwrap_or(path);
    let dir = quoted(dir);
    vec![
        "the journal is left as it is; to go on, with no driver running:".to_owned(),
        format!("  levelhead journal verify --state-dir {dir}            says what is wrong"),
        format!(
            "  levelhead journal restore BACKUP --state-dir {dir}    puts a backup in its place"
        ),
        format!(
            "  levelhead journal quarantine --state-dir {dir}        sets it aside and begins anew"
        ),
    ]
}

/// The failure of a file that is not whole.
pub(super) fn unsound(report: &Report) -> Failure {
    let file = report.file.display();
    let message = format!("{file} is {}; nothing was changed", report.integrity.as_str());
    let worst = report.findings.iter().filter(|f| f.integrity == Integrity::Unrecoverable);
    let details = worst.take(8).map(|f| format!("{} {}: {}", f.place, f.key, f.what)).collect();
    Failure { details, ..Failure::new(Exit::Journal, message) }
}

/// The failure of a file that cannot be read; damage of a backup leads on to another one.
pub(super) fn of_file(error: OpenError) -> Failure {
    if matches!(error, OpenError::Damaged { .. } | OpenError::Missing { .. }) {
        return Failure::new(Exit::Journal, format!("{error}; nothing was changed"));
    }
    driver::StartError::Journal(error).into()
}

impl From<BackupError> for Failure {
    fn from(error: BackupError) -> Self {
        match error {
            BackupError::Journal(error) => of_file(error),
            BackupError::File(error) => error.into(),
            BackupError::Unsound(report) => unsound(&report),
            BackupError::OtherRun { .. } => {
                Self::new(Exit::Journal, format!("{error}; nothing was changed"))
                    .hint("name a backup of this run, or the state directory of the other one")
            }
        }
    }
}

impl From<PartError> for Failure {
    fn from(error: PartError) -> Self {
        let failure = Self::new(Exit::Invalid, chain(&error));
        match error {
            PartError::Exists(_) => failure.hint("name a file that does not exist yet"),
            PartError::Swapped(_) => failure.hint("see who else writes there"),
            PartError::Io { .. } => failure.hint("name a file in a directory that can be written"),
        }
    }
}
