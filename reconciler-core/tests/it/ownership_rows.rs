//! What the journal keeps of an attempt's property, from before its first effect until its absence was seen: what a
//! row begins with, which effects it lets out, and when it goes (R96, R140, R141, R146 to R148).

use reconciler_core::{
    effect::{CommandKind, Intent, NodeManagerCommand},
    hold::{Hold, HoldCode},
    id::{AttemptId, AttemptOrdinal, Fence, IdempotencyKey, OperationId, StepId, Uuid},
    observed::{DeleteReason, Deletion, Endpoint, NodeRecord, NodeStage, Second, StageName},
    ownership::{
        Admission, Capacity, ControllerId, Demand, Finalizer, FinalizerState, Finalizers, Ledger,
        Ownership, OwnershipError, Standing, holds, is_unremarkable, standing,
    },
    redact::Redacted,
    time::Millis,
};

use crate::fleet::{
    RUN, ambiguity, at, group, in_stage, lease, pending, provider, shape, slot, stage, with,
};

fn node(name: StageName) -> NodeRecord {
    in_stage(&shape(&[("web", 1)]), "web-0", stage(name))
}

/// The same on its way out since `at(7)`.
fn going(name: StageName) -> NodeRecord {
    let deletion = Some(Deletion { reason: DeleteReason::Undesired, since: at(7) });
    with(node(name), |record| record.deletion = deletion)
}

fn held(code: HoldCode, record: NodeRecord) -> NodeRecord {
    let hold = Hold { code, text: Redacted::new("a reason"), since: at(1) };
    with(record, |record| record.hold = Some(hold))
}

fn owner() -> ControllerId {
    ControllerId::of_process(1, "here")
}

fn other() -> ControllerId {
    ControllerId::of_process(2, "there")
}

fn intent(command: NodeManagerCommand, fence: u64) -> Intent {
    let record = node(StageName::New);
    Intent {
        operation: OperationId::new(4),
        step: StepId::new(1),
        fence: Fence::new(fence),
        slot: record.slot,
        attempt: record.attempt,
        provider: provider(),
        action: command.into(),
        key: IdempotencyKey::of(b"a request"),
        timeout: Millis::from_secs(1),
        admission: None,
    }
}

fn creates() -> Intent {
    intent(NodeManagerCommand::CreateLease(node(StageName::New).request(RUN)), 3)
}

fn looks_up(fence: u64) -> Intent {
    intent(NodeManagerCommand::LookupEndpoint(lease("l-1")), fence)
}

fn destroys() -> Intent {
    intent(NodeManagerCommand::DestroyLease(lease("l-1")), 3)
}

fn row() -> Ownership {
    Ownership::begun(&creates(), &owner()).expect("a row")
}

fn evidence(nodes: u64) -> Option<Box<Admission>> {
    let capacity = Capacity { nodes: Some(nodes), ..Capacity::default() };
    let mut ledger = Ledger::new([(provider(), capacity)]);
    let demand = Demand { nodes: 1, ..Demand::default() };
    let given = ledger.admit(&provider(), &group("web"), demand, at(0)).expect("it fits");
    given.map(Box::new)
}

/// R96, R97: a row begins with the intent of its lease and no other, bound to operation, controller, fence and evidence.
#[test]
fn an_attempt_begins_to_own_with_the_intent_of_its_lease() {
    let admitted = Intent { admission: evidence(2), ..creates() };
    let row = Ownership::begun(&admitted, &owner()).expect("a row");
    let (identity, tenure) = (&row.identity, &row.tenure);
    assert_eq!((&identity.slot, &identity.provider), (&slot("web-0"), &provider()));
    assert_eq!(identity.attempt, node(StageName::New).attempt);
    assert_eq!(row.demand, Demand { nodes: 1, ..Demand::default() });
    assert_eq!((tenure.operation, &tenure.controller), (OperationId::new(4), &owner()));
    assert_eq!((tenure.fence, tenure.begun), (Fence::new(3), Fence::new(3)));
    assert_eq!((tenure.handoffs, tenure.deleting_at), (0, None));
    assert_eq!((tenure.finalizers, &tenure.admission), (Finalizers::default(), &evidence(2)));
    for other in [looks_up(3), destroys()] {
        assert_eq!(Ownership::begun(&other, &owner()), None, "{:?}", other.action.kind());
    }
}

/// D11: the proof is of the whole identity and of the fence that began it, and stays what it is from hand to hand.
#[test]
fn a_proof_is_of_the_whole_identity() {
    let (row, begun) = (row(), Fence::new(3));
    let changed = |change: fn(&mut Ownership)| {
        let mut other = row.clone();
        change(&mut other);
        other.proof()
    };
    let proofs = [
        row.proof(),
        changed(|row| row.identity.slot = slot("web-1")),
        changed(|row| row.identity.attempt.uuid = Uuid::from_bytes([9; 16])),
        changed(|row| row.identity.attempt.ordinal = AttemptOrdinal::new(9)),
        changed(|row| row.identity.provider = "other".parse().expect("a name")),
        changed(|row| row.tenure.begun = Fence::new(4)),
    ];
    let distinct: std::collections::BTreeSet<_> = proofs.iter().collect();
    assert_eq!(distinct.len(), proofs.len(), "{proofs:?}");
    assert_eq!(row.proof(), row.identity.proof(begun));
    assert_eq!(row.clone().handed_to(&other(), Fence::new(8)).proof(), row.proof());
}

