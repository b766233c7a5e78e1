//! Hooks of exec providers: what the program is asked, and what its answers mean.

use std::time::{Duration, Instant};

use executor::{
    provider::exec::ExecFactory,
    seam::{EffectContext, ProviderFactory},
};
use reconciler_core::{
    desired::{Hook, HookPoint},
    effect::{
        ActionKind, Certainty, EffectFailure, ExitStatus, FailureClass, HookRun, HookSight,
        HookState, Look, idempotency_key,
    },
    id::SessionId,
    observed::Endpoint,
    time::Millis,
};
use serde_json::{Value, json};

use crate::{
    exec_rig::{Rig, context, saying},
    fake::{FENCE, attempt, lease, request, slot},
};

const KEY: &str = "0000000000000000000000000000000000000000000000000000000000000000";

async fn hook(rig: &Rig) -> Result<(), EffectFailure> {
    let kind = ActionKind::Hook(HookPoint::PreStop);
    let run = HookRun {
        point: HookPoint::PreStop,
        session: SessionId::new(2),
        hook: Hook {
            argv: vec!["./drain".to_owned(), "{slot}".to_owned()],
            timeout: Millis::new(4_000),
        },
        request: request(&slot(0)),
        lease: lease(),
        endpoint: Endpoint::default(),
    };
    let key = idempotency_key(attempt(&slot(0)).uuid, kind, "session 2");
    let deadline = Instant::now() + Duration::from_secs(20);
    let ctx = EffectContext { key, deadline, ..context(FENCE) };
    rig.provider.run_hook(&ctx, &run).await
}

async fn sight(answer: &str) -> Option<HookSight> {
    match Rig::script(&saying(answer)).look().await {
        Look::Present { hook, .. } => Some(hook),
        Look::Absent | Look::Unknown { .. } => None,
    }
}

/// The request names the hook, its command with placeholders filled, its session and its time.
#[tokio::test]
async fn the_program_is_told_what_to_run() {
    let rig = Rig::script(&saying(r#"{"ok": {}}"#));
    hook(&rig).await.unwrap();
    let asked: Value = serde_json::from_str(&rig.file("request.json").unwrap()).unwrap();
    assert_eq!(asked["call"], "run-hook");
    assert_eq!((&asked["hook"], &asked["timeout_ms"]), (&json!("pre-stop"), &json!(4_000)));
    assert_eq!(asked["argv"], json!(["./drain", slot(0).to_string()]));
    assert!(asked["spec"]["boot"].is_object() && asked["lease"]["id"].is_string(), "{asked}");
    assert!(asked["key"].is_string() && asked["fence"].is_number() && asked["session"] == 2);
}

/// C2: a hook has surely failed only where the program says so.
#[tokio::test]
async fn only_a_definite_answer_fails_a_hook() {
    let said = r#"{"error": {"class": "workload", "definite": true, "message": "exit 3"}}"#;
    let failure = hook(&Rig::script(&saying(said))).await.unwrap_err();
    assert_eq!((failure.certainty, failure.class), (Certainty::Definite, FailureClass::Workload));
    for broken in ["", "{}", r#"{"error": {"class": "workload"}}"#] {
        let failure = hook(&Rig::script(&saying(broken))).await.unwrap_err();
        assert_eq!(failure.certainty, Certainty::Ambiguous, "{broken:?}");
    }
}

/// D7: a look says what became of the hook; where it says nothing of hooks, nothing is known of any.
#[tokio::test]
async fn a_look_says_what_became_of_a_hook() {
    let present =
        |hook: &str| format!(r#"{{"ok": {{"present": true, "lease": {{"id": "vm"}}{hook}}}}}"#);
    let key = KEY.parse().unwrap();
    let begun = |state| Some(HookSight::Begun { key, state });
    let ended = |status| HookState::Ended { status, tail: "bye".into() };
    let table = [
        (String::new(), Some(HookSight::Untold)),
        (r#", "hook": null"#.to_owned(), Some(HookSight::Untold)),
        (r#", "hook": {"state": "none"}"#.to_owned(), Some(HookSight::Nothing)),
        (format!(r#", "hook": {{"key": "{KEY}", "state": "running"}}"#), begun(HookState::Running)),
        (
            format!(r#", "hook": {{"key": "{KEY}", "state": "exited", "code": 0, "tail": "bye"}}"#),
            begun(ended(ExitStatus::Code(0))),
        ),
        (
            format!(r#", "hook": {{"key": "{KEY}", "state": "exited", "tail": "bye"}}"#),
            begun(ended(ExitStatus::Unknown)),
        ),
        // C1: what is not understood shows nothing at all.
        (r#", "hook": {"state": "running"}"#.to_owned(), None),
        (format!(r#", "hook": {{"key": "{KEY}", "state": "well"}}"#), None),
        (r#", "hook": {"key": "short", "state": "running"}"#.to_owned(), None),
    ];
    for (said, want) in table {
        assert_eq!(sight(&present(&said)).await, want, "{said}");
    }
}

/// A program says in its options that it knows the call; that is a capability, and bound into plans.
#[test]
fn a_program_declares_that_it_runs_hooks() {
    let options = |more: &[(&str, Value)]| {
        let base = [("program", json!("./p"))];
        let all = base.iter().chain(more);
        all.map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
    };
    let plain = ExecFactory.capabilities(&options(&[]));
    let able = ExecFactory.capabilities(&options(&[("hooks", json!(true))]));
    assert!(!plain.hooks && able.hooks);
    assert!(!plain.digest_text().contains("hooks"), "without hooks the digest is as it was");
    assert!(able.digest_text().ends_with(" hooks=true"));
    let problems = ExecFactory.validate(&options(&[("hooks", json!("yes"))]));
    assert_eq!(problems.len(), 1);
    assert_eq!((problems[0].key.as_str(), problems[0].hint.is_some()), ("hooks", true));
}
