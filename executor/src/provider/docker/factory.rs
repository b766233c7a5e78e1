//! Makes docker providers from their options.

use std::{ffi::OsStr, sync::Arc};

use reconciler_core::redact::Redacted;

use super::{
    engine::Engine,
    ground::Ground,
    host::{Host, Surroundings},
    options, output,
    provider::{DockerProvider, capabilities},
};
use crate::seam::{
    BuildError, Capabilities, OptionProblem, OutputAsk, OutputSink, Provider, ProviderFactory,
    ProviderOptions, ProviderPlace, Work,
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

    fn output<'a>(
        &'a self,
        ask: OutputAsk<'a>,
        sink: OutputSink<'a>,
    ) -> Work<'a, Result<(), Redacted>> {
        Box::pin(async move {
            let ground = ground(ask.options, ask.place);
            let ground = ground.map_err(|error| Redacted::new(&error.to_string()))?;
            output::output(&ground, ask, sink).await
        })
    }

    fn build(
        &self,
        options: &ProviderOptions,
        place: &ProviderPlace,
    ) -> Result<Arc<dyn Provider>, BuildError> {
        Ok(Arc::new(DockerProvider::new(ground(options, place)?)))
    }
}

/// What a provider with these options stands on; the engine is not asked for it.
fn ground(options: &ProviderOptions, place: &ProviderPlace) -> Result<Ground, BuildError> {
    let (options, problems) = options::read(options);
    if !problems.is_empty() {
        let told = problems.iter().map(|problem| format!("{}: {}", problem.key, problem.message));
        return Err(BuildError::Options(told.collect::<Vec<_>>().join("; ")));
    }
    let (host, tls) = (options.host.as_deref(), options.tls.as_ref());
    let host = Host::chosen(host, tls, &place.base_dir, &Surroundings::read());
    let engine = Engine::new(host.map_err(BuildError::Options)?);
    // The place of a provider is called like it; two of one run on one engine are told apart by that.
    let name = place.state_dir.file_name().and_then(OsStr::to_str).unwrap_or_default();
    Ok(Ground::new(engine, options, name.to_owned(), place.clone()))
}
