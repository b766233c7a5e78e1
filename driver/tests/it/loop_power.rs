//! Laws of power, gates and jobs in the loop: the same edits over the socket, through the death of a driver at any
//! effect, and across its successors (D14, R102).

use driver::{
    Begin,
    view::{Edit, RefusalKind, RunState},
};
use reconciler_core::{
    desired::{ClusterShape, GateCondition, GroupKind, Policy, Power, RunNodeGroupSpec},
    effect::CommandKind,
    id::{Generation, GroupId},
};

use crate::{
    stand::{Run, Stand, source, swift},
    world::Act,
};

const START: CommandKind = CommandKind::StartBootstrap;
/// Effects of two nodes that begin anew: cancel, start, complete.
const ANEW: usize = 2 * 3;

fn subjects(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn group(name: &str) -> GroupId {
    name.parse().unwrap()
}

/// The shape of `stand` with another policy for one of its groups.
fn treated(shape: &ClusterShape, name: &str, policy: &Policy) -> ClusterShape {
    let groups = shape.groups().map(|spec| {
        let policy = if spec.group.as_str() == name { policy } else { &*spec.policy };
        let mut spec = RunNodeGroupSpec::clone(spec);
        spec.policy = policy.clone().into();
        spec
    });
    ClusterShape::new(shape.run.clone(), shape.uuid, Generation::new(1), groups).unwrap()
}

fn file(shape: ClusterShape, digest: &str) -> Edit {
    Edit::File { shape: Box::new(shape), digest: digest.to_owned() }
}

/// Plans and applies over the socket.
fn over_the_socket(run: &Run, edit: &Edit) {
    let client = run.client();
    let plan = run.block(client.plan(edit.clone())).unwrap();
    run.block(client.apply(edit.clone(), plan.hash, source())).unwrap();
    run.until("as asked", |view| view.state == RunState::Converged);
}

/// Clarification 10: every verb goes over the socket, also a file with gates, kinds and power in it.
#[test]
fn every_verb_goes_over_the_socket() {
    let stand = Stand::new(4);
    let run = stand.drive(Begin::Driving);
    let after = [(group("db"), GateCondition::Ready)].into();
    let shape =
        treated(&stand.shape(&[("api", 2), ("db", 1)]), "api", &Policy { after, ..swift() });
    let off = shape.with_power([(group("api"), Power::default().switched_slot(1, true, 2))].into());
    over_the_socket(&run, &file(off, "first"));
    stand.world.with(|land| assert_eq!(land.running(), ["api-0", "db-0"]));

    let all = subjects(&["api"]);
    over_the_socket(&run, &Edit::Start { subjects: all.clone() });
    stand.world.with(|land| assert_eq!(land.running(), ["api-0", "api-1", "db-0"]));
    over_the_socket(&run, &Edit::Restart { subjects: subjects(&["api-0"]) });
    stand.world.with(|land| assert_eq!(land.of(START, "api-0").len(), 2));
    over_the_socket(&run, &Edit::Stop { subjects: all });
    stand
        .world
        .with(|land| assert_eq!((land.running(), land.leases.len()), (vec!["db-0".to_owned()], 3)));
    let refused = run.plan(&Edit::Remove { groups: vec![group("db")] }).unwrap_err();
    assert_eq!(refused.kind, RefusalKind::Invalid, "{refused:?}");
    assert_eq!(
        run.plan(&Edit::Run { groups: vec![group("db")] }).unwrap_err().kind,
        RefusalKind::Invalid
    );
    over_the_socket(&run, &Edit::Remove { groups: vec![group("api"), group("db")] });
    stand.world.with(|land| assert!(land.leases.is_empty()));
    run.stop();
    stand.world.lawful();
}

/// A driver that dies at any effect of a restart, before or after it happened, leaves it to the next one: everything
/// runs in the end, on what was there, and no slot has two leases or two effects at a time.
#[test]
fn death_at_any_effect_of_a_restart_is_followed_up() {
    for done in [false, true] {
        for nth in 1..=ANEW {
            let stand = Stand::new(2);
            let run = stand.up(&[("web", 2)]);
            stand.world.kill_at(nth, done);
            run.edit(&Edit::Restart { subjects: subjects(&["web"]) });
            stand.world.until("it dies", |land| land.dead);
            run.kill();
            stand.world.revive();

            let run = stand.drive(Begin::Driving);
            run.converged();
            stand.world.with(|land| {
                assert_eq!(land.running(), ["web-0", "web-1"], "at {nth}, {done}");
                for slot in ["web-0", "web-1"] {
                    let keys: Vec<_> = land.of(START, slot).iter().map(|call| call.key).collect();
                    assert!(keys.iter().any(|key| *key != keys[0]), "{slot} began anew: {keys:?}");
                }
            });
            run.stop();
            stand.world.lawful();
        }
    }
}

/// D14: what was stopped stays so under the next driver, through the death of the one that was asked.
#[test]
fn a_stop_outlives_its_driver() {
    for done in [false, true] {
        let stand = Stand::new(2);
        let run = stand.up(&[("web", 2)]);
        stand.world.kill_at(1, done);
        run.edit(&Edit::Stop { subjects: subjects(&["web"]) });
        stand.world.until("it dies", |land| land.dead);
        run.kill();
        stand.world.revive();
        let run = stand.drive(Begin::Driving);
        run.converged();
        stand.world.with(|land| {
            assert!(land.running().is_empty());
            assert_eq!((land.leases.len(), land.count(CommandKind::CreateLease)), (2, 2));
        });
        assert_eq!(run.view().groups[0].off, 2);
        run.stop();
        stand.world.lawful();
    }
}

/// A stop whose answer is lost is looked for and not charged to the node.
#[test]
fn a_stop_in_doubt_is_resolved_by_a_look() {
    for done in [false, true] {
        let stand = Stand::new(1);
        let run = stand.up(&[("web", 1)]);
        stand.world.script(CommandKind::CancelBootstrap, None, 1, Act::Doubt { done });
        run.edit(&Edit::Stop { subjects: subjects(&["web"]) });
        run.converged();
        stand.world.with(|land| assert!(land.running().is_empty() && land.leases.len() == 1));
        assert_eq!((run.node("web-0").failures, run.node("web-0").attempt), (0, 1));
        run.edit(&Edit::Start { subjects: subjects(&["web-0"]) });
        run.until("it runs", |view| view.ready == 1);
        run.stop();
        stand.world.lawful();
    }
}

/// R167: who waits for a job comes up at its good end, and not before; while the job runs nothing is called held.
#[test]
fn a_job_opens_the_gate_of_those_that_wait_for_it() {
    let stand = Stand::new(2);
    let after = [(group("setup"), GateCondition::Completed)].into();
    let shape = stand.shape(&[("setup", 1), ("web", 1)]);
    let shape = treated(&shape, "setup", &Policy { kind: GroupKind::Job, ..swift() });
    let shape = treated(&shape, "web", &Policy { after, ..swift() });
    let run = stand.drive(Begin::Driving);
    run.edit(&file(shape, "jobs"));
    run.until("the job is stable", |view| {
        view.due.is_none() && view.nodes.iter().any(|node| node.stage.as_str() == "dormant")
    });
    assert_eq!(run.view().state, RunState::Converging);
    assert_eq!(run.node("web-0").reason, "waits for setup (0 of 1 completed)");
    stand.world.exit("setup-0", 0);
    run.converged();
    assert!(run.node("setup-0").completed && run.node("web-0").ready);
    run.edit(&Edit::Run { groups: vec![group("setup")] });
    run.until("it runs again", |view| {
        view.nodes.iter().any(|node| node.attempt == 2 && node.ready && !node.completed)
    });
    stand.world.exit("setup-0", 3);
    run.until("it failed and is tried again", |view| {
        view.nodes.iter().any(|node| node.attempt == 3 && node.ready)
    });
    stand.world.exit("setup-0", 0);
    run.converged();
    run.stop();
    stand.world.lawful();
}
