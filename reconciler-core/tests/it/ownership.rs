//! The rules of ownership, row by row: leases and their ends, finalizers in their order, capacity and who holds it.

use reconciler_core::{
    desired::DesiredNodeShape,
    id::{Fence, GroupId, ProviderName},
    ownership::{
        Capacity, ControllerId, Demand, Finalizer, FinalizerState, Finalizers, HolderLife,
        LeaseLength, Ledger, OperationLease, Resource, Standing,
    },
    time::Timestamp,
};

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn lease(begun: u64) -> OperationLease {
    let owner = ControllerId::of_process(1, "here");
    OperationLease::begun(owner, Fence::new(1), LeaseLength::default(), at(begun))
}

/// R143: 1 to 900 s, and nothing else.
#[test]
fn a_lease_has_a_length_from_1_to_900_seconds() {
    for (secs, legal) in [(0, false), (1, true), (900, true), (901, false), (u64::MAX, false)] {
        assert_eq!(LeaseLength::from_secs(secs).is_some(), legal, "{secs}");
    }
    assert_eq!(LeaseLength::default(), LeaseLength::from_secs(900).unwrap());
}

/// R143, D12: not takeable to its last millisecond, whatever the clock does; at once where its holder has ended.
#[test]
fn a_lease_is_its_owners_until_it_is_over() {
    let lease = lease(1_000);
    let table = [(1_000, false), (1_900, false), (1_901, true)];
    for (now, free) in table {
        assert_eq!(lease.may_be_taken(HolderLife::Unknown, at(now)).is_ok(), free, "{now}");
        assert!(lease.may_be_taken(HolderLife::Gone, at(now)).is_ok(), "{now}");
    }
    // A clock that went back by a day lengthens nothing beyond one lease.
    let held = lease.may_be_taken(HolderLife::Unknown, at(1)).unwrap_err();
    assert_eq!((held.until, held.left.get()), (at(901), 900_000));
    assert_eq!(held.owner.as_str(), "1@here");
}

/// R143: a write renews once a tenth has passed, and always where the clock went back.
#[test]
fn a_lease_is_renewed_once_a_tenth_of_it_has_passed() {
    let lease = lease(1_000);
    let table = [
        (1_000, None),
        (1_089, None),
        (1_090, Some(1_990)),
        (1_950, Some(2_850)),
        (500, Some(1_400)),
    ];
    for (now, until) in table {
        assert_eq!(lease.renewed(at(now)).map(|lease| lease.until), until.map(at), "{now}");
    }
    assert!(lease.given_back(at(1_100)).is_over(at(1_100)));
    assert!(!lease.is_over(at(1_100)));
}

/// A host may be called anything; a controller's name can be typed as one word.
#[test]
fn a_controller_has_a_name_of_one_word() {
    let odd = ControllerId::of_process(7, "a host\u{1b}[31m$(x)");
    assert_eq!(odd.as_str(), "7@a-host--31m--x-");
    assert_eq!(odd.as_str().parse::<ControllerId>().unwrap(), odd);
    for bad in ["", "a b", "a;b", &"x".repeat(81)] {
        assert!(bad.parse::<ControllerId>().is_err(), "{bad}");
    }
}