/// R140, R141: an effect of another slot, attempt or provider is refused, as is one under an older fence; each refusal
/// says which.
#[test]
fn an_effect_on_what_is_not_owned_is_refused() {
    let attempt = AttemptId { uuid: Uuid::from_bytes([9; 16]), ..creates().attempt };
    let identity = |part| OwnershipError::Identity { slot: slot("web-0"), part };
    let (found, present) = (Fence::new(2), Fence::new(3));
    let rows = [
        (
            Intent { slot: slot("web-1"), ..looks_up(3) },
            OwnershipError::Identity { slot: slot("web-1"), part: "slot" },
            "the identity of web-1 is not the one that is owned: its slot differs",
        ),
        (
            Intent { attempt, ..looks_up(3) },
            identity("attempt"),
            "the identity of web-0 is not the one that is owned: its attempt differs",
        ),
        (
            Intent { provider: "other".parse().expect("a name"), ..looks_up(3) },
            identity("provider"),
            "the identity of web-0 is not the one that is owned: its provider differs",
        ),
        (
            looks_up(2),
            OwnershipError::Fence { slot: slot("web-0"), found, present },
            "fence 2 is older than 3, under which web-0 is owned",
        ),
    ];
    for (intent, error, said) in rows {
        assert_eq!(row().intended(&intent, &owner()), Err(error.clone()), "{said}");
        assert_eq!(error.to_string(), said);
    }
}

/// R96: who acts is who answers from then on; the fence that began it stays, as does evidence that is not renewed.
#[test]
fn who_acts_answers_for_the_attempt() {
    let mut row = row();
    for (fence, given, kept) in [(3, 2, 2), (3, 0, 2), (5, 7, 7)] {
        let mut intent = Intent { operation: OperationId::new(6), ..looks_up(fence) };
        intent.admission = (given > 0).then(|| evidence(given)).flatten();
        row = row.intended(&intent, &other()).expect("it may");
        let tenure = &row.tenure;
        assert_eq!((tenure.operation, &tenure.controller), (OperationId::new(6), &other()));
        assert_eq!((tenure.fence, tenure.begun), (Fence::new(fence), Fence::new(3)));
        assert_eq!(tenure.admission, evidence(kept), "under fence {fence}");
    }
}

/// R148: of all states of a deletion only one lets the lease be given back; every other effect may go out in each.
#[test]
fn a_lease_is_given_back_once_nothing_depends_on_it() {
    use FinalizerState::{Active, Quarantined, Released, Releasing};
    let table = [
        (Active, Active, Some("active")),
        (Releasing, Releasing, Some("releasing")),
        (Released, Releasing, None),
        (Released, Released, Some("released")),
        (Quarantined, Quarantined, Some("quarantined")),
    ];
    for (dependents, absence, stands) in table {
        let mut row = row();
        row.tenure.finalizers = Finalizers::of_parts(dependents, absence).expect("a legal pair");
        row.clone().intended(&looks_up(3), &owner()).expect("no end of a lease");
        let said = row.intended(&destroys(), &owner()).map_err(|error| error.to_string()).err();
        let refused = |state: &str| {
            format!("the lease of web-0 cannot be given back: `dependent.resources` is {state}")
        };
        assert_eq!(said, stands.map(refused), "{dependents:?} {absence:?}");
    }
    let words = Finalizer::ALL.map(Finalizer::as_str);
    assert_eq!(words, ["dependent.resources", "runtime.absence"]);
    for state in FinalizerState::ALL {
        let written = serde_json::to_string(&state).expect("a word");
        assert_eq!(written, format!("\"{}\"", state.as_str()));
    }
}

/// R146, R147: a deletion is dated from its first intent; the row goes with the absence that was seen, and not before.
#[test]
fn a_row_goes_once_its_absence_was_seen() {
    let later = Deletion { reason: DeleteReason::Undesired, since: at(9) };
    let idle = with(going(StageName::EndpointKnown), |record| record.deletion = Some(later));
    let mut row = row();
    let dated = |row: &Ownership| row.tenure.deleting_at;
    for (record, date) in [
        (node(StageName::Dormant), None),
        (going(StageName::Dormant), Some(at(7))),
        (idle, Some(at(7))),
    ] {
        row = row.recorded(Some(&record)).expect("its record").expect("it stays");
        assert_eq!(dated(&row), date);
    }
    assert_eq!(row.clone().recorded(Some(&going(StageName::Destroyed))), Ok(None));
    let attempt = row.identity.attempt;
    let forgotten = OwnershipError::StillOwned { slot: slot("web-0"), attempt };
    let stranger = with(node(StageName::Dormant), |record| {
        record.attempt.uuid = Uuid::from_bytes([9; 16]);
    });
    for record in [None, Some(&stranger)] {
        assert_eq!(row.clone().recorded(record), Err(forgotten.clone()));
    }
    let said = "attempt 1 of web-0 would be forgotten, and its absence was not seen";
    assert_eq!(forgotten.to_string(), said);
    // Beside another attempt it is still its slot's.
    let second = Some(Box::new(Second::new(going(StageName::EndpointKnown))));
    let beside = with(stranger, |record| record.second = second);
    let stays = row.recorded(Some(&beside)).expect("its record").expect("it stays");
    assert!(stays.tenure.finalizers.allow_destroy());
}

