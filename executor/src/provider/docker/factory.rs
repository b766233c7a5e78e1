//! Makes docker providers from their options.

use std::{ffi::OsStr, sync::Arc};

use super::{
    engine::Engine,
    ground::Ground,
    host::{Host, Surroundings},
    options,
    provider::{DockerProvider, capabilities},
};
use crate::seam::{
    BuildError, Capabilities, OptionProblem, Provider, ProviderFactory, ProviderOptions,
    ProviderPlace,
};

/// Makes providers of kind `docker`.
#[derive(Clone, Copy, Debug, Default)]
pub struct DockerFactory;

impl ProviderFactory for DockerFactory {
    fn kind(&self) -> &'static str {
        "docker"
    }

    fn capabilities(&self, _options: &ProviderOptions) -> Capabilities {
        capabilities()
    }

    fn validate(&self, options: &ProviderOptions) -> Vec<OptionProblem> {
        options::read(options).1
    }

    fn build(
        &self,
        options: &ProviderOptions,
        place: &ProviderPlace,
    ) -> Result<Arc<dyn Provider>, BuildError> {
        let (options, problems) = options::read(options);
        if !problems.is_empty() {
            let told =
                problems.iter().map(|problem| format!("{}: {}", problem.key, problem.message));
            return Err(BuildError::Options(told.collect::<Vec<_>>().join("; ")));
        }
        let (host, tls) = (options.host.as_deref(), options.tls.as_ref());
        let host = Host::chosen(host, tls, &place.base_dir, &Surroundings::read());
        let engine = Engine::new(host.map_err(BuildError::Options)?);
        // The place of a provider is called like it; two of one run on one engine are told apart by that.
        let name = place.state_dir.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let ground = Ground::new(engine, options, name.to_owned(), place.clone());
        Ok(Arc::new(DockerProvider::new(ground)))
    }
}
