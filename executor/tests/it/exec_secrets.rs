//! Secrets through the exec provider: handed over where something is started, and in no answer that is kept (P8).

use std::{fs, os::unix::fs::PermissionsExt as _, sync::Arc, time::Duration};

use executor::{
    provider::exec::ExecFactory,
    seam::{ProviderFactory, ProviderOptions, StartRequest},
};
use reconciler_core::{
    effect::{Certainty, FailureClass, NodeRequest},
    id::SessionId,
    observed::{Endpoint, Handle},
};
use serde_json::{Value, json};

use crate::{
    exec_rig::{LEASED, Rig, context},
    fake::{FENCE, request, slot},
};

const CANARY: &str = "cAnArY/7f\"3+91";

/// Keeps each request, and answers with what the request said.
fn echo(answer: &str) -> Rig {
    let script = format!(
        "cat > said.$$\nmv said.$$ said\ncall=$(grep -o '\"call\":\"[a-z-]*\"' said)\n\
         case $call in *create-lease*) echo '{LEASED}';; *) {answer};; esac\n"
    );
    let rig = Rig::with(&script, &[("secrets", json!(true))]);
    let key = rig.directory.path().join("key");
    fs::write(&key, CANARY).unwrap();
    fs::set_permissions(key, fs::Permissions::from_mode(0o600)).unwrap();
    rig
}

fn secretive() -> NodeRequest {
    let mut request = request(&slot(0));
    let spec = Arc::make_mut(&mut request.spec);
    spec.boot.secret_env.insert("API_TOKEN".into(), "file:key".parse().unwrap());
    request
}

async fn start(rig: &Rig) -> Result<Handle, reconciler_core::effect::EffectFailure> {
    let lease = rig.provider.create_lease(&context(FENCE), &secretive()).await.unwrap().lease;
    let said: Value = serde_json::from_str(&rig.file("said").unwrap()).unwrap();
    assert!(said.get("secrets").is_none(), "to make a lease none is needed");
    let start = StartRequest {
        request: secretive(),
        lease,
        endpoint: Endpoint { host: "h".into(), ports: Arc::default() },
        session: SessionId::new(1),
        timeout: Duration::from_secs(20),
    };
    rig.provider.start_bootstrap(&context(FENCE), &start, Arc::new(|_| {})).await
}

/// P8: the value goes to standard input alone, beside the spec; an answer that repeats it is cleaned, ids included.
#[tokio::test]
async fn a_program_is_handed_secrets_and_gives_none_back() {
    let rig = echo(
        r#"v=$(grep -o '"API_TOKEN":"[^}]*"' said | cut -c14- | rev | cut -c2- | rev)
        printf '{"ok": {"handle": {"%s": "is %s"}}}' "$v" "$v""#,
    );
    let handle = start(&rig).await.unwrap();
    let said: Value = serde_json::from_str(&rig.file("said").unwrap()).unwrap();
    assert_eq!(said["secrets"], json!({"API_TOKEN": CANARY}));
    assert!(!said["spec"].to_string().contains("cAnArY"));
    assert_eq!(handle.get("[redacted]"), Some("is [redacted]"), "{handle:?}");
}

/// P8: the same of what it says when it fails.
#[tokio::test]
async fn what_a_program_says_as_it_fails_is_cleaned() {
    let rig = echo("cat said >&2; exit 3");
    let failure = start(&rig).await.unwrap_err();
    let message = failure.message.as_str();
    assert!(message.contains("[redacted]") && !message.contains("cAnArY"), "{message}");
}

/// R88: a secret that is gone fails the start, surely without effect.
#[tokio::test]
async fn a_missing_secret_calls_no_program() {
    let rig = echo("echo never");
    fs::remove_file(rig.directory.path().join("key")).unwrap();
    let failure = start(&rig).await.unwrap_err();
    assert_eq!((failure.certainty, failure.class), (Certainty::Definite, FailureClass::Auth));
    let said = rig.file("said").unwrap();
    assert!(!said.contains("start-bootstrap"), "{said}");
}

/// D16: a program says in its options that it reads secrets; that is a capability, and bound into plans.
#[test]
fn a_program_declares_that_it_reads_secrets() {
    let options = |more: &[(&str, Value)]| -> ProviderOptions {
        let base = [("program", json!("./p"))];
        let all = base.iter().chain(more);
        all.map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
    };
    let plain = ExecFactory.capabilities(&options(&[]));
    let able = ExecFactory.capabilities(&options(&[("secrets", json!(true))]));
    assert!(!plain.secrets && able.secrets);
    assert!(!plain.digest_text().contains("secrets"), "without secrets the digest is as it was");
    assert!(able.digest_text().ends_with(" secrets=true"));
}
