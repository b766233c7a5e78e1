//! Providers and texts for the tests of the desired-state file.

use std::{sync::Arc, time::Duration};

use driver::config::{Catalogue, ConfigError, Loaded, ProblemView, Source, check};
use executor::seam::{
    BuildError, Capabilities, Fencing, OptionProblem, Provider, ProviderFactory, ProviderOptions,
    ProviderPlace,
};

/// A kind of provider that only validates.
struct Factory {
    kind: &'static str,
    required: Option<&'static str>,
    able: bool,
}

impl ProviderFactory for Factory {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn capabilities(&self, _options: &ProviderOptions) -> Capabilities {
        Capabilities {
            kind: self.kind,
            version: 1,
            fencing: Fencing::Enforced,
            visibility: Duration::ZERO,
            listing_period: Duration::from_mins(1),
            rate: None,
            images: self.able,
            resources: self.able,
            hooks: self.kind == "process",
            probes: self.kind == "process",
            agents: true,
            secrets: self.kind == "process",
        }
    }

    fn validate(&self, options: &ProviderOptions) -> Vec<OptionProblem> {
        let mut problems = Vec::new();
        if let Some(key) = self.required.filter(|key| !options.contains_key(*key)) {
            problems.push(OptionProblem {
                key: String::new(),
                message: format!("`{key}` is missing"),
                hint: Some("name it".to_owned()),
            });
        }
        for key in options.keys().filter(|key| Some(key.as_str()) != self.required) {
            problems.push(OptionProblem {
                key: key.clone(),
                message: "is not an option".to_owned(),
                hint: None,
            });
        }
        problems
    }

    fn build(
        &self,
        _options: &ProviderOptions,
        _place: &ProviderPlace,
    ) -> Result<Arc<dyn Provider>, BuildError> {
        Err(BuildError::Options("made for validation only".to_owned()))
    }
}

/// `process`, which can neither run images nor promise resources but runs hooks, and `exec`, which needs a program
/// and is the other way round.
pub(crate) fn catalogue() -> Catalogue {
    let process: Arc<dyn ProviderFactory> =
        Arc::new(Factory { kind: "process", required: None, able: false });
    let exec: Arc<dyn ProviderFactory> =
        Arc::new(Factory { kind: "exec", required: Some("program"), able: true });
    Catalogue::new([process, exec])
}

/// What every file needs; its lines are 1 to 3.
pub(crate) const HEAD: &str =
    "version = 1\nrun = \"local\"\nuuid = \"0b6f4e1c-0f0e-4a51-9d58-6f1c2f3a4b5c\"\n";

/// A sound group; its lines are 4 to 8 behind the head.
pub(crate) const WEB: &str =
    "[group.web]\ncount = 1\n[group.web.boot]\ncommand = [\"true\"]\nports = [\"http\"]\n";

/// Checks a text.
pub(crate) fn checked(text: &str) -> Result<Loaded, ConfigError> {
    check(&Source::new("cluster.toml", text), &catalogue())
}

/// The problems of a text that must be refused.
pub(crate) fn problems(text: &str) -> Vec<ProblemView> {
    checked(text).map_or_else(|error| error.to_views(), |_| Vec::new())
}
