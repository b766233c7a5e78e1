//! Workloads that ail: what they answer when they are asked by their probes.

use executor::seam::ProbeAsk;
use reconciler_core::{desired::ProbeKind, observed::ProbeAnswer, redact::Redacted};

use super::{
    land::{Thing, lease_id},
    scene::Scene,
};

/// What a workload says when it is asked.
pub(crate) fn answer(scene: &mut Scene, ask: &ProbeAsk) -> ProbeAnswer {
    let attempt = ask.request.attempt.uuid;
    let runs = scene.land.things.get(&lease_id(attempt)).is_some_and(Thing::runs);
    let now = scene.now();
    let ails = scene.land.ailing.get(&ask.request.slot.to_string());
    let why = Redacted::new("as the story has it");
    match ails.filter(|ails| runs && ails.until > now) {
        None if runs => ProbeAnswer::Passed,
        None => ProbeAnswer::Unknown(why),
        Some(ails) if ails.mute => ProbeAnswer::Unknown(why),
        Some(_) => {
            if ask.kind != ProbeKind::Readiness {
                scene.book.causes.insert(attempt);
            }
            ProbeAnswer::Failed(why)
        }
    }
}
