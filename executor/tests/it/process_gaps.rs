//! What a driver's death, a tampered record or a removed directory may leave, and that none of it is believed.

use std::{
    fs,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    time::Duration,
};

use executor::seam::Provider;
use reconciler_core::{
    effect::{Certainty, ExitStatus, FailureClass, Listing, Look, WorkloadState},
    observed::Handle,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::ward::{BOUND, Node, Ward, is_alive, pid_of, start_of, stays, tamper, until, verifying};

/// SP10: the next driver finds the node, watches it and ends it.
#[tokio::test]
async fn a_node_is_adopted_after_a_restart() {
    let mut ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, workload) = ward.up(&node).await;
    ward.restart();
    assert_eq!(ward.workload(&node).await, WorkloadState::Running { workload: workload.clone() });
    assert_eq!(ward.create(&node).await.unwrap(), leased);
    assert_eq!(ward.start(&node, &leased, 1).await.unwrap(), workload);
    assert_eq!(ward.start(&node, &leased, 2).await.unwrap(), workload);
    let watch = tokio::spawn(ward.provider.watch(&leased.lease, &workload).unwrap());
    ward.cancel(&node, &leased, &workload, BOUND).await.unwrap();
    let exit = tokio::time::timeout(BOUND, watch).await.unwrap().unwrap();
    assert_eq!(exit.status, ExitStatus::Signal(15));
}

/// Starts `sleep` as nobody's child but init's, with the identity of `node` in its environment.
fn orphan(node: &Node) -> i32 {
    let out = Command::new("setsid")
        .args(["-f", "sh", "-c", "echo $$; exec sleep 120 > /dev/null 2>&1"])
        .env("LEVELHEAD_ATTEMPT", node.attempt.uuid.to_string())
        .stderr(Stdio::null())
        .process_group(0)
        .output()
        .unwrap();
    String::from_utf8(out.stdout).unwrap().trim().parse().unwrap()
}

/// A node whose driver died is no child of the next one: its end is noticed, its status nobody can know.
#[tokio::test]
async fn the_end_of_an_adopted_node_is_noticed_without_a_status() {
    let ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, first) = ward.up(&node).await;
    ward.cancel(&node, &leased, &first, Duration::ZERO).await.unwrap();
    let pid = orphan(&node);
    tamper(&ward.dir(&node).join("process.json"), |json| {
        json["process"]["pid"] = pid.into();
        json["process"]["start"] = start_of(pid).unwrap().into();
    });
    let WorkloadState::Running { workload } = ward.workload(&node).await else {
        panic!("the adopted node should run");
    };
    let watch = tokio::spawn(ward.provider.watch(&leased.lease, &workload).unwrap());
    ward.cancel(&node, &leased, &workload, BOUND).await.unwrap();
    let exit = tokio::time::timeout(BOUND, watch).await.unwrap().unwrap();
    assert_eq!(exit.status, ExitStatus::Unknown);
    assert!(!is_alive(pid));
}

/// A process that only has the recorded id is another process: never ours, never signalled.
#[tokio::test]
async fn a_reused_process_id_is_not_the_node() {
    let ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, workload) = ward.up(&node).await;
    ward.cancel(&node, &leased, &workload, Duration::ZERO).await.unwrap();
    let stranger = Stranger(orphan(&ward.node(1, stays())));
    let record = ward.dir(&node).join("process.json");
    let text = fs::read_to_string(&record).unwrap();
    // Another start, another boot, and last nothing but the environment that tells them apart.
    for (start_off, boot) in [(1, None), (0, Some("another")), (0, None)] {
        fs::write(&record, &text).unwrap();
        tamper(&record, |json| {
            json["process"]["pid"] = stranger.0.into();
            json["process"]["start"] = (start_of(stranger.0).unwrap() + start_off).into();
            if let Some(boot) = boot {
                json["process"]["boot"] = boot.into();
            }
        });
        let seen = ward.workload(&node).await;
        let gone = matches!(seen, WorkloadState::Exited { status: ExitStatus::Unknown, .. });
        assert!(gone, "{seen:?}");
        ward.cancel(&node, &leased, &workload, Duration::ZERO).await.unwrap();
        assert!(is_alive(stranger.0));
    }
    ward.destroy(&node, &leased).await.unwrap();
    assert!(is_alive(stranger.0));
}

