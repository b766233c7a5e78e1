//! Tokens: who may call a driver over the network, and whether only to look. Their hashes alone are kept.

use std::{fs, io, path::PathBuf};

use checkpoint::paths::StatePaths;
use reconciler_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::private;

/// Tokens of one run: a person's, a scraper's, a few machines'.
const TOKENS_MAX: usize = 64;
/// Bytes of the longest name.
const NAME_MAX: usize = 64;

/// A token as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// What it is called; stands in the journal beside what it changed.
    pub name: String,
    /// The SHA-256 of the token, in hex.
    pub hash: String,
    /// True if it may look and plan, and change nothing.
    pub read_only: bool,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Why tokens cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be used.
    #[error("cannot use {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The change makes no sense; nothing was changed.
    #[error("{0}")]
    Refused(String),
}

/// The tokens of a run.
#[derive(Clone, Debug)]
pub struct Tokens {
    path: PathBuf,
}

impl Tokens {
    /// Those of the run in `paths`.
    pub fn of(paths: &StatePaths) -> Self {
        Self { path: paths.dir().join("tokens.json") }
    }

    /// All of them, in the order in which they were made.
    ///
    /// # Errors
    /// Fails if the file is there and cannot be read.
    pub fn all(&self) -> Result<Vec<Token>, TokenError> {
        match fs::read(&self.path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| self.failed(error.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Adds a token; `secret` itself is kept nowhere.
    ///
    /// # Errors
    /// Refuses a name that is taken or cannot be shown, and more tokens than are of use.
    pub fn add(
        &self,
        name: &str,
        secret: &str,
        read_only: bool,
        now: Timestamp,
    ) -> Result<(), TokenError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
        if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(plain) {
            let text = format!("a token's name has letters, digits and `-_.@`, at most {NAME_MAX}");
            return Err(TokenError::Refused(text));
        }
        let mut all = self.all()?;
        if all.iter().any(|token| token.name == name) {
            return Err(TokenError::Refused(format!("there is a token `{name}` already")));
        }
        if all.len() >= TOKENS_MAX {
            return Err(TokenError::Refused(format!("there are {TOKENS_MAX} tokens already")));
        }
        let (name, hash) = (name.to_owned(), hash(secret));
        all.push(Token { name, hash, read_only, created_at: now });
        self.write(&all)
    }

    /// Takes a token back; the next call with it is refused.
    ///
    /// # Errors
    /// Refuses a name that no token has.
    pub fn revoke(&self, name: &str) -> Result<(), TokenError> {
        let mut all = self.all()?;
        let before = all.len();
        all.retain(|token| token.name != name);
        if all.len() == before {
            return Err(TokenError::Refused(format!("there is no token `{name}`")));
        }
        self.write(&all)
    }

    /// The token that `secret` is. Read anew each time: a token that was taken back is of no use from then on.
    pub(super) fn find(&self, secret: &str) -> Option<Token> {
        let all = self.all().inspect_err(|error| tracing::error!(%error, "no token is accepted"));
        let hash = hash(secret);
        all.ok()?.into_iter().find(|token| token.hash == hash)
    }

    fn write(&self, all: &[Token]) -> Result<(), TokenError> {
        let bytes = serde_json::to_vec(all).map_err(|error| self.failed(error.into()))?;
        private::replace(&self.path, &bytes).map_err(|error| self.failed(error))
    }

    fn failed(&self, source: io::Error) -> TokenError {
        TokenError::File { path: self.path.clone(), source }
    }
}

/// What is kept of a token. It is long and random, so one round is enough.
fn hash(secret: &str) -> String {
    use std::fmt::Write as _;
    Sha256::digest(secret).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all that is written");
        text
    })
}
