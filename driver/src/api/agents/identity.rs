//! By what agents know their driver, and it them: a key with its certificate, and the secret that tokens come from.
//!
//! All of it is made once and kept with the run, for its owner alone: agents outlive the driver that started them.

use std::{io, net::SocketAddr, path::Path};

use executor::agent::protocol::DRIVER_NAME;
use rcgen::{CertificateParams, KeyPair};
use serde::{Deserialize, Serialize};
use tokio_rustls::rustls::crypto::SecureRandom;

use super::super::{listen::provider, private};

/// The file's form; it rises when an older driver would misread it.
const FORM: u32 = 1;

/// What is kept. It holds secrets, so it is never shown.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Identity {
    form: u32,
    /// What tokens are derived from.
    pub(super) secret: [u8; 32],
    /// The key, PKCS #8 in DER.
    pub(super) key: Vec<u8>,
    /// Its certificate, DER.
    pub(super) certificate: Vec<u8>,
    /// Where agents were told to come, if the port was chosen by the system.
    pub(super) port: Option<u16>,
}

impl Identity {
    /// The one that is kept at `path`, or a new one.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::new(path),
            Err(error) => return Err(error),
        };
        let kept: Self = serde_json::from_slice(&bytes)?;
        if kept.form == FORM {
            return Ok(kept);
        }
        let text = format!("it has form {}, and this version reads {FORM}", kept.form);
        Err(io::Error::new(io::ErrorKind::InvalidData, text))
    }

    fn new(path: &Path) -> io::Result<Self> {
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = CertificateParams::new([DRIVER_NAME.to_owned()])
            .and_then(|params| params.self_signed(&key))
            .map_err(io::Error::other)?;
        let mut secret = [0; 32];
        let random: &dyn SecureRandom = provider().secure_random;
        random.fill(&mut secret).map_err(|_none| io::Error::other("there are no random bytes"))?;
        let made = Self {
            form: FORM,
            secret,
            key: key.serialize_der(),
            certificate: certificate.der().to_vec(),
            port: None,
        };
        made.keep(path)?;
        Ok(made)
    }

    /// Notes where agents are told to come.
    pub(super) fn came_to(&mut self, address: SocketAddr, path: &Path) -> io::Result<()> {
        if self.port == Some(address.port()) {
            return Ok(());
        }
        self.port = Some(address.port());
        self.keep(path)
    }

    fn keep(&self, path: &Path) -> io::Result<()> {
        private::replace(path, &serde_json::to_vec(self)?)
    }
}