/// A record that was rewritten to somebody else's process hides no node: it is found by what it carries.
#[tokio::test]
async fn a_rewritten_record_leaves_no_node_behind() {
    let mut ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, workload) = ward.up(&node).await;
    let stranger = Stranger(orphan(&ward.node(1, stays())));
    tamper(&ward.dir(&node).join("process.json"), |json| {
        json["process"]["pid"] = stranger.0.into();
        json["process"]["start"] = start_of(stranger.0).unwrap().into();
    });
    ward.restart();
    ward.destroy(&node, &leased).await.unwrap();
    assert!(!is_alive(pid_of(&workload)));
    assert!(is_alive(stranger.0));
}

/// A process of the test that the provider must leave alone.
struct Stranger(i32);

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ended = Pid::from_raw(self.0).map(|pid| kill_process(pid, Signal::KILL));
    }
}

/// The driver died between spawn and record: the UUID in the environment closes the gap.
#[tokio::test]
async fn an_unrecorded_workload_is_found_and_adopted() {
    let mut ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, workload) = ward.up(&node).await;
    let dir = ward.dir(&node);
    fs::rename(dir.join("process.json"), dir.join("starting")).unwrap();
    fs::write(dir.join("starting"), "").unwrap();
    ward.restart();
    let WorkloadState::Running { workload: found } = ward.workload(&node).await else {
        panic!("the unrecorded workload should be found");
    };
    assert_eq!(found.get("pid"), workload.get("pid"));
    assert_eq!(ward.start(&node, &leased, 1).await.unwrap(), workload);
    assert!(!dir.join("starting").exists());
    ward.destroy(&node, &leased).await.unwrap();
    assert!(!is_alive(pid_of(&workload)));
}

/// The record of a workload was lost: it is found by its mark, not made a second time, and ends with its lease (C2).
#[tokio::test]
async fn a_workload_without_its_record_is_found_and_ended() {
    let mut ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, workload) = ward.up(&node).await;
    fs::remove_file(ward.dir(&node).join("process.json")).unwrap();
    ward.restart();
    let WorkloadState::Running { workload: found } = ward.workload(&node).await else {
        panic!("the workload should be found");
    };
    assert_eq!(found.get("pid"), workload.get("pid"));
    ward.destroy(&node, &leased).await.unwrap();
    assert!(!is_alive(pid_of(&workload)));
}

/// Another state directory with the same run, and so the same UUIDs, is not this one's business (R150).
#[tokio::test]
async fn a_workload_of_another_place_is_neither_found_nor_ended() {
    let here = Ward::new();
    let mut there = Ward::new();
    there.run = here.run;
    let node = here.node(0, stays());
    let (_, workload) = there.up(&node).await;
    let leased = here.create(&node).await.unwrap();
    fs::write(here.dir(&node).join("starting"), "").unwrap();
    assert_eq!(here.workload(&node).await, WorkloadState::Absent);
    here.destroy(&node, &leased).await.unwrap();
    assert!(is_alive(pid_of(&workload)));
}

/// What was found in the gap is complete as it is: a session that is closed on it ends well (P2).
#[tokio::test]
async fn the_session_of_an_unrecorded_workload_can_be_closed() {
    let mut ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, workload) = ward.up(&node).await;
    let dir = ward.dir(&node);
    fs::rename(dir.join("process.json"), dir.join("starting")).unwrap();
    fs::write(dir.join("starting"), "").unwrap();
    ward.restart();
    ward.complete(&node, &leased, &workload).await.unwrap();
    ward.destroy(&node, &leased).await.unwrap();
    assert!(!is_alive(pid_of(&workload)));
    let failure = ward.complete(&node, &leased, &workload).await;
    assert!(failure.is_ok(), "of something absent: {failure:?}");
}

/// The driver died while it verified: what it ran is cleared away, and the session starts anew.
#[tokio::test]
async fn a_start_that_never_came_to_its_workload_is_done_again() {
    let ward = Ward::new();
    let node = ward.node(0, verifying(&[(&["true"], 5_000)]));
    let leased = ward.create(&node).await.unwrap();
    fs::write(ward.dir(&node).join("starting"), "").unwrap();
    assert_eq!(ward.workload(&node).await, WorkloadState::Absent);
    let workload = ward.start(&node, &leased, 1).await.unwrap();
    assert!(is_alive(pid_of(&workload)));
}

