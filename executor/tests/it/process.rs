//! The process provider: conformance, leases, ends of workloads, ownership.

use std::{fs, sync::Arc, time::Duration};

use executor::{
    conformance::{BatteryOptions, run},
    provider::process::{ProcessFactory, ProcessProvider},
    seam::{Provider, ProviderFactory},
};
use reconciler_core::{
    effect::{Certainty, ExitStatus, FailureClass, Listing, Look, WorkloadState},
    id::Fence,
    observed::Handle,
};
use rustix::process::{Pid, Signal, kill_process};

use crate::ward::{BOUND, Node, Ward, argv, is_alive, pid_of, script, stays, until};

fn sigkill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

/// R75: the battery passes, and leaves nothing.
#[tokio::test]
async fn the_battery_passes_for_processes() {
    let ward = Ward::new();
    let (provider, group) = ("process".parse().unwrap(), "trial".parse().unwrap());
    let mut options = BatteryOptions::new(provider, group, ward.run);
    options.bound = BOUND;
    let report = run(Arc::clone(&ward.provider) as Arc<dyn Provider>, options).await;
    assert!(report.passed(), "{report}");
    assert!(!report.to_string().contains("skipped"), "{report}");
    until("nothing but the fence is left", || {
        let entries = fs::read_dir(&ward.place.state_dir).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).eq(["fence"])
    })
    .await;
}

/// D6: a pidfd proves the end of a killed node, with its status, and a restart still knows it.
#[tokio::test]
async fn a_killed_node_is_noticed_and_its_status_is_kept() {
    let mut ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, workload) = ward.up(&node).await;
    let watch = ward.provider.watch(&leased.lease, &workload).unwrap();
    let watch = tokio::spawn(watch);
    sigkill(pid_of(&workload));
    let exit = tokio::time::timeout(BOUND, watch).await.unwrap().unwrap();
    assert_eq!(exit.status, ExitStatus::Signal(9));
    ward.restart();
    assert_eq!(ward.exited(&node).await.0, ExitStatus::Signal(9));
    let again = ward.provider.watch(&leased.lease, &workload).unwrap();
    assert_eq!(again.await.status, ExitStatus::Signal(9));
    ward.destroy(&node, &leased).await.unwrap();
}

/// Two who notice one end both get its status: it is recorded before the process is reaped.
#[tokio::test]
async fn everyone_who_notices_an_end_gets_its_status() {
    let ward = Ward::new();
    let node = ward.node(0, script("read line < go; exit 7"));
    let leased = ward.create(&node).await.unwrap();
    let fifo = ward.dir(&node).join("go");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let workload = ward.start(&node, &leased, 1).await.unwrap();
    let watches: Vec<_> = (0..8)
        .map(|_| tokio::spawn(ward.provider.watch(&leased.lease, &workload).unwrap()))
        .collect();
    tokio::task::spawn_blocking(move || fs::write(fifo, "go\n").unwrap()).await.unwrap();
    for watch in watches {
        assert_eq!(watch.await.unwrap().status, ExitStatus::Code(7));
    }
    assert_eq!(ward.exited(&node).await.0, ExitStatus::Code(7));
}

/// An end right after the start gives status and last lines, cleaned of secrets and of what moves a cursor.
#[tokio::test]
async fn an_exit_at_once_gives_status_and_cleaned_last_lines() {
    let ward = Ward::new();
    let text =
        r"printf 'ready\n'; printf 'api_token=hunter2 \033[31mred\a\nno such host\n' >&2; exit 3";
    let node = ward.node(0, script(text));
    ward.up(&node).await;
    let (status, tail) = ward.exited(&node).await;
    assert_eq!(status, ExitStatus::Code(3));
    assert_eq!(tail, "api_token=[redacted] [31mred no such host");
}

