//! Makes exec providers from their options.

use std::sync::Arc;

use super::{
    fence::FenceFile,
    options::{self, Options},
    plugin::ExecProvider,
    program::Program,
};
use crate::seam::{
    BuildError, Capabilities, Fencing, OptionProblem, Provider, ProviderFactory, ProviderOptions,
    ProviderPlace,
};

/// Makes providers of kind `exec`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExecFactory;

impl ProviderFactory for ExecFactory {
    fn kind(&self) -> &'static str {
        "exec"
    }

    fn capabilities(&self, options: &ProviderOptions) -> Capabilities {
        capabilities(&options::read(options).0)
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
        let fences = FenceFile::open(&place.state_dir)
            .map_err(|source| BuildError::Place { path: place.state_dir.clone(), source })?;
        let argv = options.program.resolved(&place.base_dir);
        let program =
            Program::new(argv, place.base_dir.clone(), &options.env, place.secrets.clone());
        let capabilities = capabilities(&options);
        let provider = ExecProvider::new(program, fences, capabilities, options.timeout);
        Ok(Arc::new(provider.with_agent(options.agent)))
    }
}

/// The program is given image and resources, and refuses what it cannot give.
fn capabilities(options: &Options) -> Capabilities {
    Capabilities {
        kind: "exec",
        version: super::request::VERSION,
        fencing: Fencing::Enforced,
        visibility: options.visibility,
        listing_period: options.listing_period,
        rate: Some(options.rate),
        images: true,
        resources: true,
        hooks: options.hooks,
        probes: false,
        agents: options.agent.is_some(),
        secrets: options.secrets,
    }
}
