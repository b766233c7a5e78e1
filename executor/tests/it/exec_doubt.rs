//! What an exec provider makes of a program that is broken or lies (C1 to C5).

use std::{
    fs,
    time::{Duration, Instant},
};

use reconciler_core::effect::{Certainty, FailureClass, Listing, Look, WorkloadState};
use serde_json::json;

use crate::{
    exec_rig::{LEASED, Rig, context, saying},
    fake::{FENCE, RUN, attempt, lease, slot},
};

/// C2: whatever is not one whole, well-typed answer leaves a creation in doubt.
#[tokio::test]
async fn a_doubtful_answer_leaves_a_creation_in_doubt() {
    let answers = [
        "",
        "[]",
        "null",
        "\"\"",
        "true",
        "<html><body>502 Bad Gateway</body></html>",
        r#"{"ok": {"lease": {"id": "vm"#,
        "{}",
        r#"{"ok": null}"#,
        r#"{"ok": []}"#,
        r#"{"ok": {}}"#,
        r#"{"ok": {"lease": {"id": 5}}}"#,
        r#"{"ok": {"lease": {"id": ""}}}"#,
        r#"{"ok": {"lease": {"id": "vm-1", "handle": {"zone": 1}}}}"#,
        r#"{"ok": {"lease": {"id": "vm-1"}, "endpoint": {"host": "h", "ports": {"a": 70000}}}}"#,
        r#"{"ok": {"lease": {"id": "vm-1"}}, "error": {"class": "quota", "definite": true}}"#,
        r#"{"error": {"class": "quota", "definite": "yes"}}"#,
        r#"{"error": {"class": "mood", "definite": true}}"#,
        r#"{"error": "no"}"#,
    ];
    for answer in answers {
        let (certainty, class, _) = Rig::script(&saying(answer)).create_failure().await;
        let doubt = (Certainty::Ambiguous, FailureClass::Unavailable);
        assert_eq!((certainty, class), doubt, "for {answer}");
    }
    let twice = saying(&format!("{LEASED}\n{LEASED}"));
    assert_eq!(Rig::script(&twice).create_failure().await.0, Certainty::Ambiguous);
}

/// C1: an observation that is not wholly understood shows nothing.
#[tokio::test]
async fn a_doubtful_observation_shows_nothing() {
    let answers = [
        "",
        "[]",
        "null",
        "<html></html>",
        r#"{"owned": []}"#,
        r#"{"ok": []}"#,
        r#"{"ok": {}}"#,
        r#"{"ok": {"complete": true}}"#,
        r#"{"ok": {"complete": true, "owned": {}}}"#,
        r#"{"ok": {"complete": 1, "owned": []}}"#,
        r#"{"ok": {"present": null}}"#,
        r#"{"ok": {"present": "no"}}"#,
        r#"{"ok": {"present": true}}"#,
        r#"{"error": {"class": "not-found", "definite": true}}"#,
    ];
    for answer in answers {
        let rig = Rig::script(&saying(answer));
        let listing = rig.provider.list_owned(RUN).await;
        assert!(matches!(listing, Listing::Unknown(_)), "for {answer}: {listing:?}");
        let look = rig.look().await;
        assert!(matches!(look, Look::Unknown { .. }), "for {answer}: {look:?}");
    }
}

/// C1, C2: a program that fails after it answered did not answer.
#[tokio::test]
async fn a_failing_exit_takes_the_answer_back() {
    let rig =
        Rig::script(&format!("{}echo token=hush >&2\necho oh no >&2\nexit 3", saying(LEASED)));
    let (certainty, class, message) = rig.create_failure().await;
    assert_eq!((certainty, class), (Certainty::Ambiguous, FailureClass::Crashed));
    assert!(message.contains("oh no") && !message.contains("hush"), "{message}");
    assert!(matches!(rig.provider.list_owned(RUN).await, Listing::Unknown(_)));
    assert!(matches!(rig.look().await, Look::Unknown { .. }));
    let killed = Rig::script(&format!("{}kill -9 $$", saying(LEASED)));
    assert_eq!(killed.create_failure().await.0, Certainty::Ambiguous);
}

