//! Drifts that are told of one thing and of nothing beside it (R152, R160, R162).

use reconciler_core::{
    drift::{DriftKind, DriftSubject, classify},
    effect::Listing,
    fold::Fact,
    hold::HoldCode,
    id::{AttemptId, Uuid},
    observed::{ClusterState, StageName},
};

use crate::{
    fleet::{FENCE, at, in_stage, of, owned, provider, shape, slot, stage, state},
    world::GRACE,
};

fn kinds(state: &ClusterState, counts: &[(&str, u32)]) -> Vec<(String, DriftKind)> {
    let drifts = classify(state, &shape(counts), Some(FENCE));
    drifts.iter().map(|drift| (drift.subject.to_string(), drift.kind)).collect()
}

/// R162: a provider that nobody uses need not be looked at.
#[test]
fn only_a_provider_in_use_is_missed() {
    let about = |counts: &[(&str, u32)]| {
        let drifts = classify(&state([]), &shape(counts), None);
        drifts.iter().filter(|d| matches!(d.subject, DriftSubject::Provider(_))).count()
    };
    assert_eq!(about(&[("web", 0)]), 0);
    assert_eq!(about(&[("web", 1)]), 1);
}

/// R152, R160: a thing of another attempt in a slot that is held for its twin is told by itself.
#[test]
fn a_stranger_beside_a_twin_is_told_as_well() {
    let one = shape(&[("web", 1)]);
    let mut state = state([in_stage(&one, "web-0", stage(StageName::Dormant))]);
    let own = of(&state, "web-0").attempt;
    let other = AttemptId { uuid: Uuid::from_bytes([9; 16]), ..own };
    let all = [(own, "l-1"), (own, "l-2"), (other, "l-3")];
    let owned = all.map(|(attempt, id)| owned("web-0", attempt, id));
    let (provider, asked_at) = (provider(), at(600_000));
    let listing = Listing::Complete(owned.into());
    let fact = Fact::Listed { provider, listing, asked_at, grace: GRACE, fence: FENCE };
    let _applied = state.fold(fact, asked_at);
    let hold = state.record(&slot("web-0")).and_then(|record| record.hold.as_ref());
    assert_eq!(hold.map(|hold| hold.code), Some(HoldCode::DuplicateIdentity));
    let told = kinds(&state, &[("web", 1)]);
    let of = |kind: DriftKind| told.iter().filter(|(_, known)| *known == kind).count();
    assert_eq!((of(DriftKind::DuplicateIdentity), of(DriftKind::Unmanaged)), (1, 1), "{told:?}");
}