/// R146 to R148: every standing on every state; nothing goes back, and the second is never released before the first.
#[test]
fn finalizers_move_forwards_only() {
    use FinalizerState::{Active, Quarantined, Released, Releasing};
    let since = at(1);
    let (ending, idle) = (Standing::Ending { since }, Standing::Idle { since });
    let table = [
        ((Active, Active), Standing::Active, (Active, Active)),
        ((Active, Active), ending, (Releasing, Releasing)),
        ((Active, Active), idle, (Released, Releasing)),
        ((Active, Active), Standing::Absent, (Released, Released)),
        ((Releasing, Releasing), Standing::Active, (Releasing, Releasing)),
        ((Releasing, Releasing), idle, (Released, Releasing)),
        ((Released, Releasing), Standing::Active, (Released, Releasing)),
        ((Released, Releasing), ending, (Releasing, Releasing)),
        ((Released, Releasing), Standing::Absent, (Released, Released)),
        ((Released, Released), Standing::Active, (Released, Released)),
        ((Released, Released), ending, (Released, Released)),
        ((Released, Released), idle, (Released, Released)),
        ((Active, Active), Standing::Doubtful, (Quarantined, Quarantined)),
        ((Quarantined, Quarantined), Standing::Active, (Active, Active)),
        ((Quarantined, Quarantined), idle, (Released, Releasing)),
    ];
    for ((dependents, absence), seen, expected) in table {
        let after = Finalizers::of_parts(dependents, absence).unwrap().after(seen);
        let found = Finalizer::ALL.map(|one| after.of(one));
        assert_eq!(found, [expected.0, expected.1], "{dependents:?} {absence:?} {seen:?}");
        let may = expected == (Released, Releasing);
        assert_eq!(after.allow_destroy(), may, "{dependents:?} {absence:?} {seen:?}");
    }
    // Of all pairs those are legal that some deletion passes through.
    let pairs = FinalizerState::ALL.into_iter();
    let pairs = pairs.flat_map(|one| FinalizerState::ALL.map(|other| (one, other)));
    assert_eq!(
        pairs.filter(|(one, other)| Finalizers::of_parts(*one, *other).is_some()).count(),
        5
    );
}

fn name(text: &str) -> ProviderName {
    text.parse().expect("a word of these tests")
}

fn group(text: &str) -> GroupId {
    text.parse().expect("a word of these tests")
}

fn node(cpu_millis: u32, memory_mib: u32, gpus: u32) -> Demand {
    Demand::of(&DesiredNodeShape {
        cpu_millis: Some(cpu_millis),
        memory_mib: Some(memory_mib),
        gpus: Some(gpus),
        ..DesiredNodeShape::default()
    })
}

/// R92: each resource bounds by itself; what is not declared is not there, but for nodes.
#[test]
fn each_resource_is_a_bound_of_its_own() {
    let full = Capacity {
        nodes: Some(2),
        cpu_millis: Some(1_500),
        memory_mib: Some(1_024),
        gpus: Some(1),
    };
    let table = [
        (full, node(1_500, 1_024, 1), None),
        (full, node(1_501, 0, 0), Some(Resource::Cpus)),
        (full, node(0, 1_025, 0), Some(Resource::Memory)),
        (full, node(0, 0, 2), Some(Resource::Gpus)),
        (full, node(0, 0, 0).times(3), Some(Resource::Nodes)),
        (Capacity::default(), node(0, 0, 0).times(1_000), None),
        (Capacity::default(), node(1, 0, 0), Some(Resource::Cpus)),
        (Capacity { gpus: None, ..full }, node(0, 0, 1), Some(Resource::Gpus)),
    ];
    for (capacity, asked, lacks) in table {
        assert_eq!(capacity.lacks(&Demand::default(), &asked), lacks, "{asked:?}");
    }
    // What is not asked for lacks nowhere, also where more of it is taken than is there.
    assert_eq!(full.lacks(&node(0, 2_048, 2), &node(1, 0, 0)), None);
    let most = Demand { nodes: u64::MAX, ..Demand::default() };
    assert_eq!(full.lacks(&most, &node(0, 0, 0)), Some(Resource::Nodes), "nothing wraps");
}