/// C2: a hanging call ends in doubt, and its whole process group ends with it.
#[tokio::test]
async fn a_hanging_call_is_killed_with_all_that_it_started() {
    let script = "sleep 300 &\necho $! > pid\nwait";
    let rig = Rig::with(script, &[("timeout_ms", json!(1_000))]);
    let (certainty, class, _) = rig.create_failure().await;
    assert_eq!((certainty, class), (Certainty::Ambiguous, FailureClass::TimedOut));
    let pid = rig.file("pid").expect("the script began");
    let stat = format!("/proc/{}/stat", pid.trim());
    let runs = || fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z"));
    let until = Instant::now() + Duration::from_secs(10);
    while runs() {
        assert!(Instant::now() < until, "the child of a killed call still runs");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(matches!(rig.look().await, Look::Unknown { .. }));
}

/// An answer without end is cut off long before the timeout.
#[tokio::test]
async fn an_oversized_answer_is_doubt() {
    let rig = Rig::script("while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done");
    let (certainty, class, message) = rig.create_failure().await;
    assert_eq!((certainty, class), (Certainty::Ambiguous, FailureClass::Unavailable));
    assert!(message.contains("longer than 1048576 bytes"), "{message}");
}

/// C1: only "complete" and every entry understood makes a listing that proves absences.
#[tokio::test]
async fn a_listing_is_complete_only_if_the_program_vouches() {
    let uuid = attempt(&slot(0)).uuid;
    let entry = format!(
        r#"{{"slot": "web-0", "attempt": "{uuid}", "fence": 2, "lease": {{"id": "vm-1"}}}}"#
    );
    let listed = |text: String| async move {
        match Rig::script(&saying(&text)).provider.list_owned(RUN).await {
            Listing::Complete(owned) => ("complete", owned.len()),
            Listing::Partial(owned, _) => ("partial", owned.len()),
            Listing::Unknown(_) => ("unknown", 0),
        }
    };
    let all = format!(r#"{{"ok": {{"complete": true, "owned": [{entry}], "more": 1}}}}"#);
    assert_eq!(listed(all).await, ("complete", 1));
    let third = format!(r#"{{"ok": {{"complete": false, "owned": [{entry}]}}}}"#);
    assert_eq!(listed(third).await, ("partial", 1));
    let unsaid = format!(r#"{{"ok": {{"owned": [{entry}]}}}}"#);
    assert_eq!(listed(unsaid).await, ("partial", 1));
    let garbled = format!(r#"{{"ok": {{"complete": true, "owned": [{{"slot": 7}}, {entry}]}}}}"#);
    assert_eq!(listed(garbled).await, ("partial", 1));
    assert_eq!(listed(r#"{"ok": {"complete": true, "owned": []}}"#.into()).await, ("complete", 0));
}

/// C3: a creation that was just reported may be unseen for a while; only after that is its absence believed.
#[tokio::test]
async fn a_success_that_made_nothing_is_absent_only_after_the_visibility_time() {
    let script = "case $(cat) in *create-lease*) echo '{\"ok\":{\"lease\":{\"id\":\"vm-1\"}}}';;
        *destroy-lease*) echo '{\"ok\":{}}';; *) echo '{\"ok\":{\"present\":false}}';; esac";
    let young = Rig::with(script, &[("visibility_ms", json!(60_000))]);
    assert_eq!(young.look().await, Look::Absent, "nothing was asked for yet");
    young.create().await.unwrap();
    assert!(matches!(young.look().await, Look::Unknown { .. }));
    young.provider.destroy_lease(&context(FENCE), &lease()).await.unwrap();
    assert_eq!(young.look().await, Look::Absent, "it was given back");
    let exact = Rig::script(script);
    exact.create().await.unwrap();
    assert_eq!(exact.look().await, Look::Absent);
}

/// C2: a failure that made it anyway is doubt, and the look finds what was made.
#[tokio::test]
async fn a_failure_that_made_it_anyway_is_found_by_the_look() {
    let script = "case $(cat) in *create-lease*) touch made; exit 1;; esac\n\
        test -e made && echo '{\"ok\":{\"present\":true,\"fence\":3,\"lease\":{\"id\":\"vm-1\"},\
        \"workload\":{\"state\":\"absent\"}}}'";
    let rig = Rig::with(script, &[("visibility_ms", json!(60_000))]);
    assert_eq!(rig.create_failure().await.0, Certainty::Ambiguous);
    let Look::Present { lease, workload, .. } = rig.look().await else { panic!("it was made") };
    assert_eq!((lease.id.as_str(), lease.fence), ("vm-1", FENCE));
    assert_eq!(workload, WorkloadState::Absent);
}

/// Only the program's own word makes a failure definite.
#[tokio::test]
async fn an_error_is_definite_only_if_the_program_says_so() {
    let sure = r#"{"error": {"class": "capacity", "definite": true, "message": "none left"}}"#;
    let (certainty, class, message) = Rig::script(&saying(sure)).create_failure().await;
    assert_eq!((certainty, class), (Certainty::Definite, FailureClass::Capacity));
    assert_eq!(message, "none left");
    let unsure = r#"{"error": {"class": "rate-limited", "retry_after_ms": 5000}}"#;
    let (certainty, class, _) = Rig::script(&saying(unsure)).create_failure().await;
    assert_eq!(certainty, Certainty::Ambiguous);
    let FailureClass::RateLimited { retry_after } = class else { panic!("{class:?}") };
    assert_eq!(retry_after.get(), 5_000);
}