/// The workload was spawned, not recorded, and ended unseen: nobody claims to know, and nothing runs twice.
#[tokio::test]
async fn an_end_that_nobody_saw_is_unknown_and_not_repeated() {
    let ward = Ward::new();
    let node = ward.node(0, stays());
    let leased = ward.create(&node).await.unwrap();
    fs::write(ward.dir(&node).join("starting"), "").unwrap();
    fs::write(ward.dir(&node).join("stdout.log"), "half\n").unwrap();
    let (status, tail) = ward.exited(&node).await;
    assert_eq!((status, tail.as_str()), (ExitStatus::Unknown, "half"));
    let failure = ward.start(&node, &leased, 1).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::Workload);
    ward.destroy(&node, &leased).await.unwrap();
}

/// P1: a directory that somebody removed is no proof that its node is gone; destroying ends the node.
#[tokio::test]
async fn a_removed_directory_does_not_hide_a_running_node() {
    let mut ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, workload) = ward.up(&node).await;
    fs::remove_dir_all(ward.dir(&node)).unwrap();
    ward.restart();
    assert!(matches!(ward.look(&node, Some(&leased)).await, Look::Unknown { .. }));
    ward.destroy(&node, &leased).await.unwrap();
    assert_eq!(ward.look(&node, Some(&leased)).await, Look::Absent);
    assert!(!is_alive(pid_of(&workload)));
}

/// C1: a place that vanished while it was in use is unknown, not empty.
#[tokio::test]
async fn a_vanished_place_is_unknown() {
    let ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, workload) = ward.up(&node).await;
    fs::remove_dir_all(&ward.place.state_dir).unwrap();
    assert!(matches!(ward.provider.list_owned(ward.run).await, Listing::Unknown(_)));
    ward.cancel(&node, &leased, &workload, Duration::ZERO).await.unwrap();
    assert!(!is_alive(pid_of(&workload)));
}

/// A destroy or create that was broken off is finished by the next listing.
#[tokio::test]
async fn rests_of_broken_off_effects_are_cleared() {
    let mut ward = Ward::new();
    let node = ward.node(0, stays());
    ward.create(&node).await.unwrap();
    let place = ward.place.state_dir.clone();
    let (gone, half) = (place.join(".gone.web-9.1"), place.join(".new.web-8.1.5"));
    fs::create_dir_all(gone.join("work")).unwrap();
    fs::create_dir_all(half.join("work")).unwrap();
    ward.provider.list_owned(ward.run).await;
    until("the given back lease is removed", || !gone.exists()).await;
    assert!(half.exists(), "a create of this fence may be under way");
    ward.restart();
    ward.provider.list_owned(ward.run).await;
    assert!(half.exists(), "nobody is in charge under a newer fence yet");
    let leased = ward.create(&node).await.unwrap();
    until("the first effect of the next driver clears it", || !half.exists()).await;
    fs::create_dir_all(half.join("work")).unwrap();
    ward.provider.list_owned(ward.run).await;
    until("so does each of its listings", || !half.exists()).await;
    ward.cancel(&node, &leased, &Handle::default(), Duration::ZERO).await.unwrap();
}

/// C17, P6: a lease whose owner file is garbled can be neither ended nor given back, and says so with the file.
#[tokio::test]
async fn a_garbled_owner_is_told_with_its_file() {
    let ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, workload) = ward.up(&node).await;
    let owner = ward.dir(&node).join("owner.json");
    let text = fs::read(&owner).unwrap();
    fs::write(&owner, "{").unwrap();
    let path = owner.display().to_string();
    for failure in [
        ward.cancel(&node, &leased, &workload, BOUND).await.unwrap_err(),
        ward.destroy(&node, &leased).await.unwrap_err(),
    ] {
        assert_eq!(
            (failure.class, failure.certainty),
            (FailureClass::Invalid, Certainty::Definite)
        );
        assert!(failure.message.as_str().contains(&path), "{failure:?}");
    }
    assert!(is_alive(pid_of(&workload)), "whose it is cannot be proven, so it is left alone");
    fs::write(&owner, text).unwrap();
    ward.cancel(&node, &leased, &workload, Duration::ZERO).await.unwrap();
}
