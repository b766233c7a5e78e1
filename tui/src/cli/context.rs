//! What a verb works with: the file, the state directory, and a way to the driver.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use checkpoint::paths::StatePaths;
use driver::{
    AgentPlace, Begin, Content, Driver, Followed, Link, Offline, Options,
    api::{CallError, Client},
    config::{self, Catalogue, Confirm, Loaded},
    start, system_clock,
    view::Edit,
};

use executor::secret::Secrets;
use reconciler_core::{
    desired::ClusterShape,
    id::{RunName, Uuid},
    limits,
};

use super::{
    absolute::absolute,
    exit::{Exit, Failure, chain},
    global::Global,
    greet, logging, out,
    remote::{self, Named},
};
use crate::place::Place;

/// How often a driver that breaks a call off is asked again.
const ATTACH_TRIES: u32 = 40;
/// Time between two of these.
const ATTACH_PERIOD: Duration = Duration::from_millis(25);

/// A verb's surroundings.
pub(crate) struct Context {
    pub(crate) global: Global,
    pub(crate) catalogue: Catalogue,
    pub(crate) file: PathBuf,
    pub(crate) loaded: Loaded,
    pub(crate) paths: StatePaths,
    /// Where the caller said that the run is.
    pub(crate) place: Place,
    /// The driver that the caller named, if one was.
    pub(crate) named: Option<Named>,
}

impl Context {
    /// Reads the file and finds the run's state.
    pub(crate) fn open(
        global: &Global,
        catalogue: &Catalogue,
        file: &Path,
    ) -> Result<Self, Failure> {
        Self::with(global, catalogue, file, read(global, catalogue, file)?)
    }

    /// The same for a verb that only looks: a file that is not valid any more does not hide its run, and one that is
    /// gone does not while a driver has the state directory that was named.
    pub(crate) fn open_to_look(
        global: &Global,
        catalogue: &Catalogue,
        file: &Path,
    ) -> Result<Self, Failure> {
        let failure = match read(global, catalogue, file) {
            Ok(loaded) => return Self::with(global, catalogue, file, loaded),
            Err(failure) => failure,
        };
        let source = config::read(file).ok();
        let of_file = source.as_ref().and_then(config::identify);
        let Some((run, uuid)) = of_file.or_else(|| journaled(global)) else {
            return Err(failure);
        };
        let what = if file.exists() { "is not valid" } else { "is not there" };
        out::note(format!("warning: {} {what}; its run is shown as it is", file.display()));
        Self::with(global, catalogue, file, unread(file, (run, uuid)))
    }

    fn with(
        global: &Global,
        catalogue: &Catalogue,
        file: &Path,
        loaded: Loaded,
    ) -> Result<Self, Failure> {
        let paths = match &global.state_dir {
            Some(dir) => StatePaths::new(absolute(dir)?),
            None => StatePaths::of_run(&loaded.shape.run, loaded.shape.uuid).map_err(|error| {
                Failure::new(Exit::Journal, chain(&error)).hint("give one with --state-dir DIR")
            })?,
        };
        Ok(Self {
            global: global.clone(),
            catalogue: catalogue.clone(),
            file: file.to_owned(),
            loaded,
            paths,
            place: Place::new(file, global.state_dir.as_deref()).attached(global.driver.flags()),
            named: remote::named(&global.driver)?,
        })
    }

    /// The command line that does `words`, as it is run from here.
    pub(crate) fn command(&self, words: &str) -> String {
        self.place.command(words)
    }

    /// The edit that makes the file's content the desired shape.
    ///
    /// # Errors
    /// The file was not read: a driver elsewhere was named, and there is none here.
    pub(crate) fn file_edit(&self) -> Result<Edit, Failure> {
        if self.loaded.digest.is_empty() {
            let text = format!("there is no {}, which says what is wanted", self.file.display());
            let hint = "name the file, or change counts with `levelhead scale GROUP=N`";
            return Err(Failure::new(Exit::Invalid, text).hint(hint));
        }
        Ok(Edit::File {
            shape: Box::new(self.loaded.shape.clone()),
            digest: self.loaded.digest.clone(),
        })
    }

    /// Where relative paths of the file start.
    pub(crate) fn base_dir(&self) -> PathBuf {
        let dir = self.file.parent().filter(|dir| !dir.as_os_str().is_empty());
        dir.unwrap_or(Path::new(".")).to_owned()
    }

