//! Makes process providers from their options.
//!
//! | Option | Meaning | If not given |
//! |---|---|---|
//! | `log_max_bytes` | size of one output file before it is rotated | 10 MiB |

use std::{path::PathBuf, sync::Arc};

use reconciler_core::id::LogicalNodeId;
use serde_json::Value;

use super::{
    logs::LOG_BYTES_DEFAULT,
    provider::{ProcessProvider, capabilities},
};
use crate::seam::{
    BuildError, Capabilities, OptionProblem, Provider, ProviderFactory, ProviderOptions,
    ProviderPlace,
};

const LOG_MAX_BYTES: &str = "log_max_bytes";
/// A smaller file would not hold the last lines that are shown.
const LOG_BYTES_MIN: u64 = 4 * 1024;
/// Makes providers of kind `process`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessFactory;

impl ProviderFactory for ProcessFactory {
    fn kind(&self) -> &'static str {
        "process"
    }

    fn capabilities(&self, _options: &ProviderOptions) -> Capabilities {
        capabilities()
    }

    fn validate(&self, options: &ProviderOptions) -> Vec<OptionProblem> {
        options.iter().filter_map(|(key, value)| problem_of(key, value)).collect()
    }

    fn log_paths(&self, place: &ProviderPlace, slot: &LogicalNodeId) -> Vec<PathBuf> {
        ProcessProvider::log_paths(&place.state_dir, slot)
    }

    fn build(
        &self,
        options: &ProviderOptions,
        place: &ProviderPlace,
    ) -> Result<Arc<dyn Provider>, BuildError> {
        if let Some(problem) = self.validate(options).first() {
            return Err(BuildError::Options(format!("{}: {}", problem.key, problem.message)));
        }
        let cap = options.get(LOG_MAX_BYTES).and_then(Value::as_u64).unwrap_or(LOG_BYTES_DEFAULT);
        Ok(Arc::new(ProcessProvider::new(place.clone(), cap)))
    }
}

fn problem_of(key: &str, value: &Value) -> Option<OptionProblem> {
    let problem = |message: &str, hint: &str| OptionProblem {
        key: key.to_owned(),
        message: message.to_owned(),
        hint: Some(hint.to_owned()),
    };
    if key != LOG_MAX_BYTES {
        return Some(problem("is not an option of this provider", "it knows `log_max_bytes`"));
    }
    match value.as_u64() {
        Some(bytes) if bytes >= LOG_BYTES_MIN => None,
        Some(_) => Some(problem("is too small", "give at least 4096")),
        None => Some(problem("is not a number of bytes", "give a whole number, such as 10485760")),
    }
}
