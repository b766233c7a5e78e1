//! What a provider must do, and the values that go in and out.

mod context;
mod factory;
mod fences;
mod preflight;
mod probe;
mod provider;
mod session;

pub use context::EffectContext;
pub use factory::{
    BuildError, OptionProblem, OutputAsk, OutputSink, ProviderFactory, ProviderOptions,
    ProviderPlace,
};
pub use fences::{FENCE_FILE, highest_fence};
pub use preflight::Preflight;
pub use probe::ProbeAsk;
pub use provider::{Capabilities, Exit, Fencing, Leased, Provider, Rate, Work};
pub use session::{SessionObservation, SessionSink, StartRequest};