/// R145: another controller answers from the handoff on, and the row says how often that happened.
#[test]
fn a_row_goes_from_hand_to_hand() {
    let handed = row().handed_to(&other(), Fence::new(5)).handed_to(&owner(), Fence::new(6));
    let tenure = &handed.tenure;
    assert_eq!((&tenure.controller, tenure.fence), (&owner(), Fence::new(6)));
    assert_eq!((tenure.begun, tenure.handoffs), (Fence::new(3), 2));
}

/// What an older journal's record owns has no row: it gets the one that its life so far would have led to.
#[test]
fn a_record_without_a_row_is_owned_as_it_stands() {
    let found = |record: &NodeRecord| Ownership::found(record, &owner(), Fence::new(5));
    let up = found(&node(StageName::Dormant)).expect("it has a lease");
    let expected = Ownership { tenure: up.tenure.clone(), ..row() };
    assert_eq!(up, expected);
    let (tenure, none) = (&up.tenure, OperationId::default());
    assert_eq!((tenure.operation, &tenure.controller), (none, &owner()));
    assert_eq!((tenure.fence, tenure.begun), (Fence::new(5), Fence::new(5)));
    assert_eq!((tenure.finalizers, tenure.deleting_at), (Finalizers::default(), None));
    let goes = found(&going(StageName::EndpointKnown)).expect("it has a lease");
    assert_eq!(goes.tenure.deleting_at, Some(at(7)));
    assert!(goes.tenure.finalizers.allow_destroy());
    for name in [StageName::New, StageName::Destroyed] {
        assert_eq!(found(&node(name)), None, "{name:?}");
    }
}

/// D6, R147: what a record says of its property, in every stage, up and on its way out.
#[test]
fn a_record_says_how_its_property_stands() {
    use StageName as S;
    let since = at(7);
    let (ending, idle) = (Standing::Ending { since }, Standing::Idle { since });
    let lost = NodeStage::EndpointKnown { lease: lease("l-1"), endpoint: Endpoint::default() };
    for name in S::ALL {
        let (up, down) = match name {
            S::New | S::Destroyed => (Standing::Absent, Standing::Absent),
            S::LeaseRequested | S::LeaseCreated | S::EndpointKnown => (Standing::Active, idle),
            S::BootstrapRunning | S::SwactorJoined | S::HandedOff | S::Dormant | S::Failed => {
                (Standing::Active, ending)
            }
        };
        for (record, stands) in [(node(name), up), (going(name), down)] {
            assert_eq!(standing(&record), stands, "{name:?}");
            assert_eq!(holds(&record), stands != Standing::Absent, "{name:?}");
        }
    }
    let (create, start) = (CommandKind::CreateLease, CommandKind::StartBootstrap);
    let asked = with(node(S::New), |r| r.pending = Some(pending(create, 1, at(9))));
    let doubted = with(going(S::New), |r| r.ambiguity = Some(ambiguity(create, at(9))));
    let starting = with(going(S::New), |r| {
        (r.stage, r.ambiguity) = (lost, Some(ambiguity(start, at(9))));
    });
    for (record, stands) in [(asked, Standing::Active), (doubted, idle), (starting, ending)] {
        assert_eq!(standing(&record), stands, "{:?}", record.stage);
    }
}

/// C16, C12: whose it is, is in doubt under two holds and no other, whatever else is known.
#[test]
fn two_holds_leave_a_property_in_doubt() {
    for code in HoldCode::ALL {
        let doubtful = matches!(code, HoldCode::NewerFence | HoldCode::DuplicateIdentity);
        for record in [node(StageName::Dormant), going(StageName::Destroyed)] {
            let seen = standing(&held(code, record));
            assert_eq!(seen == Standing::Doubtful, doubtful, "{}", code.as_str());
        }
    }
}

/// A record that a row need not follow is up, alone, and free.
#[test]
fn a_record_is_unremarkable_while_nothing_is_to_be_said_of_it() {
    let beside = Some(Box::new(Second::new(node(StageName::New))));
    let rows = [
        (node(StageName::Dormant), true),
        (node(StageName::LeaseRequested), true),
        (node(StageName::New), false),
        (going(StageName::Dormant), false),
        (held(HoldCode::CrashLoop, node(StageName::Dormant)), false),
        (with(node(StageName::Dormant), |record| record.second = beside), false),
    ];
    for (record, unremarkable) in rows {
        assert_eq!(is_unremarkable(&record), unremarkable, "{record:?}");
    }
}
