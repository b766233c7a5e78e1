//! The bootstrap session of the process provider: verify commands, failures to start, repeats.

use std::{fs, os::unix::fs::PermissionsExt, time::Duration};

use reconciler_core::{
    desired::BootSpec,
    effect::{Certainty, ExitStatus, FailureClass, WorkloadState},
    observed::{Handle, SessionStage},
};

use crate::ward::{BOUND, Ward, argv, is_alive, pid_of, script, stays, until, verifying};

/// Spec B 1.4: verify commands run first and in order, and each is reported.
#[tokio::test]
async fn verify_commands_run_before_the_workload() {
    let ward = Ward::new();
    let boot = BootSpec {
        command: argv(&["sh", "-c", "cat first second > said; sleep 120"]),
        ..verifying(&[
            (&["sh", "-c", "echo 1 > first"], 5_000),
            (&["sh", "-c", "test -f first && echo {index} > second"], 5_000),
        ])
    };
    let node = ward.node(2, boot);
    ward.up(&node).await;
    assert_eq!(ward.wrote(&node, "said").await, "1\n2\n");
    assert_eq!(
        ward.stages(),
        [
            SessionStage::Created,
            SessionStage::StdoutStreaming,
            SessionStage::BootChecking,
            SessionStage::BootChecking,
            SessionStage::SwactorStarting,
            SessionStage::WaitingForSwactorJoin,
        ]
    );
}

/// The output of a busy node is rotated although nobody lists or looks, to no more than the cap, also where it writes
/// meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_node_is_rotated_between_listings() {
    let ward = Ward::with_log_cap(4096);
    let node = ward.node(0, script("while :; do head -c 500 /dev/zero; sleep 0.005; done"));
    let (leased, workload) = ward.up(&node).await;
    let old = ward.dir(&node).join("stdout.log.1");
    let new = ward.dir(&node).join("stdout.log");
    for _ in 0..3 {
        until("it is rotated", || old.exists() && fs::metadata(&new).unwrap().len() <= 4096).await;
        assert!(fs::metadata(&old).unwrap().len() <= 4096);
        fs::remove_file(&old).unwrap();
    }
    ward.cancel(&node, &leased, &workload, Duration::ZERO).await.unwrap();
    ward.destroy(&node, &leased).await.unwrap();
}

/// A verify command that fails stops the session, and says how and with which last words.
#[tokio::test]
async fn a_failing_verify_command_stops_the_session() {
    let ward = Ward::new();
    let node = ward.node(0, verifying(&[(&["sh", "-c", "echo no disk; exit 4"], 5_000)]));
    let leased = ward.create(&node).await.unwrap();
    let failure = ward.start(&node, &leased, 1).await.unwrap_err();
    assert_eq!((failure.certainty, failure.class), (Certainty::Definite, FailureClass::Workload));
    assert_eq!(failure.message.as_str(), "verify command 1 of 1 exited with 4: no disk");
    assert_eq!(ward.stages().last(), Some(&SessionStage::BootCheckFailed));
    assert_eq!(ward.workload(&node).await, WorkloadState::Absent);
}

/// A verify command over its time is ended with all that it started.
#[tokio::test]
async fn a_verify_command_over_its_time_is_ended() {
    let ward = Ward::new();
    let hangs: &[&str] = &["sh", "-c", "sleep 120 & echo $! > member; wait"];
    let node = ward.node(0, verifying(&[(hangs, 300)]));
    let leased = ward.create(&node).await.unwrap();
    let failure = ward.start(&node, &leased, 1).await.unwrap_err();
    assert_eq!(failure.message.as_str(), "verify command 1 of 1 took too long");
    let member: i32 = ward.wrote(&node, "member").await.trim().parse().unwrap();
    until("its child is gone", || !is_alive(member)).await;
}

