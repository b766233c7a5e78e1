//! The secrets that this process knows, and the groups whose secrets it cannot know.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use reconciler_core::{
    desired::{BootSpec, SecretRef},
    id::GroupId,
};

use super::{
    needles::Needles,
    source::{self, Secret},
    stream::Cleaner,
};
use crate::agent::Grants;

/// Most values that are kept out of texts; with another one, that which was read longest ago is forgotten.
///
/// A driver that lives for years under secrets that change daily stays below it.
const VALUES_MAX: usize = 4_096;

/// The secret variables of one start, by name. It can be neither shown nor stored.
pub type SecretEnv = BTreeMap<String, Secret>;

/// A secret that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing {
    /// The variable that it is for.
    pub variable: String,
    /// Where it should be.
    pub reference: SecretRef,
    /// Why it is not had.
    pub why: String,
}

impl Missing {
    /// All of them in one line.
    pub fn told(all: &[Self]) -> String {
        all.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No colon behind the names: what follows a colon behind a secret-looking name is taken for its value.
        write!(f, "{} for {} cannot be had ({})", self.reference, self.variable, self.why)
    }
}

/// Reads secrets, and keeps the values that it has read out of texts. Clones share what they know.
///
/// Values are held until the process ends: they have to be recognised for as long as something may show them.
#[derive(Clone, Default)]
pub struct Secrets(Arc<Shared>);

#[derive(Default)]
struct Shared {
    base_dir: PathBuf,
    known: RwLock<Known>,
    /// What lets the agents of nodes in, once their driver listens to them.
    grants: RwLock<Option<Arc<Grants>>>,
}

#[derive(Default)]
struct Known {
    /// In the order in which they were read last.
    values: Vec<Secret>,
    needles: Arc<Needles>,
    /// References that gave a value once: it is known, whatever became of its source.
    had: BTreeSet<SecretRef>,
    /// What nodes of a group may have been given by somebody else.
    given: BTreeMap<GroupId, BTreeMap<SecretRef, Missing>>,
}

impl Secrets {
    /// Knows nothing yet; relative paths of files start at `base_dir`.
    pub fn new(base_dir: PathBuf) -> Self {
        Self(Arc::new(Shared { base_dir, ..Shared::default() }))
    }

    /// Reads every secret of `boot`, which from now on stands in no text.
    ///
    /// # Errors
    /// Names every secret that cannot be had.
    pub fn resolve(&self, boot: &BootSpec) -> Result<SecretEnv, Vec<Missing>> {
        let mut env = SecretEnv::new();
        let mut missing = Vec::new();
        for (variable, reference) in &boot.secret_env {
            match source::read(reference, &self.0.base_dir) {
                Ok(secret) => {
                    self.keep(reference, &secret);
                    env.insert(variable.clone(), secret);
                }
                Err(error) => missing.push(Missing {
                    variable: variable.clone(),
                    reference: reference.clone(),
                    why: error.to_string(),
                }),
            }
        }
        if missing.is_empty() { Ok(env) } else { Err(missing) }
    }

    /// From now on nodes are given what lets their agents in.
    pub fn open_to_agents(&self, grants: Arc<Grants>) {
        *self.0.grants.write().unwrap_or_else(PoisonError::into_inner) = Some(grants);
    }

    /// What lets the agents of nodes in; nothing while their driver does not listen to them.
    pub fn grants(&self) -> Option<Arc<Grants>> {
        self.0.grants.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes notice that nodes of `group` may have been given the secrets of `boot` before this process began.
    ///
    /// Those that cannot be had now cannot be recognised either, so what the nodes say is withheld.
    pub fn were_given(&self, group: &GroupId, boot: &BootSpec) {
        let Err(missing) = self.resolve(boot) else { return };
        let mut known = self.write();
        let given = known.given.entry(group.clone()).or_default();
        given.extend(missing.into_iter().map(|one| (one.reference.clone(), one)));
    }

    /// Why what nodes of `group` say is withheld, if it is: the secrets that may stand in it and are not known.
    pub fn withheld(&self, group: &GroupId) -> Option<String> {
        let known = self.read();
        let given = known.given.get(group)?;
        let unknown = given.values().filter(|one| !known.had.contains(&one.reference));
        let unknown: Vec<Missing> = unknown.cloned().collect();
        (!unknown.is_empty()).then(|| Missing::told(&unknown))
    }

    /// `text` without any known value.
    pub fn cleaned(&self, text: &str) -> String {
        self.needles().cleaned(text)
    }

    /// A cleaner for one text that comes in pieces; it knows what is known now.
    pub fn cleaner(&self) -> Cleaner {
        Cleaner::new(self.needles())
    }

    pub(crate) fn needles(&self) -> Arc<Needles> {
        Arc::clone(&self.read().needles)
    }

    fn keep(&self, reference: &SecretRef, secret: &Secret) {
        let mut known = self.write();
        known.had.insert(reference.clone());
        let before = known.values.iter().position(|value| value == secret);
        if let Some(at) = before {
            let value = known.values.remove(at);
            known.values.push(value);
            return;
        }
        if known.values.len() >= VALUES_MAX {
            known.values.remove(0);
        }
        known.values.push(secret.clone());
        known.needles = Arc::new(Needles::of(known.values.iter().map(Secret::expose)));
    }

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.0.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.0.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").field("values", &self.read().values.len()).finish()
    }
}
