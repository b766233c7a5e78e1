//! Asking workloads by their probes: each on its own, so many at once at each provider, and whatever goes wrong here
//! says nothing of the workload.

use std::{sync::Arc, time::Duration};

use reconciler_core::{
    desired::{Probe, ProbeCheck, ProbeKind},
    effect::NodeRequest,
    id::{ProviderName, SessionId},
    observed::{Endpoint, Handle, LeaseFacts, ProbeAnswer},
    redact::Redacted,
};

use super::{
    deadline::{Finish, within},
    ground::Ground,
    report::Report,
    run::Dispatcher,
    shared::Shared,
};
use crate::{probe::over_network, seam::ProbeAsk};

/// What a provider has beyond the time of a command to end it and to say so.
const PROBE_MARGIN: Duration = Duration::from_secs(10);

/// A workload that is to be asked.
#[derive(Clone, Debug)]
pub struct Probing {
    /// Its provider.
    pub provider: ProviderName,
    /// The attempt and its spec.
    pub request: NodeRequest,
    /// Its lease.
    pub lease: LeaseFacts,
    /// Where it is reached.
    pub endpoint: Endpoint,
    /// The session of the workload.
    pub session: SessionId,
    /// The workload.
    pub workload: Handle,
    /// Which probe.
    pub kind: ProbeKind,
    /// What is asked.
    pub probe: Arc<Probe>,
}

impl Dispatcher {
    /// Asks a workload by one of its probes; answers with `Report::Probed`, also where nobody could be asked.
    pub fn probe(&self, probing: Probing) {
        let shared = Arc::clone(&self.shared);
        if shared.is_closed() {
            return;
        }
        tokio::spawn(async move {
            let answer = match shared.grounds.get(&probing.provider).cloned() {
                Some(ground) => asked(&ground, &probing).await,
                None => unknown("there is no such provider"),
            };
            tell(&shared, probing, answer);
        });
    }
}

fn tell(shared: &Shared, probing: Probing, answer: ProbeAnswer) {
    let Probing { request, session, kind, probe, .. } = probing;
    let (slot, attempt) = (request.slot, request.attempt);
    (shared.report)(Report::Probed { slot, attempt, session, kind, probe, answer });
}

async fn asked(ground: &Ground, probing: &Probing) -> ProbeAnswer {
    // No semaphore is ever closed.
    let Ok(_place) = Arc::clone(&ground.probes).acquire_owned().await else {
        return unknown("the controller is stopping");
    };
    let timeout = Duration::from_millis(probing.probe.timeout.get());
    let late = || {
        let text = format!("no answer within {} ms", timeout.as_millis());
        ProbeAnswer::Failed(Redacted::new(&text))
    };
    let ProbeCheck::Exec { argv } = &probing.probe.check else {
        let (check, endpoint) = (probing.probe.check.clone(), probing.endpoint.clone());
        let work = async move { over_network(&check, &endpoint).await };
        return match finished(within(timeout, work).await) {
            Some(Ok(answer)) => answer.unwrap_or_else(|| unknown("there is nothing to ask")),
            Some(Err(why)) => ProbeAnswer::Unknown(why),
            None => late(),
        };
    };
    let ask = ProbeAsk {
        request: probing.request.clone(),
        lease: probing.lease.clone(),
        workload: probing.workload.clone(),
        kind: probing.kind,
        argv: argv.clone(),
        timeout,
    };
    let provider = Arc::clone(&ground.provider);
    let work = async move { provider.probe(&ask).await };
    match finished(within(timeout + PROBE_MARGIN, work).await) {
        Some(Ok(answer)) => answer,
        Some(Err(why)) => ProbeAnswer::Unknown(why),
        None => unknown("the provider did not say in time how it went"),
    }
}

/// What came of it, or why nothing did; `None` if it took too long, and was left.
fn finished<T>(finish: Finish<T>) -> Option<Result<T, Redacted>> {
    match finish {
        Finish::Done(answer) => Some(Ok(answer)),
        Finish::Late(work) => {
            work.abort();
            None
        }
        Finish::Crashed(words) => Some(Err(Redacted::new(&format!("the probe crashed: {words}")))),
        Finish::Stopped => Some(Err(Redacted::new("the controller is stopping"))),
    }
}

fn unknown(text: &str) -> ProbeAnswer {
    ProbeAnswer::Unknown(Redacted::new(text))
}
