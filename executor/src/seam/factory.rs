//! How a provider is made from its section of the desired-state file.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use reconciler_core::{
    id::{LogicalNodeId, Uuid},
    redact::Redacted,
};

use super::provider::{Capabilities, Provider, Work};
use crate::secret::Secrets;

/// A provider's own settings, as neutral values by key; nested tables have dotted keys.
pub type ProviderOptions = BTreeMap<String, serde_json::Value>;

/// Where a provider may keep things, and where relative paths start.
#[derive(Clone, Debug)]
pub struct ProviderPlace {
    /// A private directory of its own within the run's state; made by the provider.
    pub state_dir: PathBuf,
    /// The directory of the desired-state file.
    pub base_dir: PathBuf,
    /// The secrets of nodes, and what keeps them out of texts.
    pub secrets: Secrets,
}

/// What is asked of the output of a slot.
#[derive(Clone, Copy, Debug)]
pub struct OutputAsk<'a> {
    /// The provider's own settings.
    pub options: &'a ProviderOptions,
    /// Its place.
    pub place: &'a ProviderPlace,
    /// The run.
    pub run: Uuid,
    /// Whose output.
    pub slot: &'a LogicalNodeId,
    /// How many last lines of each source, at first.
    pub lines: usize,
    /// Whether to go on with what is still to come.
    pub follow: bool,
}

/// Takes pieces of output, each with the name of its source; the bytes are the workload's own, secrets included.
pub type OutputSink<'a> = &'a mut (dyn FnMut(&str, &[u8]) + Send);

/// What is wrong with one option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionProblem {
    /// The option's key; empty if one is missing.
    pub key: String,
    /// What is wrong, as a lower-case fragment.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// Why a provider could not be made.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Its options are not valid; validation would have said so.
    #[error("the options are not valid: {0}")]
    Options(String),
    /// Its place could not be used.
    #[error("cannot use {path}")]
    Place {
        /// Which path.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// Makes the providers of one kind.
pub trait ProviderFactory: Send + Sync {
    /// The kind, as written in `provider.NAME.kind`.
    fn kind(&self) -> &'static str;

    /// What providers with these options can do.
    fn capabilities(&self, options: &ProviderOptions) -> Capabilities;

    /// Everything that is wrong with `options`, all at once.
    fn validate(&self, options: &ProviderOptions) -> Vec<OptionProblem>;

    /// Where the output of a slot's attempts stands on this machine, the oldest first; nothing where the provider
    /// keeps it elsewhere.
    fn log_paths(&self, _place: &ProviderPlace, _slot: &LogicalNodeId) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Hands the output of a slot's attempts to `sink`, the oldest first, where the provider keeps it elsewhere than
    /// on this machine; with `follow` it goes on until it is dropped.
    ///
    /// # Errors
    /// Says why the output cannot be had.
    fn output<'a>(
        &'a self,
        _ask: OutputAsk<'a>,
        _sink: OutputSink<'a>,
    ) -> Work<'a, Result<(), Redacted>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Makes a provider.
    ///
    /// # Errors
    /// Fails if the options are not valid or its place cannot be used.
    fn build(
        &self,
        options: &ProviderOptions,
        place: &ProviderPlace,
    ) -> Result<Arc<dyn Provider>, BuildError>;
}