/// D16: a refusal says what is asked, what is free and who holds the rest; a refused one takes nothing.
#[test]
fn a_shortage_names_what_is_asked_and_who_holds_it() {
    let capacity = Capacity { nodes: Some(10), cpu_millis: Some(4_000), ..Capacity::default() };
    let mut ledger = Ledger::new([(name("box"), capacity)]);
    ledger.hold(&name("box"), &group("db"), node(1_500, 0, 0));
    ledger.hold(&name("box"), &group("web"), node(1_000, 0, 0).times(2));
    ledger.hold(&name("elsewhere"), &group("web"), node(9_000, 0, 0));
    let short = ledger.admit(&name("box"), &group("api"), node(1_000, 0, 0), at(1)).unwrap_err();
    assert_eq!(
        short.to_string(),
        "provider box has no capacity: 1 cpus asked for, 0.5 of 4 free; held by web (2), db (1.5)"
    );
    let first = ledger.admit(&name("box"), &group("api"), node(500, 0, 0), at(1)).unwrap().unwrap();
    assert_eq!((first.used.nodes, first.used.cpu_millis, first.until), (4, 4_000, at(301)));
    assert_eq!(ledger.admit(&name("free"), &group("api"), node(1, 1, 1), at(1)), Ok(None));
    // Other circumstances, another digest.
    let mut again = Ledger::new([(name("box"), capacity)]);
    let other = again.admit(&name("box"), &group("api"), node(500, 0, 0), at(1)).unwrap().unwrap();
    assert_ne!(first.digest, other.digest);
}

/// D16: four holders are named, the largest first and the rest by their number; who holds none of it is none.
#[test]
fn a_shortage_names_the_largest_holders() {
    let capacity = Capacity {
        nodes: Some(99),
        memory_mib: Some(1_024),
        gpus: Some(21),
        ..Capacity::default()
    };
    let mut ledger = Ledger::new([(name("box"), capacity)]);
    ledger.hold(&name("box"), &group("idle"), node(0, 0, 0));
    for (holder, gpus) in [("a", 3), ("b", 1), ("c", 5), ("d", 3), ("e", 2), ("f", 7)] {
        ledger.hold(&name("box"), &group(holder), node(0, 0, gpus));
    }
    let short = ledger.fits(&name("box"), node(0, 0, 1)).unwrap_err();
    assert!(short.holders.iter().all(|(group, _)| group.as_str() != "idle"), "{short:?}");
    assert_eq!(
        short.to_string(),
        "provider box has no capacity: 1 gpus asked for, 0 of 21 free; \
         held by f (7), c (5), a (3), d (3) and 2 more"
    );
    let short = ledger.fits(&name("box"), node(0, 2_048, 0)).unwrap_err();
    assert_eq!(
        short.to_string(),
        "provider box has no capacity: 2048 MiB memory asked for, 1024 MiB of 1024 MiB free"
    );
}

/// R92: a ledger speaks of what is declared; where nothing is, nothing need be counted.
#[test]
fn a_ledger_covers_what_is_declared() {
    let ledger = Ledger::new([(name("box"), Capacity::default())]);
    assert!(ledger.covers(&name("box")) && !ledger.covers(&name("elsewhere")));
    assert!(!ledger.is_empty() && Ledger::new([]).is_empty());
    ledger.fits(&name("elsewhere"), node(1, 1, 1)).unwrap();
}

/// What one node takes away and brings back again leaves what was there, and of nothing nothing is taken.
#[test]
fn demands_add_up_and_come_apart() {
    let (one, other) = (node(1_500, 512, 1), node(250, 64, 2));
    assert_eq!(one.and(other).less(other), one);
    assert_eq!(one.less(one.times(2)), Demand::default());
    assert_eq!(one.times(3), one.and(one).and(one));
}

/// Resources are declared under their names, and told in the units of people.
#[test]
fn resources_have_their_words() {
    let told = Resource::ALL.map(|resource| (resource.as_str(), resource.text(2_500)));
    let words = [("nodes", "2500"), ("cpus", "2.5"), ("memory", "2500 MiB"), ("gpus", "2500")];
    assert_eq!(told, words.map(|(word, text)| (word, text.to_owned())));
    let cpus = [0, 1, 10, 1_000, 10_000].map(|millis| Resource::Cpus.text(millis));
    assert_eq!(cpus, ["0", "0.001", "0.01", "1", "10"]);
}
