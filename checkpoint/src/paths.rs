//! Where a run keeps its things: the state directory and the names within it.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use reconciler_core::id::{OperationId, ProviderName, RunName, Uuid};

/// Why no state directory can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Neither variable holds an absolute path.
    #[error("neither XDG_STATE_HOME nor HOME names a directory to keep state in")]
    NoHome,
}

/// The state directory of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatePaths {
    dir: PathBuf,
}

impl StatePaths {
    /// Takes `dir` as the state directory.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The usual place for `run`: `$XDG_STATE_HOME/levelhead/<run>-<uuid>`, or below `$HOME/.local/state`.
    ///
    /// # Errors
    /// Fails if neither variable holds an absolute path.
    pub fn of_run(run: &RunName, uuid: Uuid) -> Result<Self, PathError> {
        Self::of_run_in(|name| env::var_os(name), run, uuid)
    }

    /// The usual place for `run` in an environment given as a function.
    ///
    /// # Errors
    /// Fails if neither variable holds an absolute path.
    pub fn of_run_in(
        variable: impl Fn(&str) -> Option<OsString>,
        run: &RunName,
        uuid: Uuid,
    ) -> Result<Self, PathError> {
        let start: String = uuid.to_string().chars().take(8).collect();
        Ok(Self::new(Self::home_in(variable)?.join(format!("{run}-{start}"))))
    }

    /// The usual place of all runs.
    ///
    /// # Errors
    /// Fails if neither variable holds an absolute path.
    pub fn home() -> Result<PathBuf, PathError> {
        Self::home_in(|name| env::var_os(name))
    }

    fn home_in(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, PathError> {
        // The XDG rule: a relative path counts as not set.
        let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("XDG_STATE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
        Ok(home.ok_or(PathError::NoHome)?.join("levelhead"))
    }

    /// The directory itself.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The journal's database.
    pub fn journal(&self) -> PathBuf {
        self.dir.join("journal.db")
    }

    /// A journal that takes the place of the present one: it is the journal from the moment it stands here, and
    /// whoever takes the run next moves it to [`journal`](Self::journal).
    pub fn next_journal(&self) -> PathBuf {
        self.dir.join("journal.db.next")
    }

    /// The file that is the journal now, if there is one.
    pub(crate) fn present_journal(&self) -> Option<PathBuf> {
        // The new one may reach its place between two looks: it is looked for on both sides of the old name.
        let names = [self.next_journal(), self.journal(), self.next_journal(), self.journal()];
        names.into_iter().find(|name| name.exists())
    }

    /// By what agents know the drivers of the run, and those them.
    pub fn agents(&self) -> PathBuf {
        self.dir.join("agents.json")
    }

    /// Where journals go that were set aside.
    pub fn quarantine(&self) -> PathBuf {
        self.dir.join("quarantine")
    }

    /// Where the backups stand that were made before a compaction.
    pub fn backups(&self) -> PathBuf {
        self.dir.join("backups")
    }

    /// The file that the driver holds locked for life.
    pub fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }

    /// The directory with the locks of operations that have effects under way.
    pub fn operation_locks(&self) -> PathBuf {
        self.dir.join("operations")
    }

    /// The lock of one operation.
    pub(crate) fn operation_lock(&self, operation: OperationId) -> PathBuf {
        self.operation_locks().join(format!("{operation}.lock"))
    }

    /// The control socket.
    pub fn socket(&self) -> PathBuf {
        self.dir.join("control.sock")
    }

    /// The directory of log files.
    pub fn logs(&self) -> PathBuf {
        self.dir.join("logs")
    }

    /// The directory with those of the providers.
    pub fn providers(&self) -> PathBuf {
        self.dir.join("providers")
    }

    /// The directory that a provider may keep things in.
    pub fn provider(&self, provider: &ProviderName) -> PathBuf {
        self.providers().join(provider.as_str())
    }
}
