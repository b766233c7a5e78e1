//! Asking workloads by their probes, beside the passes, and what comes back.
//!
//! An answer that tells nothing new is dropped here, so that a fleet that is well costs no pass.

use std::sync::Arc;

use executor::dispatch::Probing;
use reconciler_core::{
    desired::{JoinMode, Probe, ProbeKind},
    fold::Fact,
    id::{AttemptId, LogicalNodeId, SessionId},
    observed::{NodeRecord, ProbeAnswer},
};
use tokio::time::Instant;

use crate::{looping::Loop, prober::Place};

impl Loop {
    /// Asks the workloads whose turn it is.
    pub(crate) fn probe_due(&mut self) {
        for place in self.prober.take_due(Instant::now()) {
            let record = self.state.cluster.record(&place.slot);
            let record = record.and_then(|record| record.of_attempt(place.attempt));
            // What is not to be asked any more is taken off with the change that made it so.
            let Some(record) = record else { continue };
            if record.spec.join == JoinMode::Agent {
                self.ask_agent(place);
            } else if let Some(probing) = self.probing(&place, record) {
                self.dispatcher.probe(probing);
            }
        }
    }

    fn probing(&self, place: &Place, record: &NodeRecord) -> Option<Probing> {
        let (_, probe, _) = record.probes().find(|(kind, ..)| *kind == place.kind)?;
        Some(Probing {
            provider: record.spec.provider.clone(),
            request: record.request(self.state.shape.uuid),
            lease: record.stage.lease()?.clone(),
            endpoint: record.stage.endpoint()?.clone(),
            session: record.stage.session()?,
            workload: record.stage.workload()?.clone(),
            kind: place.kind,
            probe: Arc::clone(probe),
        })
    }

    /// Takes what came of asking; gives it back as a fact if it tells anything new.
    pub(crate) fn take_answer(
        &mut self,
        (slot, attempt): (LogicalNodeId, AttemptId),
        (session, kind, probe): (SessionId, ProbeKind, Arc<Probe>),
        answer: ProbeAnswer,
    ) -> Option<Fact> {
        let place = Place { slot, attempt, kind };
        self.prober.answered(&place, session, &probe);
        let record = self.state.cluster.record(&place.slot)?.of_attempt(attempt)?;
        if record.trial(kind).is_some_and(|trial| trial.knows(&answer)) {
            return None;
        }
        Some(Fact::Probed { slot: place.slot, attempt, session, kind, probe, answer })
    }
}