    /// What a driver of this run needs.
    pub(crate) fn options(&self, begin: Begin, pace: Duration) -> Options {
        Options {
            paths: self.paths.clone(),
            run: self.loaded.shape.run.clone(),
            uuid: self.loaded.shape.uuid,
            providers: self.loaded.providers.clone(),
            catalogue: self.catalogue.clone(),
            base_dir: self.base_dir(),
            secrets: Secrets::new(self.base_dir()),
            parallelism: self.loaded.parallelism,
            pace,
            agents: Some(self.loaded.agents.clone()),
            follow: None,
            begin,
            clock: system_clock(),
        }
    }

    /// The file as a driver follows it.
    pub(crate) fn followed(&self) -> Followed {
        let (path, catalogue) = (self.file.clone(), self.catalogue.clone());
        let load = move || match config::load(&path, &catalogue) {
            Ok(Loaded { shape, providers, digest, confirm, .. }) => {
                Ok(Content { shape, providers, digest, auto: confirm == Confirm::Auto })
            }
            Err(error) => {
                let first = error.to_views().into_iter().next();
                Err(first.map_or_else(
                    || error.to_string(),
                    |view| format!("line {}: {}", view.line, view.message),
                ))
            }
        };
        Followed { path: self.file.clone(), load: Arc::new(load) }
    }

    /// Logs beside the run from now on; a run that is elsewhere has its log there.
    pub(crate) fn log(&self) -> Result<Option<logging::Guard>, Failure> {
        if self.named.is_some() {
            return Ok(None);
        }
        logging::start(&self.paths, None).map(Some)
    }

    /// True if a driver has the run.
    pub(crate) fn is_driven(&self) -> Result<bool, Failure> {
        Ok(self.named.is_some() || Offline::is_driven(&self.paths)?)
    }

    /// The driver that has the run, if one has; it has answered once.
    ///
    /// A driver that is killed may hold its lock and its socket a moment longer, in a process that it was just
    /// starting. What breaks off there was never taken up, so the lock is asked again.
    pub(crate) async fn attached(&self) -> Result<Option<Link>, Failure> {
        if let Some(Named { client, .. }) = &self.named {
            client.answers().await?;
            return Ok(Some(Link::Attached(client.clone())));
        }
        let client = Client::new(self.paths.socket());
        for _ in 1..ATTACH_TRIES {
            if !self.is_driven()? {
                return Ok(None);
            }
            match greet::answer(&self.paths, &client).await? {
                Ok(()) => return Ok(Some(Link::Attached(client))),
                Err(CallError::Broken(_)) => tokio::time::sleep(ATTACH_PERIOD).await,
                Err(_) if !self.is_driven()? => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        // It breaks every call off: the next one tells.
        Ok(Some(Link::Attached(client)))
    }

    /// Takes the run with a driver of this process.
    pub(crate) fn take(&self, begin: Begin, pace: Duration) -> Result<Driver, Failure> {
        Ok(start(self.options(begin, pace))?)
    }
}

/// Reads the file; where a driver elsewhere was named there need be none.
fn read(global: &Global, catalogue: &Catalogue, file: &Path) -> Result<Loaded, Failure> {
    if file.exists() {
        return Ok(config::load(file, catalogue)?);
    }
    if global.driver.attach.is_some() {
        return Ok(unread(file, elsewhere()));
    }
    let message = format!("there is no {}", file.display());
    Err(Failure::new(Exit::Invalid, message).hint("`levelhead init` writes a starter file"))
}

/// What stands for a file that is not read: no shape, and the run that it would be of.
fn unread(file: &Path, (run, uuid): (RunName, Uuid)) -> Loaded {
    Loaded {
        path: file.to_owned(),
        digest: String::new(),
        shape: ClusterShape::empty(run, uuid),
        providers: BTreeMap::new(),
        agents: AgentPlace::default(),
        confirm: Confirm::Manual,
        parallelism: limits::PARALLELISM_DEFAULT,
    }
}

/// The run of a driver that was named: it knows itself which.
fn elsewhere() -> (RunName, Uuid) {
    ("elsewhere".parse().expect("it is a name"), Uuid::from_bytes([0; 16]))
}

/// The run in the state directory that was named, while a driver has it.
fn journaled(global: &Global) -> Option<(RunName, Uuid)> {
    let paths = StatePaths::new(absolute(global.state_dir.as_deref()?).ok()?);
    let is_driven = Offline::is_driven(&paths).ok()?;
    is_driven.then(|| Offline::open(&paths).ok()?.identity())?
}

/// Who changes things, for the journal.
pub(crate) fn who() -> String {
    let name = std::env::var("USER").or_else(|_unset| std::env::var("LOGNAME"));
    name.map_or_else(
        |_unset| format!("uid {}", rustix::process::getuid().as_raw()),
        |n| format!("op:{n}"),
    )
}