/// R150: a lease of somebody else at our place is neither adopted nor changed nor removed.
#[tokio::test]
async fn a_foreign_lease_is_never_touched() {
    let mut ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, workload) = ward.up(&node).await;
    let owner = fs::read(ward.dir(&node).join("owner.json")).unwrap();
    let run = std::mem::replace(&mut ward.run, reconciler_core::id::Uuid::from_bytes([9; 16]));
    let other = ward.node(0, stays());
    let failures = [
        ward.create(&other).await.unwrap_err(),
        ward.destroy(&other, &leased).await.unwrap_err(),
        ward.cancel(&other, &leased, &workload, Duration::ZERO).await.unwrap_err(),
        ward.start(&other, &leased, 1).await.unwrap_err(),
    ];
    for failure in failures {
        assert_eq!(
            (failure.certainty, failure.class),
            (Certainty::Definite, FailureClass::Invalid)
        );
    }
    assert!(matches!(ward.look(&other, None).await, Look::Unknown { .. }));
    assert_eq!(ward.provider.list_owned(ward.run).await, Listing::Complete(Vec::new()));
    assert_eq!(fs::read(ward.dir(&node).join("owner.json")).unwrap(), owner);
    assert!(is_alive(pid_of(&workload)));
    ward.run = run;
    ward.destroy(&node, &leased).await.unwrap();
}

/// C17: one garbled owner file hides no other lease, and keeps the listing from vouching for itself.
#[tokio::test]
async fn a_garbled_owner_file_makes_the_listing_partial() {
    let ward = Ward::new();
    let (good, bad) = (ward.node(0, stays()), ward.node(1, stays()));
    ward.create(&good).await.unwrap();
    ward.create(&bad).await.unwrap();
    fs::write(ward.dir(&bad).join("owner.json"), "{").unwrap();
    let Listing::Partial(listed, why) = ward.provider.list_owned(ward.run).await else {
        panic!("the listing should be partial");
    };
    assert_eq!(listed.iter().map(|lease| lease.attempt).collect::<Vec<_>>(), [good.attempt.uuid]);
    assert!(why.as_str().contains("web-1.1"), "{why}");
    assert!(matches!(ward.look(&bad, None).await, Look::Unknown { .. }));
}

/// D11, C16: the fence is shared by drivers that know nothing of each other.
#[tokio::test]
async fn a_newer_driver_shuts_an_older_one_out() {
    let mut ward = Ward::new();
    let node = ward.node(0, stays());
    let (leased, workload) = ward.up(&node).await;
    let older = (Arc::clone(&ward.provider), ward.fence);
    ward.restart();
    ward.create(&node).await.unwrap();
    let newer = (std::mem::replace(&mut ward.provider, older.0), ward.fence);
    ward.fence = older.1;
    for failure in [
        ward.cancel(&node, &leased, &workload, Duration::ZERO).await.unwrap_err(),
        ward.destroy(&node, &leased).await.unwrap_err(),
        ward.create(&ward.node(1, stays())).await.unwrap_err(),
        ward.start(&node, &leased, 2).await.unwrap_err(),
    ] {
        assert_eq!((failure.certainty, failure.class), (Certainty::Definite, FailureClass::Fenced));
    }
    assert!(is_alive(pid_of(&workload)));
    (ward.provider, ward.fence) = newer;
    ward.destroy(&node, &leased).await.unwrap();
    assert_eq!(fs::read_to_string(ward.place.state_dir.join("fence")).unwrap().parse(), Ok(6));
    assert_eq!(ward.fence, Fence::new(6));
}

/// A polite end is waited for, and one that ignores it is ended by force, with its whole group.
#[tokio::test]
async fn stopping_is_polite_first_and_reaches_the_whole_group() {
    let ward = Ward::new();
    let polite =
        script("trap 'echo bye > bye; exit 0' TERM; echo up > up; while :; do sleep 0.01; done");
    let polite = ward.node(0, polite);
    let (leased, workload) = ward.up(&polite).await;
    ward.wrote(&polite, "up").await;
    ward.cancel(&polite, &leased, &workload, BOUND).await.unwrap();
    assert_eq!(ward.wrote(&polite, "bye").await, "bye\n");
    assert_eq!(ward.exited(&polite).await.0, ExitStatus::Code(0));

    let deaf = "trap '' TERM; sleep 120 & echo $! > member; wait; sleep 120";
    let deaf = ward.node(1, script(deaf));
    let (leased, workload) = ward.up(&deaf).await;
    let member: i32 = ward.wrote(&deaf, "member").await.trim().parse().unwrap();
    ward.cancel(&deaf, &leased, &workload, Duration::from_millis(50)).await.unwrap();
    assert_eq!(ward.exited(&deaf).await.0, ExitStatus::Signal(9));
    until("the member of the group is gone", || !is_alive(member)).await;
}

