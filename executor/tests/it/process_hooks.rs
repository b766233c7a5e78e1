//! Hooks of process nodes: where they run, how they end, and what is known of them after their driver died.

use std::{fs, time::Duration};

use executor::{
    provider::process::ProcessProvider,
    seam::{EffectContext, Leased, Provider},
};
use reconciler_core::{
    desired::{BootSpec, Hook, HookPoint},
    effect::{
        ActionKind, Certainty, EffectFailure, ExitStatus, FailureClass, HookRun, HookSight,
        HookState, Look, WorkloadState, idempotency_key,
    },
    id::SessionId,
    time::Millis,
};
use serde_json::json;

use crate::ward::{BOUND, Node, Ward, argv, env, is_alive, stays, tamper, until};

const POINT: HookPoint = HookPoint::PostStart;

fn context(ward: &Ward, node: &Node, detail: &str) -> EffectContext {
    let kind = ActionKind::Hook(POINT);
    let key = idempotency_key(node.attempt.uuid, kind, detail);
    EffectContext { key, ..ward.context(node, kind, "") }
}

/// Runs a shell script as a hook; the shell is the test's own choice of program.
async fn hook(
    ward: &Ward,
    node: &Node,
    leased: &Leased,
    script: &str,
    ms: u64,
) -> Result<(), EffectFailure> {
    let hook = Hook { argv: argv(&["sh", "-c", script]), timeout: Millis::new(ms) };
    let run = HookRun {
        point: POINT,
        session: SessionId::new(1),
        hook,
        request: node.request.clone(),
        lease: leased.lease.clone(),
        endpoint: leased.endpoint.clone().unwrap(),
    };
    ward.provider.run_hook(&context(ward, node, ""), &run).await
}

async fn sight(ward: &Ward, node: &Node) -> HookSight {
    match ward.look(node, None).await {
        Look::Present { hook, .. } => hook,
        look @ (Look::Absent | Look::Unknown { .. }) => panic!("the lease is gone: {look:?}"),
    }
}

fn state(sight: HookSight) -> HookState {
    let HookSight::Begun { state, .. } = sight else { panic!("one was begun: {sight:?}") };
    state
}

/// A hook gets the environment of its node and its ports filled in, and writes into a file of its own.
#[tokio::test]
async fn a_hook_runs_as_its_node_would() {
    let ward = Ward::new();
    let boot = BootSpec {
        env: env(&[("GREETING", "hello {slot}")]),
        ports: vec!["http".to_owned()],
        ..stays()
    };
    let node = ward.node(0, boot);
    let (leased, _workload) = ward.up(&node).await;
    let says = "echo $GREETING $LEVELHEAD_HOOK {port:http} $PORT $LEVELHEAD_ORDINAL; pwd >&2";
    hook(&ward, &node, &leased, says, 5_000).await.unwrap();
    let port = leased.endpoint.as_ref().unwrap().ports["http"];
    let dir = ward.dir(&node);
    let said = ward.wrote(&node, "hook-post-start.log").await;
    let want = format!("hello web-0 post-start {port} {port} 1\n{}\n", dir.display());
    assert_eq!(said, want);
    let logs = ProcessProvider::log_paths(&ward.place.state_dir, &node.slot);
    assert!(logs.contains(&dir.join("hook-post-start.log")), "{logs:?}");
    ward.destroy(&node, &leased).await.unwrap();
}

/// A hook that fails says how and with which last words; the workload goes on.
#[tokio::test]
async fn a_failed_hook_says_how() {
    let ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, workload) = ward.up(&node).await;
    let failure = hook(&ward, &node, &leased, "echo no route; exit 4", 5_000).await.unwrap_err();
    assert_eq!((failure.certainty, failure.class), (Certainty::Definite, FailureClass::Workload));
    assert_eq!(failure.message.as_str(), "the post-start hook exited with 4: no route");
    assert_eq!(ward.workload(&node).await, WorkloadState::Running { workload });
    let tail = "no route".into();
    let ended = HookState::Ended { status: ExitStatus::Code(4), tail };
    assert_eq!(state(sight(&ward, &node).await), ended);
    // Asked for again, it runs again: nothing of it has completed.
    hook(&ward, &node, &leased, "true", 5_000).await.unwrap();
    ward.destroy(&node, &leased).await.unwrap();
}

/// A program that is not there has run nothing, and a look says so.
#[tokio::test]
async fn a_hook_that_cannot_start_was_not_begun() {
    let ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, _workload) = ward.up(&node).await;
    fs::write(ward.dir(&node).join("tool"), "no program at all").unwrap();
    let hook = Hook { argv: argv(&["./missing"]), timeout: Millis::new(5_000) };
    let run = HookRun {
        point: POINT,
        session: SessionId::new(1),
        hook,
        request: node.request.clone(),
        lease: leased.lease.clone(),
        endpoint: leased.endpoint.clone().unwrap(),
    };
    let failure = ward.provider.run_hook(&context(&ward, &node, ""), &run).await.unwrap_err();
    assert_eq!(failure.certainty, Certainty::Definite);
    assert!(failure.message.as_str().contains("was not found"), "{}", failure.message);
    assert_eq!(sight(&ward, &node).await, HookSight::Nothing);
    ward.destroy(&node, &leased).await.unwrap();
}