/// A cancel overtakes a session that is still verifying.
#[tokio::test]
async fn a_cancel_breaks_a_verifying_session_off() {
    let ward = Ward::new();
    let node = ward.node(0, verifying(&[(&["sh", "-c", "echo up > up; sleep 120"], 60_000)]));
    let leased = ward.create(&node).await.unwrap();
    let start = ward.start(&node, &leased, 1);
    let cancel = async {
        ward.wrote(&node, "up").await;
        assert_eq!(ward.workload(&node).await, WorkloadState::Unknown);
        ward.cancel(&node, &leased, &Handle::default(), BOUND).await
    };
    let (started, cancelled) = tokio::join!(start, cancel);
    cancelled.unwrap();
    assert_eq!(started.unwrap_err().class, FailureClass::Workload);
    assert_eq!(ward.stages().last(), Some(&SessionStage::Cancelled));
    assert_eq!(ward.workload(&node).await, WorkloadState::Absent);
}

/// A program that cannot run is told apart from one that fails, and leaves no trace of a start.
#[tokio::test]
async fn a_program_that_cannot_run_is_named() {
    let ward = Ward::new();
    let plain = ward.place.base_dir.join("plain");
    fs::write(&plain, "no program\n").unwrap();
    let odd = ward.place.base_dir.join("odd");
    fs::write(&odd, "#!/nowhere/sh\n").unwrap();
    fs::set_permissions(&odd, fs::Permissions::from_mode(0o755)).unwrap();
    let rows = [
        ("no-such-program-here", "was not found in PATH"),
        ("./missing", "was not found"),
        ("./plain", "is not an executable file"),
        ("./odd", "interpreter in its first line was not found"),
    ];
    for (index, (program, want)) in (0..).zip(rows) {
        let boot = BootSpec { command: argv(&[program]), ..BootSpec::default() };
        let node = ward.node(index, boot);
        let leased = ward.create(&node).await.unwrap();
        let failure = ward.start(&node, &leased, 1).await.unwrap_err();
        assert_eq!(failure.class, FailureClass::Workload);
        assert!(failure.message.as_str().contains(want), "{program}: {}", failure.message);
        assert_eq!(ward.stages().last(), Some(&SessionStage::StartFailed));
        assert_eq!(ward.workload(&node).await, WorkloadState::Absent, "{program}");
    }
}

/// D7: a repeat of a start whose workload ended gets that end; only a new session starts anew.
#[tokio::test]
async fn a_repeated_start_never_runs_twice() {
    let ward = Ward::new();
    let node = ward.node(0, script("echo ran >> runs; exit 0"));
    let (leased, first) = ward.up(&node).await;
    assert_eq!(ward.exited(&node).await.0, ExitStatus::Code(0));
    assert_eq!(ward.start(&node, &leased, 1).await.unwrap(), first);
    assert_eq!(fs::read_to_string(ward.dir(&node).join("runs")).unwrap(), "ran\n");
    let second = ward.start(&node, &leased, 2).await.unwrap();
    assert_ne!(second, first);
    assert_eq!(ward.exited(&node).await.0, ExitStatus::Code(0));
    assert_eq!(fs::read_to_string(ward.dir(&node).join("runs")).unwrap(), "ran\nran\n");
}

/// The session of a workload that is gone cannot be closed as if it had joined.
#[tokio::test]
async fn completing_needs_a_running_workload() {
    let ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, workload) = ward.up(&node).await;
    let kind = reconciler_core::effect::CommandKind::BootstrapConvergenceObserved;
    let ctx = ward.context(&node, kind, "");
    let complete = || {
        executor::seam::Provider::complete_bootstrap(
            &*ward.provider,
            &ctx,
            &leased.lease,
            &workload,
        )
    };
    complete().await.unwrap();
    assert!(is_alive(pid_of(&workload)));
    ward.cancel(&node, &leased, &workload, Duration::ZERO).await.unwrap();
    let failure = complete().await.unwrap_err();
    assert_eq!((failure.certainty, failure.class), (Certainty::Definite, FailureClass::Workload));
}
