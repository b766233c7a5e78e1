//! Operations from hand to hand: who may take one, when, and on what claim; nothing is changed by who may not
//! (R143 to R145, P5).

use reconciler_core::{
    id::{Fence, OperationId, PlanHash},
    ownership::{
        Claimed, ControllerId, HandoffRefusal, HandoffTarget, HolderLife, LeaseLength, Mismatch,
        OperationLease, hand_off, reclaim,
    },
    time::{Millis, Timestamp},
};

use crate::fleet::{at, group};

const OVER: Timestamp = at(900_001);

fn owner() -> ControllerId {
    ControllerId::of_process(1, "here")
}

fn taker() -> ControllerId {
    ControllerId::of_process(2, "there")
}

/// Under fence 3, from `at(0)` to `at(900_000)`, and once handed over before.
fn lease() -> OperationLease {
    let first = OperationLease::begun(owner(), Fence::new(3), LeaseLength::default(), at(0));
    OperationLease { handoffs: 1, ..first }
}

fn claim() -> Claimed {
    let (operation, plan) = (OperationId::new(7), PlanHash::of(b"a plan"));
    let OperationLease { fence, owner, until, .. } = lease();
    Claimed { operation, group: group("web"), plan, fence, owner, until }
}

fn reclaimed(
    asked: &Claimed,
    fence: u64,
    life: HolderLife,
    now: Timestamp,
) -> Result<OperationLease, HandoffRefusal> {
    reclaim((&claim(), &lease()), asked, (taker(), Fence::new(fence)), life, now)
}

fn handed(asked: &Claimed, fence: u64, now: Timestamp) -> Result<OperationLease, HandoffRefusal> {
    let length = LeaseLength::from_secs(60).expect("a length");
    hand_off((&claim(), &lease()), asked, (taker(), Fence::new(fence), length), now)
}

/// R145: a claim of which a single part moved is refused, by the name of that part; the first of several is named.
#[test]
fn a_claim_is_exactly_what_stands() {
    let claim = claim();
    let moved = [
        (
            Mismatch::Operation,
            "operation",
            Claimed { operation: OperationId::new(8), ..claim.clone() },
        ),
        (Mismatch::Group, "node group", Claimed { group: group("db"), ..claim.clone() }),
        (Mismatch::Plan, "plan", Claimed { plan: PlanHash::of(b"another"), ..claim.clone() }),
        (Mismatch::Fence, "fence", Claimed { fence: Fence::new(2), ..claim.clone() }),
        (Mismatch::Owner, "owner", Claimed { owner: taker(), ..claim.clone() }),
        (Mismatch::Until, "expiry", Claimed { until: at(900_001), ..claim.clone() }),
    ];
    for (part, word, asked) in &moved {
        let stale = Err(HandoffRefusal::Stale(*part));
        assert_eq!(reclaimed(asked, 4, HolderLife::Gone, OVER), stale, "{word}");
        assert_eq!(handed(asked, 4, OVER), stale, "{word}");
        let said = HandoffRefusal::Stale(*part).to_string();
        assert_eq!(said, format!("its {word} is not the one that was named"));
    }
    let both = Claimed { until: at(0), fence: Fence::new(2), ..claim };
    assert_eq!(handed(&both, 4, OVER), Err(HandoffRefusal::Stale(Mismatch::Fence)));
}

/// R143, R144: a reclaim waits for the expiry unless the holder is known to have ended; a handoff waits always.
#[test]
fn nobody_takes_a_lease_before_its_end() {
    let last = at(900_000);
    let table = [
        (reclaimed(&claim(), 4, HolderLife::Unknown, last), false),
        (reclaimed(&claim(), 4, HolderLife::Unknown, OVER), true),
        (reclaimed(&claim(), 4, HolderLife::Gone, at(0)), true),
        (handed(&claim(), 4, last), false),
        (handed(&claim(), 4, OVER), true),
    ];
    for (n, (taken, may)) in table.into_iter().enumerate() {
        let held = matches!(taken, Err(HandoffRefusal::Held(_)));
        assert_eq!((taken.is_ok(), held), (may, !may), "row {n}");
    }
    let refused = handed(&claim(), 4, at(899_000)).expect_err("it is held").to_string();
    assert_eq!(refused, "its lease is not over: 1@here holds it under fence 3, for 1000 ms more");
}

/// P5: the fence of the new hands rises above that of the old ones.
#[test]
fn an_operation_changes_hands_under_a_higher_fence() {
    for (given, may) in [(2, false), (3, false), (4, true), (9, true)] {
        let refused = HandoffRefusal::Fence { given: Fence::new(given), present: Fence::new(3) };
        for taken in
            [reclaimed(&claim(), given, HolderLife::Unknown, OVER), handed(&claim(), given, OVER)]
        {
            assert_eq!(taken.as_ref().map(|lease| lease.fence.get()).ok(), may.then_some(given));
            assert_eq!(taken.err(), (!may).then(|| refused.clone()), "{given}");
        }
    }
}

/// R145: in its new hands a lease begins now, in its full length, and counts how often it went over.
#[test]
fn a_lease_begins_anew_in_new_hands() {
    let table = [
        (reclaimed(&claim(), 4, HolderLife::Unknown, OVER), LeaseLength::default()),
        (handed(&claim(), 4, OVER), LeaseLength::from_secs(60).expect("a length")),
    ];
    for (taken, length) in table {
        let (owner, fence, until) = (taker(), Fence::new(4), OVER.after(length.get()));
        assert_eq!(taken, Ok(OperationLease { owner, fence, until, length, handoffs: 2 }));
    }
    assert_eq!(LeaseLength::default().get(), Millis::from_secs(900));
}

/// Targets and controllers are written in words that read back, and another word is none.
#[test]
fn hands_and_targets_have_their_words() {
    for (target, word) in [(HandoffTarget::Resume, "resume"), (HandoffTarget::Rollback, "rollback")]
    {
        assert_eq!((target.as_str(), target.to_string().as_str()), (word, word));
        assert_eq!(word.parse(), Ok(target));
        assert_eq!(serde_json::to_string(&target).expect("a word"), format!("\"{word}\""));
    }
    let wrong = "resumed".parse::<HandoffTarget>().expect_err("no target").to_string();
    assert_eq!(wrong, "`resumed` is not a valid target: it must be `resume` or `rollback`");
    let (longest, longer) = ("x".repeat(80), "x".repeat(81));
    for (name, legal) in
        [("", false), ("1@here", true), (longest.as_str(), true), (longer.as_str(), false)]
    {
        let read = name.parse::<ControllerId>();
        assert_eq!(read.map(|id| id.to_string()).ok(), legal.then(|| name.to_owned()), "{name}");
    }
}
