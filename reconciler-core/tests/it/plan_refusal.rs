//! A plan that would act where identity, state or fence is in doubt is refused; the rest of the run is not (R160,
//! R161, R164, D3, P4).

use std::collections::BTreeMap;

use reconciler_core::{
    desired::ClusterShape,
    drift::DriftKind,
    effect::{Listing, OwnedLease},
    fold::Fact,
    hold::{Hold, HoldCode},
    id::{Fence, PlanSerial, Uuid},
    observed::{ClusterState, NodeRecord, StageName},
    plan::{LifecyclePlan, PlanInput, ProjectError, Scope, project},
    reconcile::{Rung, reconcile},
    redact::Redacted,
};

use crate::fleet::{
    FENCE, T0, at, group, in_stage, of, owned, provider, shape, slot, stage, state,
};
use crate::world::GRACE;

fn plan(
    state: &ClusterState,
    base: &ClusterShape,
    target: &ClusterShape,
    scope: Scope<'_>,
) -> Result<LifecyclePlan, ProjectError> {
    let capabilities = BTreeMap::new();
    let input = PlanInput {
        base,
        target,
        capabilities: &capabilities,
        fence: FENCE,
        serial: PlanSerial::new(1),
        parallelism: 16,
    };
    project(state, &input, scope, T0)
}

fn refused(plan: Result<LifecyclePlan, ProjectError>) -> Vec<DriftKind> {
    match plan {
        Err(ProjectError::Refused { drifts }) => drifts.iter().map(|drift| drift.kind).collect(),
        Err(ProjectError::NeverSettles { .. } | ProjectError::Graph(_)) | Ok(_) => Vec::new(),
    }
}

/// Two ready web nodes and a ready db node.
fn run() -> (ClusterShape, ClusterState) {
    let shape = shape(&[("db", 1), ("web", 2)]);
    let record = |text: &str| {
        let mut record = in_stage(&shape, text, stage(StageName::Dormant));
        if let reconciler_core::observed::NodeStage::Dormant { lease, .. } = &mut record.stage {
            *lease = crate::fleet::lease(text);
        }
        record
    };
    let state = state(["db-0", "web-0", "web-1"].map(record));
    (shape, state)
}

/// Folds a complete listing of what the records have, and of `more`.
fn list(state: &mut ClusterState, more: impl IntoIterator<Item = OwnedLease>, ms: u64) {
    let own = ["db-0", "web-0", "web-1"].map(|text| owned(text, of(state, text).attempt, text));
    let listing = Listing::Complete(own.into_iter().chain(more).collect());
    let (provider, asked_at) = (provider(), at(ms));
    let fact = Fact::Listed { provider, listing, asked_at, grace: GRACE, fence: FENCE };
    let _verdict = state.fold(fact, asked_at);
}

fn twin(state: &ClusterState) -> OwnedLease {
    owned("web-0", of(state, "web-0").attempt, "web-0-again")
}

/// R160: a second lease of one attempt holds the slot, refuses plans of its group, and heals when it is gone.
#[test]
fn one_identity_in_two_places_refuses_until_one_is_gone() {
    let (base, mut state) = run();
    let wider = shape(&[("db", 1), ("web", 3)]);
    let twins = [twin(&state)];
    list(&mut state, twins, 1);
    let hold = of(&state, "web-0").hold.clone().expect("a hold");
    assert_eq!(hold.code, HoldCode::DuplicateIdentity);
    assert!(hold.text.as_str().contains("web-0 and web-0-again"), "{}", hold.text);
    let refusal = plan(&state, &base, &wider, Scope::All);
    assert_eq!(refused(refusal.clone()), [DriftKind::DuplicateIdentity]);
    let told = refusal.expect_err("refused").to_string();
    assert!(told.starts_with("web-0: duplicate-identity: "), "{told}");
    let reasons = reconcile(&state, &wider, T0).reasons;
    let of_slot = reasons.iter().find(|(s, _)| *s == slot("web-0")).map(|(_, r)| &r.rung);
    assert!(matches!(of_slot, Some(Rung::Held(HoldCode::DuplicateIdentity, _))), "{of_slot:?}");
    list(&mut state, [], 2);
    assert_eq!(of(&state, "web-0").hold, None, "one of the two is gone");
    assert!(plan(&state, &base, &wider, Scope::All).is_ok());
}

/// P4: another group, a plan without steps, and repairs of other slots are not refused.
#[test]
fn the_rest_of_the_run_is_not_refused() {
    let (base, mut state) = run();
    let twins = [twin(&state)];
    list(&mut state, twins, 1);
    let all = |target: &ClusterShape| plan(&state, &base, target, Scope::All);
    assert!(all(&shape(&[("db", 2), ("web", 2)])).is_ok(), "another group");
    let idle = all(&base).expect("nothing to do");
    assert!(idle.steps.is_empty());
    let slots = [slot("web-1")].into();
    assert!(plan(&state, &base, &base, Scope::Slots(&slots)).is_ok(), "a repair beside it");
}

/// D3: a group that goes altogether goes, but for the slot that may not be ours.
#[test]
fn a_group_that_goes_leaves_only_what_is_in_doubt() {
    let (base, mut state) = run();
    let twins = [twin(&state)];
    list(&mut state, twins, 1);
    let down = plan(&state, &base, &base.emptied(), Scope::All).expect("a plan");
    assert!(down.steps.iter().any(|step| step.slot == slot("web-1")));
    assert!(down.steps.iter().all(|step| step.slot != slot("web-0")));
    assert_eq!(
        down.blocked.iter().map(|(slot, _)| slot.clone()).collect::<Vec<_>>(),
        [slot("web-0")]
    );
}

/// R161, R164: a record that makes no sense, a newer mark, and a newer controller's lease refuse as well.
#[test]
fn unknown_states_and_newer_fences_refuse() {
    for (code, kind) in [
        (HoldCode::Unrecognised, DriftKind::UnknownState),
        (HoldCode::NewerFence, DriftKind::Fence),
    ] {
        let (base, state_before) = run();
        let mut record = NodeRecord::clone(&of(&state_before, "web-0"));
        record.hold = Some(Hold { code, text: Redacted::new("held"), since: T0 });
        let others = ["db-0", "web-1"].map(|text| NodeRecord::clone(&of(&state_before, text)));
        let state = state(others.into_iter().chain([record]));
        let refusal = plan(&state, &base, &shape(&[("db", 1), ("web", 3)]), Scope::All);
        assert_eq!(refused(refusal), [kind]);
    }
    let (base, mut state) = run();
    let newer = |fence| OwnedLease {
        attempt: Uuid::from_bytes([9; 16]),
        fence,
        ..owned("web-1", of(&run().1, "web-1").attempt, "other")
    };
    let wider = shape(&[("db", 1), ("web", 3)]);
    let ours = newer(FENCE.next());
    list(&mut state, [ours], 1);
    assert!(plan(&state, &base, &wider, Scope::All).is_ok(), "the fence that acts on the plan");
    let theirs = newer(Fence::new(FENCE.get() + 2));
    list(&mut state, [theirs], 2);
    assert_eq!(refused(plan(&state, &base, &wider, Scope::All)), [DriftKind::Fence]);
    assert_eq!(state.group(&group("web")).map(|g| g.held()), Some(0), "an orphan holds nobody");
}