/// What a leader left in its session is ended with the lease, although its leader is long gone.
#[tokio::test]
async fn members_that_outlive_their_leader_are_ended() {
    let ward = Ward::new();
    let node = ward.node(0, script("sleep 120 & echo $! > member; exit 0"));
    let (leased, _) = ward.up(&node).await;
    let member: i32 = ward.wrote(&node, "member").await.trim().parse().unwrap();
    assert_eq!(ward.exited(&node).await.0, ExitStatus::Code(0));
    assert!(is_alive(member));
    ward.destroy(&node, &leased).await.unwrap();
    until("the member is gone", || !is_alive(member)).await;
}

/// Ports are reserved while the lease stands and free afterwards; `owner.json` keeps them over a restart.
#[tokio::test]
async fn ports_are_reserved_and_filled_in() {
    let mut ward = Ward::new();
    let text =
        "echo {slot} {index} {group} {port} {port:admin} $LEVELHEAD_SLOT $LISTEN > said; sleep 120";
    let mut boot = script(text);
    boot.ports = argv(&["http", "admin"]);
    boot.env = crate::ward::env(&[("LISTEN", "127.0.0.1:{port:http}")]);
    let node = ward.node(3, boot.clone());
    let (leased, _) = ward.up(&node).await;
    let ports = leased.endpoint.clone().unwrap().ports;
    let (http, admin) = (ports["http"], ports["admin"]);
    assert_ne!(http, admin);
    let want = format!("web-3 3 web {http} {admin} web-3 127.0.0.1:{http}\n");
    assert_eq!(ward.wrote(&node, "said").await, want);
    ward.restart();
    assert_eq!(ward.create(&node).await.unwrap(), leased);

    boot.command = argv(&["sh", "-c", "echo {port:grpc}"]);
    let refused = ward.create(&ward.node(4, boot)).await.unwrap_err();
    assert_eq!((refused.certainty, refused.class), (Certainty::Definite, FailureClass::Invalid));
}

/// A spec that only says `{port}` gets one port, which the node also finds in `PORT`.
#[tokio::test]
async fn one_port_is_given_for_a_bare_placeholder() {
    let ward = Ward::new();
    let node = ward.node(0, script("echo {port} $PORT > said; sleep 120"));
    let (leased, _) = ward.up(&node).await;
    let port = leased.endpoint.unwrap().ports["main"];
    assert_eq!(ward.wrote(&node, "said").await, format!("{port} {port}\n"));
}

/// A node starts with a small clean environment, default signals, no descriptor but three, its own session.
#[tokio::test]
async fn a_node_inherits_little() {
    let ward = Ward::new();
    let text = "env > env; ls /proc/self/fd | wc -l > fds; cat /proc/self/status > status; \
                echo up > up; sleep 120";
    let node = ward.node(0, script(text));
    let (_, workload) = ward.up(&node).await;
    ward.wrote(&node, "up").await;
    let env = ward.wrote(&node, "env").await;
    assert!(!env.contains("CARGO"), "{env}");
    assert!(env.contains(&format!("LEVELHEAD_ATTEMPT={}", node.attempt.uuid)), "{env}");
    // Three, and the one by which `ls` reads the directory.
    assert_eq!(ward.wrote(&node, "fds").await.trim(), "4");
    let status = ward.wrote(&node, "status").await;
    let field = |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(field("SigBlk:").ends_with("0000000000000000"), "{status}");
    // The C library keeps two real-time signals for itself, and ignores them in what it spawns.
    let ignored = field("SigIgn:").split_whitespace().last().unwrap();
    assert_eq!(u64::from_str_radix(ignored, 16).unwrap() & 0x7fff_ffff, 0, "{status}");
    assert_eq!(field("NSsid:").split_whitespace().last().unwrap(), workload.get("pid").unwrap());
}

