//! What people and engines do to containers behind our back: each is seen as what it is (C1 to C5, C12).

use std::time::Duration;

use bollard::query_parameters::{KillContainerOptions, RenameContainerOptions};
use executor::seam::{Exit, Leased};
use reconciler_core::{
    effect::{ExitStatus, Listing, Look, WorkloadState},
    observed::Handle,
};
use serde_json::json;

use super::{
    engine::{containers, remove, volumes},
    rig::{PATIENCE, Rig},
};

async fn up(rig: &Rig) -> (Leased, Handle) {
    let leased = rig.create().await.unwrap();
    let workload = rig.start(&leased, 1).await.unwrap();
    (leased, workload)
}

/// The end of the workload, which the provider must notice by itself.
async fn end(rig: &Rig, leased: &Leased, workload: &Handle) -> Exit {
    let watch = rig.provider.watch(&leased.lease, workload).expect("it can be watched");
    tokio::time::timeout(PATIENCE, watch).await.expect("the end is noticed")
}

/// C5: `docker kill` is an end by a signal, which the events of the engine tell at once.
#[tokio::test]
async fn a_killed_container_is_an_end_by_a_signal() {
    let Some(rig) = Rig::new("a_killed_container_is_an_end_by_a_signal", &[]).await else { return };
    let (leased, workload) = up(&rig).await;
    let watching = end(&rig, &leased, &workload);
    let killing = async {
        let options = KillContainerOptions { signal: "KILL".to_owned() };
        rig.docker.kill_container(leased.lease.id.as_str(), Some(options)).await.unwrap();
    };
    let (exit, ()) = tokio::join!(watching, killing);
    assert_eq!(exit.status, ExitStatus::Signal(9));
    let seen = rig.workload(&leased.lease).await;
    assert!(
        matches!(seen, WorkloadState::Exited { status: ExitStatus::Signal(9), .. }),
        "{seen:?}"
    );
    rig.clean().await;
}

/// C5, D6: `docker rm -f` ends the node, and a look by id proves that it is gone; giving it back succeeds.
#[tokio::test]
async fn a_removed_container_is_proven_absent() {
    let data = json!([{ "name": "data", "path": "/data" }]);
    let rig = Rig::new("a_removed_container_is_proven_absent", &[("volumes", data)]).await;
    let Some(rig) = rig else { return };
    let run = rig.run.to_string();
    let (leased, workload) = up(&rig).await;
    assert_eq!(volumes(&rig.docker, &run).await.len(), 1);
    remove(&rig.docker, leased.lease.id.as_str()).await;
    end(&rig, &leased, &workload).await;
    assert_eq!(rig.look(Some(&leased.lease)).await, Look::Absent);
    assert_eq!(rig.look(None).await, Look::Absent);
    // Its volume belongs to no node any more, and goes with the next listing.
    let listing = rig.provider.list_owned(rig.run).await;
    assert_eq!(listing, Listing::Complete(Vec::new()));
    assert!(volumes(&rig.docker, &run).await.is_empty());
    rig.cancel(&leased.lease).await.unwrap();
    rig.destroy(&leased.lease).await.unwrap();
    rig.clean().await;
}

/// C12: a name is no identity; a renamed container is the node that it was.
#[tokio::test]
async fn a_renamed_container_is_still_the_node() {
    let Some(rig) = Rig::new("a_renamed_container_is_still_the_node", &[]).await else { return };
    let (leased, workload) = up(&rig).await;
    let name = format!("by-hand-{}", rig.run);
    rig.docker
        .rename_container(leased.lease.id.as_str(), RenameContainerOptions { name })
        .await
        .unwrap();
    for known in [Some(&leased.lease), None] {
        let Look::Present { lease, workload: seen, .. } = rig.look(known).await else {
            panic!("a renamed container was not found");
        };
        assert_eq!(lease, leased.lease);
        assert_eq!(seen, WorkloadState::Running { workload: workload.clone() });
    }
    rig.destroy(&leased.lease).await.unwrap();
    assert!(containers(&rig.docker, &rig.run.to_string()).await.is_empty());
    rig.clean().await;
}

/// C5: what is paused has not ended, and can be ended all the same.
#[tokio::test]
async fn a_paused_container_runs_and_can_be_stopped() {
    let Some(rig) = Rig::new("a_paused_container_runs_and_can_be_stopped", &[]).await else {
        return;
    };
    let (leased, workload) = up(&rig).await;
    rig.docker.pause_container(leased.lease.id.as_str()).await.unwrap();
    let seen = rig.workload(&leased.lease).await;
    assert_eq!(seen, WorkloadState::Running { workload });
    rig.cancel(&leased.lease).await.unwrap();
    let seen = rig.workload(&leased.lease).await;
    assert!(matches!(seen, WorkloadState::Exited { .. }), "{seen:?}");
    rig.clean().await;
}

/// R59: what somebody else started anew is another workload, and how the first one ended was not seen.
#[tokio::test]
async fn a_container_that_was_restarted_by_hand_is_another_workload() {
    let test = "a_container_that_was_restarted_by_hand_is_another_workload";
    let Some(rig) = Rig::new(test, &[]).await else { return };
    let (leased, workload) = up(&rig).await;
    let restart = bollard::query_parameters::RestartContainerOptions { signal: None, t: Some(0) };
    rig.docker.restart_container(leased.lease.id.as_str(), Some(restart)).await.unwrap();
    let exit = end(&rig, &leased, &workload).await;
    assert_eq!(exit.status, ExitStatus::Unknown);
    let seen = rig.workload(&leased.lease).await;
    let WorkloadState::Running { workload: other } = seen else { panic!("{seen:?}") };
    assert_ne!(other, workload);
    rig.clean().await;
}

/// D7: another driver that asks again for what was made and started adopts both, and a finished session is not run
/// again.
#[tokio::test]
async fn another_driver_adopts_what_its_predecessor_made() {
    let Some(mut rig) = Rig::new("another_driver_adopts_what_its_predecessor_made", &[]).await
    else {
        return;
    };
    rig.spec.boot.command = ["sh", "-c", "echo once; exit 3"].map(String::from).to_vec();
    let (leased, workload) = up(&rig).await;
    let exit = end(&rig, &leased, &workload).await;
    assert_eq!(exit.status, ExitStatus::Code(3));
    assert_eq!(exit.tail.as_str(), "once");
    rig.provider = rig.another(&[]);
    assert_eq!(rig.create().await.unwrap(), leased);
    assert_eq!(rig.start(&leased, 1).await.unwrap(), workload);
    assert_eq!(containers(&rig.docker, &rig.run.to_string()).await.len(), 1);
    let seen = tokio::time::timeout(Duration::from_secs(20), rig.workload(&leased.lease)).await;
    let WorkloadState::Exited { tail, .. } = seen.unwrap() else { panic!("it runs again") };
    assert_eq!(tail.as_str(), "once");
    rig.clean().await;
}
