//! How an exec provider calls its program, and what it passes on.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    sync::Arc,
    time::{Duration, Instant},
};

use executor::{
    provider::exec::ExecFactory,
    seam::{ProviderFactory, StartRequest},
};
use reconciler_core::{
    effect::{Certainty, ExitStatus, FailureClass, Listing, Look, NodeRequest, WorkloadState},
    id::{Fence, SessionId},
    observed::{Endpoint, Handle},
};
use serde_json::{Value, json};

use crate::{
    exec_rig::{LEASED, Rig, context, saying},
    fake::{FENCE, RUN, attempt, lease, request, slot},
};

/// R69: giving back what the program surely does not have succeeds; a doubtful "not found" does not.
#[tokio::test]
async fn destroying_what_surely_is_not_there_succeeds() {
    let sure = Rig::script(&saying(r#"{"error": {"class": "not-found", "definite": true}}"#));
    assert_eq!(sure.provider.destroy_lease(&context(FENCE), &lease()).await, Ok(()));
    let unsure = Rig::script(&saying(r#"{"error": {"class": "not-found"}}"#));
    unsure.provider.destroy_lease(&context(FENCE), &lease()).await.unwrap_err();
}

/// A program that cannot run surely did nothing; a question that it could not be asked stays open.
#[tokio::test]
async fn a_program_that_cannot_run_is_a_definite_failure() {
    let missing = Rig::with("", &[("program", json!("./not-there"))]);
    let plain = Rig::with("", &[("program", json!("program.sh"))]);
    for rig in [&missing, &plain] {
        let (certainty, class, _) = rig.create_failure().await;
        assert_eq!((certainty, class), (Certainty::Definite, FailureClass::Invalid));
        assert!(matches!(rig.provider.list_owned(RUN).await, Listing::Unknown(_)));
        let unasked = rig.provider.lookup_endpoint(&context(FENCE), &lease()).await.unwrap_err();
        assert_eq!(unasked.certainty, Certainty::Ambiguous);
    }
}

/// What the program leaves running may hold its output open; the answer does not wait for that.
#[tokio::test]
async fn a_workload_that_inherits_the_output_delays_nothing() {
    let rig = Rig::script(&format!("sleep 5 &\n{}", saying(LEASED)));
    let begun = Instant::now();
    let leased = rig.create().await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(4), "took {:?}", begun.elapsed());
    assert_eq!(leased.lease.handle.get("zone"), Some("a"));
}

/// A request larger than a pipe, to a program that does not read it, is no deadlock.
#[tokio::test]
async fn a_program_need_not_read_its_request() {
    let rig = Rig::script(&format!("echo '{LEASED}'"));
    let mut large: NodeRequest = request(&slot(0));
    Arc::make_mut(&mut large.spec).boot.command = vec!["x".repeat(300_000)];
    rig.provider.create_lease(&context(FENCE), &large).await.unwrap();
}

/// The request carries what its author was promised, and the placeholders are filled.
#[tokio::test]
async fn a_start_request_says_all_and_is_filled() {
    let rig = Rig::script(&saying(r#"{"ok": {"handle": {"pid": "77"}}}"#));
    let mut node = request(&slot(0));
    Arc::make_mut(&mut node.spec).boot.command = vec!["{slot}:{port:http}".into(), "{x}".into()];
    let ports =
        [("http".to_owned(), 8080)].into_iter().collect::<std::collections::BTreeMap<_, _>>();
    let endpoint = Endpoint { host: "h".into(), ports: ports.into() };
    let start = StartRequest {
        request: node,
        lease: lease(),
        endpoint,
        session: SessionId::new(4),
        timeout: Duration::from_secs(1),
    };
    let sink = Arc::new(|_| {});
    let handle = rig.provider.start_bootstrap(&context(FENCE), &start, sink).await.unwrap();
    assert_eq!(handle.get("pid"), Some("77"));
    let asked: Value = serde_json::from_str(&rig.file("request.json").unwrap()).unwrap();
    for (pointer, value) in [
        ("/version", json!(1)),
        ("/call", json!("start-bootstrap")),
        ("/slot", json!("web-0")),
        ("/group", json!("web")),
        ("/index", json!(0)),
        ("/ordinal", json!(1)),
        ("/fence", json!(3)),
        ("/attempt", json!(attempt(&slot(0)).uuid.to_string())),
        ("/lease/id", json!("lease-1")),
        ("/endpoint/ports/http", json!(8080)),
        ("/session", json!(4)),
        ("/timeout_ms", json!(1_000)),
        ("/spec/boot/command", json!(["web-0:8080", "{x}"])),
    ] {
        assert_eq!(asked.pointer(pointer), Some(&value), "at {pointer} of {asked}");
    }
}

/// What the program says of a workload is kept as it is, cleaned.
#[tokio::test]
async fn a_look_tells_how_a_workload_ended() {
    let present = |workload: &str| {
        saying(&format!(
            r#"{{"ok": {{"present": true, "lease": {{"id": "vm-1"}}, "workload": {workload}}}}}"#
        ))
    };
    for (workload, status) in [
        (r#"{"state": "exited", "code": 2, "tail": "password=hush"}"#, ExitStatus::Code(2)),
        (r#"{"state": "exited", "signal": 9}"#, ExitStatus::Signal(9)),
        (r#"{"state": "exited"}"#, ExitStatus::Unknown),
    ] {
        let Look::Present { workload, .. } = Rig::script(&present(workload)).look().await else {
            panic!("it is present");
        };
        let WorkloadState::Exited { status: found, tail } = workload else { panic!("it ended") };
        assert_eq!(found, status);
        assert!(!tail.as_str().contains("hush"));
    }
    let running = Rig::script(&present(r#"{"state": "running", "handle": {}}"#)).look().await;
    let Look::Present { workload, .. } = running else { panic!("it is present") };
    assert_eq!(workload, WorkloadState::Running { workload: Handle::default() });
}

/// D11, P5: a lower fence is refused before the program runs, also by another controller's provider.
#[tokio::test]
async fn a_stale_fence_is_refused_without_a_call() {
    let rig = Rig::script(&saying(LEASED));
    rig.create().await.unwrap();
    fs::remove_file(rig.directory.path().join("request.json")).unwrap();
    let other = ExecFactory.build(&rig.options, &rig.place).unwrap();
    let stale = context(Fence::new(FENCE.get() - 1));
    for provider in [&rig.provider, &other] {
        let failure = provider.create_lease(&stale, &request(&slot(0))).await.unwrap_err();
        assert_eq!((failure.certainty, failure.class), (Certainty::Definite, FailureClass::Fenced));
    }
    assert_eq!(rig.file("request.json"), None);
    let newer = context(FENCE.next());
    other.create_lease(&newer, &request(&slot(0))).await.unwrap();
    assert_eq!(rig.create_failure().await.1, FailureClass::Fenced);
    let mode = fs::metadata(rig.place.state_dir.join("fence")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// P8: the program sees only the variables that are listed, and no message repeats their values.
#[tokio::test]
async fn only_listed_variables_pass_and_no_message_repeats_them() {
    let script = "env > seen\n\
        echo \"{\\\"error\\\":{\\\"class\\\":\\\"auth\\\",\\\"message\\\":\\\"bad $CARGO_MANIFEST_DIR\\\"}}\"";
    let rig = Rig::with(script, &[("env", json!(["CARGO_MANIFEST_DIR"]))]);
    let (_, class, message) = rig.create_failure().await;
    assert_eq!((class, message.as_str()), (FailureClass::Auth, "bad [redacted]"));
    let seen = rig.file("seen").unwrap();
    assert!(seen.contains("CARGO_MANIFEST_DIR="));
    assert!(!seen.contains("CARGO_PKG_NAME="), "{seen}");
}
