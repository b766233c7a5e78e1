//! Which image a revision runs: looked up once by its name, and the same content ever after (D16).
//!
//! A tag can come to mean another image. What the first node of a revision ran is therefore remembered, so that a
//! replacement a week later runs that too; another content is another revision.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Instant,
};

use bollard::query_parameters::CreateImageOptions;
use futures_util::StreamExt as _;
use reconciler_core::id::RevisionDigest;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex as Turn;

use super::{
    engine::Engine,
    ground::locked,
    options::Pull,
    problem::{EngineError, Problem},
};

/// The name of the file in the provider's place.
const FILE: &str = "images.json";
/// Revisions whose images are remembered; with another one, that which was locked first is forgotten.
const LOCKS_MAX: usize = 512;

/// What a revision's image was when its first node was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Lock {
    /// Its name.
    image: String,
    /// Its content.
    id: String,
    /// The how-manieth lock it is.
    nth: u64,
}

type Locks = BTreeMap<String, Lock>;

/// The images of the revisions that were made so far.
#[derive(Debug)]
pub(super) struct Images {
    dir: PathBuf,
    pull: Pull,
    locks: Mutex<Option<Locks>>,
    /// By revision: whose turn it is to find its image. A pull that takes long keeps no other revision waiting (P4).
    turns: Mutex<BTreeMap<String, Arc<Turn<()>>>>,
}

impl Images {
    pub(super) fn new(dir: PathBuf, pull: Pull) -> Self {
        Self { dir, pull, locks: Mutex::default(), turns: Mutex::default() }
    }

    /// The id of the image that nodes of `revision` run; `image` is its name.
    pub(super) async fn locked(
        &self,
        engine: &Engine,
        revision: RevisionDigest,
        image: &str,
        limit: Instant,
    ) -> Result<String, Problem> {
        let revision = revision.to_string();
        if let Some(id) = self.known(&revision, image)? {
            return Ok(id);
        }
        let turn = Arc::clone(locked(&self.turns).entry(revision.clone()).or_default());
        let until = tokio::time::Instant::from_std(limit);
        let mine = tokio::time::timeout_at(until, turn.lock()).await;
        let _mine = mine.map_err(|_late| EngineError::Late)?;
        if let Some(id) = self.known(&revision, image)? {
            return Ok(id);
        }
        let found = self.found(engine, image, limit).await;
        // Whoever waits for the turn has it already.
        locked(&self.turns).remove(&revision);
        self.lock(&revision, image, found?)
    }

    /// The id that an image of a revision was locked to, if it was.
    fn known(&self, revision: &str, image: &str) -> Result<Option<String>, Problem> {
        let mut locks = locked(&self.locks);
        let known = self.all(&mut locks)?;
        let lock = known.get(revision).filter(|lock| lock.image == image);
        Ok(lock.map(|lock| lock.id.clone()))
    }

    /// Locks the image of a revision to `id`, and keeps that; one that was locked meanwhile stays what it is.
    fn lock(&self, revision: &str, image: &str, id: String) -> Result<String, Problem> {
        let mut locks = locked(&self.locks);
        let known = self.all(&mut locks)?;
        if let Some(lock) = known.get(revision).filter(|lock| lock.image == image) {
            return Ok(lock.id.clone());
        }
        let nth = known.values().map(|lock| lock.nth).max().map_or(0, |last| last + 1);
        known.insert(revision.to_owned(), Lock { image: image.to_owned(), id: id.clone(), nth });
        while known.len() > LOCKS_MAX {
            known.retain(|_, lock| lock.nth > nth.saturating_sub(LOCKS_MAX as u64));
        }
        write(&self.dir, known).map_err(|error| self.broken(&error))?;
        Ok(id)
    }

    /// All that is locked, read when it is first needed.
    fn all<'a>(&self, locks: &'a mut Option<Locks>) -> Result<&'a mut Locks, Problem> {
        match locks {
            Some(known) => Ok(known),
            None => Ok(locks.insert(read(&self.dir).map_err(|error| self.broken(&error))?)),
        }
    }

    async fn found(&self, engine: &Engine, image: &str, limit: Instant) -> Result<String, Problem> {
        let id = match id_of(engine, image, limit).await {
            Err(error) if error.is_absence() && self.pull == Pull::Missing => {
                pulled(engine, image, limit).await?;
                id_of(engine, image, limit).await?
            }
            Err(error) if error.is_absence() => {
                return Err(Problem::Invalid(format!(
                    "image {image} is not on the engine: load or pull it, or set pull = \"missing\""
                )));
            }
            found => found?,
        };
        id.ok_or_else(|| EngineError::Broken(format!("image {image} has no id")).into())
    }

    fn broken(&self, error: &io::Error) -> Problem {
        let path = self.dir.join(FILE);
        Problem::Invalid(format!(
            "cannot keep which images are in use in {}: {error}",
            path.display()
        ))
    }
}

async fn id_of(
    engine: &Engine,
    image: &str,
    limit: Instant,
) -> Result<Option<String>, EngineError> {
    let name = image.to_owned();
    let look = |client: bollard::Docker| async move { client.inspect_image(&name).await };
    Ok(engine.ask(limit, look).await?.id)
}

/// Has the engine fetch an image; one that it cannot have is a definite failure.
async fn pulled(engine: &Engine, image: &str, limit: Instant) -> Result<(), Problem> {
    let (name, tag) = match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') && !image.contains('@') => (name, Some(tag)),
        _ if image.contains('@') => (image, None),
        _ => (image, Some("latest")),
    };
    let options = CreateImageOptions {
        from_image: Some(name.to_owned()),
        tag: tag.map(ToOwned::to_owned),
        ..CreateImageOptions::default()
    };
    let pull = |client: bollard::Docker| async move {
        let mut progress = std::pin::pin!(client.create_image(Some(options), None, None));
        while let Some(step) = progress.next().await {
            step?;
        }
        Ok(())
    };
    // Nothing was made of the node yet, so whatever broke is no doubt about it.
    engine.ask(limit, pull).await.map_err(|error| {
        let text = format!("image {image} cannot be pulled: {}", error.words());
        match &error {
            EngineError::Late | EngineError::Unreachable(_) => Problem::Engine(error),
            EngineError::Refused { status: 400..500, .. } => Problem::Invalid(text),
            // A registry that is away comes back.
            EngineError::Refused { .. } | EngineError::Broken(_) => Problem::Away(text),
        }
    })
}

fn read(dir: &Path) -> io::Result<Locks> {
    match fs::read(dir.join(FILE)) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Locks::new()),
        Err(error) => Err(error),
    }
}

/// Replaces the file as a whole, readable for its user alone.
fn write(dir: &Path, locks: &Locks) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let next = dir.join(format!("{FILE}.next"));
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
    file.write_all(&serde_json::to_vec(locks)?)?;
    file.sync_all()?;
    fs::rename(next, dir.join(FILE))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// D16: what was locked is read back as it was, from a file that its user alone may read.
    #[test]
    fn locks_survive_the_driver() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("place");
        assert_eq!(read(&dir).unwrap(), Locks::new());
        let lock = Lock { image: "web:1".into(), id: "sha256:ab".into(), nth: 0 };
        let locks = Locks::from([("r1".to_owned(), lock)]);
        write(&dir, &locks).unwrap();
        assert_eq!(read(&dir).unwrap(), locks);
        assert_eq!(fs::metadata(dir.join(FILE)).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(dir.join(FILE), "{").unwrap();
        assert!(read(&dir).is_err());
    }
}