/// A hook over its time is ended with all that it started, and has failed.
#[tokio::test]
async fn a_hook_over_its_time_is_ended() {
    let ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, _workload) = ward.up(&node).await;
    let hangs = "sleep 120 & echo $! > member; wait";
    let failure = hook(&ward, &node, &leased, hangs, 300).await.unwrap_err();
    assert_eq!(failure.message.as_str(), "the post-start hook took too long");
    let member: i32 = ward.wrote(&node, "member").await.trim().parse().unwrap();
    until("its child is gone", || !is_alive(member)).await;
    ward.destroy(&node, &leased).await.unwrap();
}

/// D7: a hook that completed never runs again under its key, whoever asks.
#[tokio::test]
async fn a_completed_hook_does_not_run_again() {
    let mut ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, _workload) = ward.up(&node).await;
    for _ in 0..2 {
        hook(&ward, &node, &leased, "echo ran >> count", 5_000).await.unwrap();
        assert_eq!(ward.wrote(&node, "count").await, "ran\n");
        ward.restart();
    }
    let ended = HookState::Ended { status: ExitStatus::Code(0), tail: "".into() };
    assert_eq!(state(sight(&ward, &node).await), ended);
    ward.destroy(&node, &leased).await.unwrap();
}

/// D7, P6: what a driver that died in between left behind, step by step of the record.
#[tokio::test]
async fn a_look_tells_how_far_a_hook_came() {
    let ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, _workload) = ward.up(&node).await;
    assert_eq!(sight(&ward, &node).await, HookSight::Nothing);
    hook(&ward, &node, &leased, "true", 5_000).await.unwrap();
    let record = ward.dir(&node).join("hook.json");
    let log = ward.dir(&node).join("hook-post-start.log");
    let unknown = HookState::Ended { status: ExitStatus::Unknown, tail: "".into() };
    // The process was recorded and its end was not: it is gone, and nobody saw how.
    tamper(&record, |json| json["status"] = json!(null));
    assert_eq!(state(sight(&ward, &node).await), unknown);
    let again = hook(&ward, &node, &leased, "echo twice > twice", 5_000).await.unwrap_err();
    assert_eq!(again.certainty, Certainty::Ambiguous, "it is not repeated blind");
    // It was spawned, as its output file says, and the record of the process was not written any more.
    tamper(&record, |json| json["process"] = json!(null));
    assert_eq!(state(sight(&ward, &node).await), unknown);
    // It was marked and not spawned: as if it had never been begun.
    fs::remove_file(&log).unwrap();
    assert_eq!(sight(&ward, &node).await, HookSight::Nothing);
    hook(&ward, &node, &leased, "echo once > once", 5_000).await.unwrap();
    assert_eq!(ward.wrote(&node, "once").await, "once\n");
    assert!(!ward.dir(&node).join("twice").exists());
    ward.destroy(&node, &leased).await.unwrap();
}

/// Another driver sees a hook that still runs, and ends it with its node.
#[tokio::test]
async fn a_hook_that_was_left_is_ended_with_its_node() {
    let ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, workload) = ward.up(&node).await;
    let mut next = Ward::new();
    (next.place, next.run, next.fence) = (ward.place.clone(), ward.run, ward.fence);
    next.restart();
    let waits = "echo $$ > up; sleep 120";
    let left = hook(&ward, &node, &leased, waits, 60_000);
    let ends = async {
        let pid: i32 = ward.wrote(&node, "up").await.trim().parse().unwrap();
        assert_eq!(state(sight(&next, &node).await), HookState::Running);
        next.cancel(&node, &leased, &workload, Duration::ZERO).await.unwrap();
        until("the hook is gone", || !is_alive(pid)).await;
    };
    let (failed, ()) = tokio::join!(left, ends);
    assert_eq!(failed.unwrap_err().class, FailureClass::Workload);
    next.destroy(&node, &leased).await.unwrap();
}

/// A cancel overtakes a hook that runs: the hook is ended, and has failed.
#[tokio::test]
async fn a_cancel_breaks_a_hook_off() {
    let ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, workload) = ward.up(&node).await;
    let run = hook(&ward, &node, &leased, "echo up > up; sleep 120", 60_000);
    let cancel = async {
        ward.wrote(&node, "up").await;
        ward.cancel(&node, &leased, &workload, BOUND).await
    };
    let (ran, cancelled) = tokio::join!(run, cancel);
    cancelled.unwrap();
    assert_eq!(ran.unwrap_err().message.as_str(), "the post-start hook was cancelled");
    assert_eq!(
        ward.workload(&node).await,
        WorkloadState::Exited { status: ExitStatus::Signal(15), tail: "".into() }
    );
    ward.destroy(&node, &leased).await.unwrap();
}