/// Output over the cap moves aside, and what is left is the newest.
#[tokio::test]
async fn output_is_rotated_by_size() {
    let ward = Ward::with_log_cap(4096);
    let text =
        "i=0; while [ $i -lt 1000 ]; do echo line $i; i=$((i+1)); done; echo up > up; sleep 120";
    let node = ward.node(0, script(text));
    ward.up(&node).await;
    ward.wrote(&node, "up").await;
    assert!(matches!(ward.workload(&node).await, WorkloadState::Running { .. }));
    let old = fs::read_to_string(ward.dir(&node).join("stdout.log.1")).unwrap();
    assert!(old.len() <= 4096 && old.ends_with("line 999\n"), "{} bytes", old.len());
    assert_eq!(fs::metadata(ward.dir(&node).join("stdout.log")).unwrap().len(), 0);
    let paths = ProcessProvider::log_paths(&ward.place.state_dir, &node.slot);
    let names: Vec<_> = paths.iter().map(|path| path.file_name().unwrap()).collect();
    assert_eq!(names, ["stdout.log.1", "stdout.log", "stderr.log"]);
}

/// The output of the last attempt that failed outlives its lease, until the slot has a node again or is gone.
#[tokio::test]
async fn the_last_output_of_a_failed_attempt_is_kept() {
    let ward = Ward::with_log_cap(4096);
    let kept = |node: &Node| {
        let paths = ProcessProvider::log_paths(&ward.place.state_dir, &node.slot);
        let text: String = paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        (paths, text)
    };
    let failing = |text: &str| script(&format!("head -c 9000 /dev/zero; echo {text} >&2; exit 3"));
    for (place, text) in ["first", "second"].into_iter().enumerate() {
        let node = ward.attempt(0, u64::try_from(place).unwrap() + 1, failing(text));
        let leased = ward.create(&node).await.unwrap();
        ward.start(&node, &leased, 1).await.unwrap();
        ward.exited(&node).await;
        ward.destroy(&node, &leased).await.unwrap();
        let (paths, told) = kept(&node);
        assert!(told.contains(text) && told.matches('\n').count() == 1, "one attempt: {told}");
        let attempt = format!("{}.{}", node.slot, node.attempt.ordinal);
        assert!(paths.iter().all(|path| path.parent().unwrap().ends_with(&attempt)), "{paths:?}");
        let sizes = paths.iter().map(|path| fs::metadata(path).unwrap().len());
        assert!(sizes.max().unwrap() <= 4096, "as large as rotation leaves it");
        assert_eq!(ward.provider.list_owned(ward.run).await, Listing::Complete(Vec::new()));
    }
    let node = ward.attempt(0, 3, stays());
    // R140: a driver that was overtaken removes nothing, however late it asks; a newer one may.
    ward.provider.forget(&node.slot, Fence::new(ward.fence.get() - 1));
    assert!(kept(&node).1.contains("second"), "a stale fence leaves what is kept");
    let (leased, workload) = ward.up(&node).await;
    assert!(kept(&node).1.contains("second"), "it stays until the next one joined");
    ward.complete(&node, &leased, &workload).await.unwrap();
    assert!(!kept(&node).1.contains("second"));
    ward.cancel(&node, &leased, &workload, BOUND).await.unwrap();
    ward.destroy(&node, &leased).await.unwrap();
    assert_eq!(kept(&node).0, Vec::<std::path::PathBuf>::new(), "it was ended, and did not fail");
    ward.provider.close().await;
    let left = fs::read_dir(&ward.place.state_dir).unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(left.filter(|path| path.is_dir()).count(), 0);
}

/// R69: what is absent is ended and given back already.
#[tokio::test]
async fn ending_what_is_absent_succeeds_and_writes_nothing() {
    let ward = Ward::new();
    let node = ward.node(0, stays());
    let other = Ward::new();
    let leased = other.create(&node).await.unwrap();
    ward.cancel(&node, &leased, &Handle::default(), BOUND).await.unwrap();
    ward.destroy(&node, &leased).await.unwrap();
    assert_eq!(ward.look(&node, Some(&leased)).await, Look::Absent);
    assert_eq!(ward.provider.list_owned(ward.run).await, Listing::Complete(Vec::new()));
    assert!(!ward.place.state_dir.exists());
}

#[test]
fn options_are_checked_all_at_once() {
    let options = [("log_max_bytes", 1.into()), ("colour", "red".into())];
    let options = options.map(|(key, value)| (key.to_owned(), value)).into();
    let problems = ProcessFactory.validate(&options);
    let keys: Vec<_> = problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, ["colour", "log_max_bytes"]);
}
