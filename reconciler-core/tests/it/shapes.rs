//! Shapes: expansion, refusals, generations, and what of a group makes its revision (R18 to R22, C13).

use std::collections::BTreeMap;

use reconciler_core::{
    desired::{ClusterShape, Policy, RunNodeGroupSpec, ShapeError},
    id::{Generation, Uuid},
    limits,
    observed::StageName,
    reconcile::{Standing, reconcile, standing},
    time::Millis,
};

use crate::fleet::{
    RUN, T0, group, in_stage, node_spec, powered, record, shape, shape_with, stage, state,
};
use crate::world::World;

fn made(groups: Vec<RunNodeGroupSpec>) -> Result<ClusterShape, ShapeError> {
    let name = "demo".parse().expect("a run name");
    ClusterShape::new(name, RUN, Generation::new(1), groups)
}

fn spec(name: &str, count: u32) -> RunNodeGroupSpec {
    RunNodeGroupSpec::new(group(name), count, node_spec("v1"), Policy::default())
}

/// R18, R34: slots in the order of groups and numbers, the same in every run.
#[test]
fn groups_expand_in_order() {
    let expanded = shape(&[("web", 11), ("db", 1)]).expand();
    let slots: Vec<_> = expanded.iter().map(|spec| spec.slot.to_string()).collect();
    let web = (0..11).map(|n| format!("web-{n}"));
    let want: Vec<_> = std::iter::once("db-0".to_owned()).chain(web).collect();
    assert_eq!(slots, want);
    assert_eq!(shape(&[("db", 1), ("web", 11)]).expand(), expanded);
}

/// R20: duplicates and counts beyond the bounds are refused.
#[test]
fn impossible_shapes_are_refused() {
    let twice = made(vec![spec("web", 1), spec("web", 2)]);
    assert_eq!(twice, Err(ShapeError::DuplicateGroup(group("web"))));
    let count = limits::GROUP_COUNT_MAX + 1;
    let huge = made(vec![spec("web", count)]);
    assert_eq!(huge, Err(ShapeError::CountTooLarge { group: group("web"), count }));
    let names = (0..=limits::GROUPS_MAX).map(|n| spec(&format!("g{n}"), 0)).collect();
    assert_eq!(made(names), Err(ShapeError::TooManyGroups(limits::GROUPS_MAX + 1)));
}

/// R20: a shape that came from elsewhere is checked as one that is made here.
#[test]
fn a_shape_from_elsewhere_is_checked() {
    let fine = shape(&[("web", 2)]);
    assert_eq!(fine.check(), Ok(()));
    let count = limits::GROUP_COUNT_MAX + 1;
    let text = serde_json::to_string(&fine).expect("a shape is written");
    let text = text.replace("\"count\":2", &format!("\"count\":{count}"));
    let read: ClusterShape = serde_json::from_str(&text).expect("it reads");
    assert_eq!(read.check(), Err(ShapeError::CountTooLarge { group: group("web"), count }));
}

/// R19, R21: other nodes in a group are another shape, the next generation.
#[test]
fn other_nodes_are_the_next_generation() {
    let old = shape(&[("db", 1), ("web", 2)]);
    let new = old.with_specs([(group("web"), std::sync::Arc::new(node_spec("v2")))]);
    assert_eq!(new.generation, old.generation.next());
    assert_eq!(new.group(&group("web")).expect("it").revision, node_spec("v2").revision());
    assert_eq!(new.group(&group("db")), old.group(&group("db")));
}

/// R21, R22: generations only rise, content changes only with them, and a run stays the same run.
#[test]
fn generations_rise_with_content() {
    let second = shape_with(2, &[("web", 1, "v1")], &Policy::default());
    let changed = shape_with(2, &[("web", 2, "v1")], &Policy::default());
    assert_eq!(second.may_become(&second.clone()), Ok(()));
    assert_eq!(second.may_become(&changed.at_generation(Generation::new(3))), Ok(()));
    let silent = Err(ShapeError::SilentChange(Generation::new(2)));
    assert_eq!(second.may_become(&changed), silent);
    let back = second.at_generation(Generation::new(1));
    let regressed =
        ShapeError::GenerationRegressed { present: Generation::new(2), found: Generation::new(1) };
    assert_eq!(second.may_become(&back), Err(regressed));
    let mut foreign = second.clone();
    foreign.uuid = Uuid::from_bytes([8; 16]);
    let wrong = ShapeError::WrongRun { expected: RUN, found: foreign.uuid };
    assert_eq!(second.may_become(&foreign), Err(wrong));
}

/// R19: an edit makes another shape as the next generation and leaves the old one alone.
#[test]
fn an_edit_is_another_shape() {
    let before = shape(&[("db", 1), ("web", 1)]);
    let counts = BTreeMap::from([(group("web"), 4)]);
    let after = before.with_counts(&counts).expect("a shape");
    assert_eq!(before, shape(&[("db", 1), ("web", 1)]));
    assert_eq!(after.generation, Generation::new(2));
    let counted = |s: &ClusterShape| s.groups().map(|g| g.count).collect::<Vec<_>>();
    assert_eq!((counted(&after), counted(&after.emptied())), (vec![1, 4], vec![0, 0]));
}

