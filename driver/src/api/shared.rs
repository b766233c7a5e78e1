//! What every call of the API works with.

use std::sync::Arc;

use checkpoint::paths::StatePaths;

use super::{feed::Feed, tally::Tally};
use crate::{clock::Clock, handle::Handle};

/// The driver behind the calls, and what is counted of them.
#[derive(Clone)]
pub(super) struct Api {
    pub(super) handle: Handle,
    pub(super) paths: StatePaths,
    pub(super) clock: Clock,
    pub(super) feed: Feed,
    pub(super) tally: Arc<Tally>,
}
