//! What is decided and why, of one fleet in many circumstances, as text (R17, P7).
//!
//! The fleet is written as the fleet text; under it stand the lists of the plan and every reason.

use std::fmt::Write as _;

use reconciler_core::{
    desired::{
        Amount, ClusterShape, GateCondition, GroupKind, Policy, RunNodeGroupSpec, UpdatePolicy,
    },
    effect::CommandKind,
    hold::{Hold, HoldCode},
    observed::{Backoff, ClusterState, NodeRecord, Retry, StageName},
    reconcile::{Reason, reconcile},
    redact::Redacted,
    time::Timestamp,
};

use crate::fleet::{
    T0, ambiguity, at, gated, in_stage, lines, pending, powered, shape, shape_with, stage, state,
};

const NOW: u64 = 300;

/// A time as a distance from the one at which is decided.
fn shown(at_time: Timestamp) -> String {
    let (ahead, behind) = (at_time.since(at(NOW)).get(), at(NOW).since(at_time).get());
    if behind > 0 { format!("-{behind}") } else { format!("+{ahead}") }
}

fn why(reason: &Reason) -> String {
    let until = reason.until.map(|until| format!(" until {}", shown(until))).unwrap_or_default();
    format!("[{}]{until} {reason}", reason.rung.name())
}

/// Fleet, plan and reasons of one scene.
fn told(name: &str, state: &ClusterState, shape: &ClusterShape) -> String {
    let plan = reconcile(state, shape, at(NOW));
    let mut text = format!("== {name}\n");
    let mut line = |line: String| writeln!(text, "{line}").expect("a text takes everything");
    lines(state).into_iter().for_each(&mut line);
    plan.to_start.iter().for_each(|start| line(format!("> start {}", start.slot)));
    plan.to_destroy.iter().for_each(|slot| line(format!("> destroy {slot}")));
    for (beside, steps) in [("", &plan.per_node), (" beside", &plan.per_second)] {
        for (slot, step) in steps {
            line(format!("> step {slot}{beside} {}", step.kind().as_str()));
        }
    }
    plan.transitions.iter().for_each(|(slot, _)| line(format!("> change {slot}")));
    plan.looks.iter().for_each(|slot| line(format!("> look {slot}")));
    plan.parked.iter().for_each(|(slot, parking)| line(format!("> park {slot} {parking:?}")));
    plan.rollouts.iter().for_each(|(group, _)| line(format!("> update {group}")));
    plan.requeue_at.iter().for_each(|due| line(format!("> due {}", shown(*due))));
    plan.reasons.iter().for_each(|(slot, reason)| line(format!("{slot} {}", why(reason))));
    text
}

/// One node in each stage of a life.
fn life(shape: &ClusterShape) -> Vec<NodeRecord> {
    let all = StageName::ALL.into_iter().enumerate();
    let all = all.filter(|(_, name)| *name != StageName::LeaseRequested);
    all.map(|(n, name)| in_stage(shape, &format!("web-{n}"), stage(name))).collect()
}

/// What is open, due, held and waited for, each at one node.
fn open(shape: &ClusterShape) -> Vec<NodeRecord> {
    let start = CommandKind::StartBootstrap;
    let text = || Redacted::new("the image was refused");
    let axes: [&dyn Fn(&mut NodeRecord); 7] = [
        &|r| r.pending = Some(pending(CommandKind::CreateLease, 1, at(NOW + 1))),
        &|r| r.pending = Some(pending(start, 2, at(NOW))),
        &|r| r.ambiguity = Some(ambiguity(start, at(NOW + 50))),
        &|r| r.ambiguity = Some(ambiguity(start, at(NOW))),
        &|r| r.retry = Some(Retry { tries: 2, at: at(NOW + 700), message: text() }),
        &|r| r.hold = Some(Hold { code: HoldCode::Refused, text: text(), since: T0 }),
        &|r| r.backoff = Backoff { failures: 2, delays: 2, not_before: Some(at(NOW + 900)) },
    ];
    let stages = [
        StageName::LeaseRequested,
        StageName::EndpointKnown,
        StageName::EndpointKnown,
        StageName::EndpointKnown,
        StageName::EndpointKnown,
        StageName::New,
        StageName::New,
    ];
    let all = axes.iter().zip(stages).enumerate();
    all.map(|(n, (axis, name))| {
        let mut record = in_stage(shape, &format!("web-{n}"), stage(name));
        axis(&mut record);
        record
    })
    .collect()
}

/// Nodes that serve, of group `web`.
fn serving(shape: &ClusterShape, count: u32) -> Vec<NodeRecord> {
    (0..count).map(|n| in_stage(shape, &format!("web-{n}"), stage(StageName::Dormant))).collect()
}

fn updated(surge: u32) -> ClusterShape {
    let update = UpdatePolicy { max_surge: Amount::Nodes(surge), ..UpdatePolicy::default() };
    let old = shape_with(2, &[("web", 3, "v2")], &Policy::default());
    let groups = old.groups().map(|group| {
        let mut group = RunNodeGroupSpec::clone(group);
        std::sync::Arc::make_mut(&mut group.policy).update = update.clone();
        group
    });
    ClusterShape::new(old.run.clone(), old.uuid, old.generation, groups).expect("a shape")
}

/// R17, P7: starts, ends, steps, changes, looks, what is due next, and a reason for whoever is not steady.
#[test]
fn every_scene_is_decided_and_explained_as_written() {
    let (ten, three) = (shape(&[("web", 10)]), shape(&[("web", 3)]));
    let after = [("db", GateCondition::Ready)];
    let groups = [("db", 1, GroupKind::Service, &[][..]), ("web", 3, GroupKind::Service, &after)];
    let closed = gated(1, "v1", &groups).expect("a shape");
    let waits = |name: StageName| in_stage(&closed, "web-0", stage(name));
    let scenes = [
        told("nothing is there", &state([]), &three),
        told("one node in each stage", &state(life(&ten)), &ten),
        told("and none of them is wanted", &state(life(&ten)), &shape(&[("web", 0)])),
        told("something is open, held or not due", &state(open(&ten)), &shape(&[("web", 7)])),
        told("two are too many", &state(serving(&ten, 5)), &three),
        told("another revision, in place", &state(serving(&three, 3)), &updated(0)),
        told("another revision, beside", &state(serving(&three, 3)), &updated(1)),
        told(
            "switched off",
            &state(serving(&three, 2)),
            &powered(&three, "web", |p| p.switched(true)),
        ),
        told(
            "to begin anew",
            &state(serving(&three, 3)),
            &powered(&three, "web", reconciler_core::desired::Power::anew),
        ),
        told("the gate is closed", &state([waits(StageName::EndpointKnown)]), &closed),
    ];
    let text = scenes.join("\n");
    let golden = include_str!("decisions.golden");
    assert!(text == golden, "{text}");
}
