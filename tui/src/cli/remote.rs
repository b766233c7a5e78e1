//! The driver that `--attach` names, and what is shown to it.

use std::{fs, io::Read as _, path::Path};

use driver::api::{Client, Credentials, RemoteError};

use super::{
    absolute::absolute,
    exit::{Exit, Failure, chain},
    values::Attach,
};

/// Bytes of the longest token file.
const TOKEN_MAX: usize = 4_096;

/// A driver that was named.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    /// The way there.
    pub(crate) client: Client,
}

/// The driver that was named, if one was.
pub(crate) fn named(attach: &Attach) -> Result<Option<Named>, Failure> {
    let Some(place) = &attach.attach else { return Ok(None) };
    if !place.contains("://") {
        let client = Client::new(absolute(Path::new(place))?);
        return Ok(Some(Named { client }));
    }
    let Some(ca) = attach.ca.clone() else {
        let failure = Failure::new(Exit::Usage, "whose certificate is the driver to show?");
        return Err(failure.hint("give it with --ca FILE"));
    };
    let cert = attach.client_cert.clone().zip(attach.client_key.clone());
    let credentials = Credentials { ca, token: token(attach)?, cert };
    let client = Client::remote(place, &credentials).map_err(|error| {
        let exit = match &error {
            RemoteError::Address(_) => Exit::Usage,
            RemoteError::Token | RemoteError::File(_) | RemoteError::Tls(_) => Exit::Invalid,
        };
        Failure::new(exit, chain(&error))
    })?;
    Ok(Some(Named { client }))
}

fn token(attach: &Attach) -> Result<Option<String>, Failure> {
    let Some(path) = &attach.token_file else {
        return Ok(std::env::var("LEVELHEAD_TOKEN").ok().filter(|token| !token.is_empty()));
    };
    let mut text = String::new();
    // One byte more than the longest token and its line end: what is longer is none, and need not be read.
    let read = fs::File::open(path)
        .and_then(|file| file.take(TOKEN_MAX as u64 + 2).read_to_string(&mut text));
    read.map_err(|error| {
        let text = format!("cannot read the token in {}: {error}", path.display());
        Failure::new(Exit::Invalid, text)
    })?;
    let token = text.trim().to_owned();
    if token.is_empty() || token.len() > TOKEN_MAX {
        let text = format!("{} holds no token", path.display());
        return Err(Failure::new(Exit::Invalid, text));
    }
    Ok(Some(token))
}
