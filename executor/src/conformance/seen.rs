//! What one check learned and later ones build on; a check whose ground was not laid is skipped.

use reconciler_core::observed::{Endpoint, Handle, LeaseFacts};

use super::report::{Verdict, skipped};

/// What the checks so far learned of the node under trial.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) lease: Option<LeaseFacts>,
    pub(super) endpoint: Option<Endpoint>,
    pub(super) workload: Option<Handle>,
}

impl Seen {
    pub(super) fn lease(&self) -> Verdict<&LeaseFacts> {
        self.lease.as_ref().map_or_else(|| skipped("no lease was made"), Ok)
    }

    pub(super) fn endpoint(&self) -> Verdict<&Endpoint> {
        self.endpoint.as_ref().map_or_else(|| skipped("no endpoint is known"), Ok)
    }

    pub(super) fn workload(&self) -> Verdict<&Handle> {
        self.workload.as_ref().map_or_else(|| skipped("no workload was started"), Ok)
    }
}