/// C13: the revision follows what a node is, not how many there are or how they are treated.
#[test]
fn a_revision_follows_what_a_node_is() {
    let revision = |image, count, policy: &Policy| {
        let shape = shape_with(1, &[("web", count, image)], policy);
        shape.groups().next().expect("a group").revision
    };
    let plain = Policy::default();
    let patient = Policy { stable: Millis::from_secs(99), ..Policy::default() };
    assert_eq!(revision("v1", 1, &plain), revision("v1", 7, &patient));
    assert_ne!(revision("v1", 1, &plain), revision("v2", 1, &plain));
    let digest = revision("v1", 1, &plain).to_string();
    assert_eq!(digest, "0b64b65e07929b9bd74997f82942fdba01a2061016c639dd4c9734f4449fea77");
}

/// R51: a run has converged when every wanted node is ready and nothing else is there.
#[test]
fn a_run_converges_when_all_is_as_wanted() {
    let wanted = shape(&[("web", 2)]);
    let empty = Standing { want: 2, ..Standing::default() };
    assert_eq!(standing(&state([]), &wanted), empty);
    let mut world = World::new(wanted.clone(), T0);
    let _records = world.pass();
    assert!(!standing(&world.state, &wanted).converged, "pending is not converged");
    assert!(world.settle().is_some());
    let now = standing(&world.state, &wanted);
    assert_eq!((now.want, now.ready, now.converged), (2, 2, true));
    assert!(!standing(&world.state, &shape(&[("web", 1)])).converged, "one too many");
    assert!(!standing(&world.state, &shape(&[])).converged, "an undeclared group");
}

/// Groups that come to be known in any order stand in the order of their names, each with its own records.
#[test]
fn groups_stand_in_order_however_they_came() {
    let names: Vec<_> = (0..100).map(|n| format!("g{n:03}")).collect();
    let groups: Vec<_> = names.iter().map(|name| (name.as_str(), 1)).collect();
    let shape = shape(&groups);
    for stride in [1, 37, 99] {
        let mixed = (0..100).map(|n| &names[n * stride % 100]);
        let fleet = state(mixed.map(|name| record(&shape, &format!("{name}-0"))));
        let known: Vec<_> = fleet.groups().map(|(name, _)| name.to_string()).collect();
        assert_eq!(known, names, "by {stride}");
        for (name, group) in fleet.groups() {
            let slot = group.record(0).map(|record| record.slot.clone());
            assert_eq!(slot.map(|slot| slot.group), Some(name.clone()));
            assert_eq!(fleet.group(name).map(|group| group.len()), Some(1));
        }
    }
}

/// R23, R24, R90, SR6: a whole fleet is passed over only where every word of its group is as it was: one node more or
/// less, another policy, another revision and another power each are noticed, and an equal policy is no other one.
#[test]
fn a_whole_fleet_is_passed_over_only_where_it_is_as_wanted() {
    let wanted = shape(&[("db", 1), ("web", 2)]);
    let slots = ["db-0", "web-0", "web-1"];
    let fleet = state(slots.map(|slot| in_stage(&wanted, slot, stage(StageName::Dormant))));
    let moves = |other: &ClusterShape| {
        let plan = reconcile(&fleet, other, T0);
        let mut slots: Vec<_> = plan.reasons.iter().map(|(slot, _)| slot.to_string()).collect();
        slots.dedup();
        slots
    };
    assert_eq!(moves(&wanted), [""; 0]);
    assert_eq!(moves(&shape(&[("db", 1), ("web", 2)])), [""; 0], "its policy is equal");
    assert_eq!(moves(&shape(&[("db", 1), ("web", 3)])), ["web-2"]);
    assert_eq!(moves(&shape(&[("db", 1), ("web", 1)])), ["web-1"]);
    assert_eq!(moves(&shape(&[("web", 2)])), ["db-0"]);
    let policy = Policy { settle: Millis::new(7), ..Policy::default() };
    let treated = RunNodeGroupSpec::new(group("web"), 2, node_spec("v1"), policy);
    assert_eq!(moves(&wanted.with_group(treated).unwrap()), ["web-0", "web-1"]);
    let renewed = RunNodeGroupSpec::new(group("db"), 1, node_spec("v2"), Policy::default());
    assert_eq!(moves(&wanted.with_group(renewed).unwrap()), ["db-0"]);
    assert_eq!(moves(&powered(&wanted, "db", |power| power.switched(true))), ["db-0"]);
    // What is wanted is what its text says, also where it was read back.
    let text = serde_json::to_string(&wanted).unwrap();
    let read: ClusterShape = serde_json::from_str(&text).unwrap();
    assert_eq!((&read, moves(&read).len()), (&wanted, 0));
}
