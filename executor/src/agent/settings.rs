//! What an agent is told by its environment.

use std::{ffi::OsString, sync::Arc};

use reconciler_core::{
    id::{Fence, LogicalNodeId, Uuid},
    observed::Endpoint,
};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio_rustls::rustls::{
    self, ClientConfig, RootCertStore,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, ServerName},
};

use super::{
    grant::{bytes, hex},
    protocol::{
        ATTEMPT_VAR, CERT_VAR, DRIVER_NAME, DRIVER_VAR, FENCE_VAR, Hello, PORTS_VAR, RUN_VAR,
        SLOT_VAR, TOKEN_VAR, VERSION,
    },
};
use crate::provider::template::{TemplateError, Values};

/// Why an environment is not that of an agent.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A variable is not set.
    #[error("{0} is not set")]
    Unset(&'static str),
    /// A variable makes no sense.
    #[error("{0} makes no sense")]
    Bad(&'static str),
    /// The driver's certificate is of no use.
    #[error("the certificate in {CERT_VAR} cannot be used")]
    Certificate(#[source] rustls::Error),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes")]
    Random,
}

/// What an agent knows from its start. It holds a secret, so it is never shown.
pub struct Settings {
    pub(super) driver: String,
    pub(super) tls: Arc<ClientConfig>,
    pub(super) name: ServerName<'static>,
    pub(super) hello: Hello,
    pub(super) fence: Fence,
    pub(super) place: Place,
}

/// Where the workload is asked: on the node itself.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) slot: LogicalNodeId,
    pub(super) attempt: Uuid,
    pub(super) endpoint: Endpoint,
    /// The one that `{port}` means.
    pub(super) first_port: Option<u16>,
}

impl Place {
    /// `argv` with its placeholders filled.
    pub(super) fn filled(&self, argv: &[String]) -> Result<Vec<OsString>, TemplateError> {
        let Self { slot, attempt, endpoint, first_port } = self;
        let (attempt, first_port) = (*attempt, *first_port);
        let values = Values { slot, attempt, ports: &endpoint.ports, first_port };
        argv.iter().map(|text| values.fill(text).map(OsString::from)).collect()
    }
}

impl Settings {
    /// Reads them through `variable`.
    ///
    /// # Errors
    /// Names the first variable that lacks or makes no sense.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let var = |name| variable(name).ok_or(SettingsError::Unset(name));
        let cert = bytes(&var(CERT_VAR)?).ok_or(SettingsError::Bad(CERT_VAR))?;
        let slot: LogicalNodeId = parsed(SLOT_VAR, &var(SLOT_VAR)?)?;
        let fence: u64 = parsed(FENCE_VAR, &var(FENCE_VAR)?)?;
        let mut instance = [0; 32];
        SystemRandom::new().fill(&mut instance).map_err(|_unspecified| SettingsError::Random)?;
        let attempt: Uuid = parsed(ATTEMPT_VAR, &var(ATTEMPT_VAR)?)?;
        let ports = ports(&variable(PORTS_VAR).unwrap_or_default())?;
        let first_port = ports.first().map(|(_, port)| *port);
        let ports = Arc::new(ports.into_iter().collect());
        let endpoint = Endpoint { host: "127.0.0.1".into(), ports };
        Ok(Self {
            driver: var(DRIVER_VAR)?,
            tls: Arc::new(config(cert).map_err(SettingsError::Certificate)?),
            name: ServerName::try_from(DRIVER_NAME)
                .map_err(|_no_name| SettingsError::Bad(DRIVER_NAME))?,
            hello: Hello {
                version: VERSION,
                run: parsed(RUN_VAR, &var(RUN_VAR)?)?,
                slot: slot.clone(),
                attempt,
                token: var(TOKEN_VAR)?,
                instance: hex(&instance),
                session: None,
            },
            fence: Fence::new(fence),
            place: Place { slot, attempt, endpoint, first_port },
        })
    }
}

fn parsed<T: std::str::FromStr>(name: &'static str, text: &str) -> Result<T, SettingsError> {
    text.parse().map_err(|_bad| SettingsError::Bad(name))
}

fn ports(text: &str) -> Result<Vec<(String, u16)>, SettingsError> {
    let bad = SettingsError::Bad;
    let one = |pair: &str| {
        let (name, port) = pair.split_once('=').ok_or(bad(PORTS_VAR))?;
        Ok((name.to_owned(), parsed(PORTS_VAR, port)?))
    };
    text.split(',').filter(|pair| !pair.is_empty()).map(one).collect()
}

/// Trusts the one certificate, and no other.
fn config(cert: Vec<u8>) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(cert))?;
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
