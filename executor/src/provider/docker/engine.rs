//! One engine: connected when it is first needed, asked within a bound, its errors in our own words.

use std::{future::Future, time::Instant};

use bollard::{ClientVersion, Docker, errors::Error};
use tokio::sync::OnceCell;

use super::{host::Host, problem::EngineError};

/// What an engine is spoken to in first: the version of Engine 20.10, which younger ones know as well.
const SPOKEN: ClientVersion = ClientVersion { major_version: 1, minor_version: 41 };

/// A connection to an engine, or the wish for one.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) host: Host,
    client: OnceCell<Docker>,
}

impl Engine {
    pub(super) fn new(host: Host) -> Self {
        Self { host, client: OnceCell::new() }
    }

    /// Asks; gives up at `limit`. What was asked may happen all the same.
    pub(super) async fn ask<T, F>(
        &self,
        limit: Instant,
        call: impl FnOnce(Docker) -> F + Send,
    ) -> Result<T, EngineError>
    where
        F: Future<Output = Result<T, Error>> + Send,
    {
        let limit = tokio::time::Instant::from_std(limit);
        let client = tokio::time::timeout_at(limit, self.client()).await;
        let client = client.unwrap_or_else(|_late| {
            Err(EngineError::Unreachable("it does not answer".to_owned()))
        })?;
        match tokio::time::timeout_at(limit, call(client)).await {
            Ok(answer) => answer.map_err(EngineError::from),
            Err(_late) => Err(EngineError::Late),
        }
    }

    /// The client, in a version that the engine speaks.
    pub(super) async fn client(&self) -> Result<Docker, EngineError> {
        self.client.get_or_try_init(|| self.connect()).await.cloned()
    }

    async fn connect(&self) -> Result<Docker, EngineError> {
        let away = |error: &Error| EngineError::Unreachable(words(error));
        let client = self.host.connect(&SPOKEN).map_err(|error| away(&error))?;
        let Err(error) = client.version().await else { return Ok(client) };
        if let Error::DockerResponseServerError { status_code: 400, message } = &error
            && let Some(version) = bound(message)
        {
            return self.host.connect(&version).map_err(|error| away(&error));
        }
        Err(away(&error))
    }
}

/// The nearest version that an engine says it speaks, when it refuses another one.
fn bound(message: &str) -> Option<ClientVersion> {
    let (_, rest) = message.split_once("supported API version is ")?;
    let number = rest.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    let (major, minor) = number.trim_end_matches('.').split_once('.')?;
    Some(ClientVersion { major_version: major.parse().ok()?, minor_version: minor.parse().ok()? })
}

impl From<Error> for EngineError {
    fn from(error: Error) -> Self {
        if let Error::DockerResponseServerError { status_code, message } = error {
            return Self::Refused { status: status_code, message };
        }
        let unreached = if let Error::HyperLegacyError { err } = &error {
            err.is_connect()
        } else {
            matches!(error, Error::SocketNotFoundError(_))
        };
        if unreached {
            Self::Unreachable(words(&error))
        } else if matches!(error, Error::RequestTimeoutError) {
            Self::Late
        } else {
            Self::Broken(words(&error))
        }
    }
}

/// An error and its causes on one line.
fn words(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        let said = next.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An engine that is older or younger than the version of first choice is spoken to in its own.
    #[test]
    fn an_engine_says_which_version_it_speaks() {
        let said = |message| bound(message).map(|found| (found.major_version, found.minor_version));
        let old = "client version 1.41 is too new. Maximum supported API version is 1.40";
        let new =
            "client version 1.41 is too old. Minimum supported API version is 1.44, please upgrade";
        assert_eq!(said(old), Some((1, 40)));
        assert_eq!(said(new), Some((1, 44)));
        assert_eq!(said("no such thing"), None);
    }
}
