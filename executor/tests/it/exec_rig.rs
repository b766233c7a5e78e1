//! An exec provider over a small script, and the calls that the laws make.

use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use executor::{
    provider::exec::ExecFactory,
    seam::{EffectContext, Leased, Provider, ProviderFactory, ProviderOptions, ProviderPlace},
    secret::Secrets,
};
use reconciler_core::{
    effect::{Certainty, CommandKind, EffectFailure, FailureClass, Look, idempotency_key},
    id::{Fence, OperationId, StepId},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fake::{FENCE, RUN, attempt, request, slot};

pub(crate) const LEASED: &str = r#"{"ok": {"lease": {"id": "vm-1", "handle": {"zone": "a"}}}}"#;

/// A provider over a small script, in a directory of its own.
pub(crate) struct Rig {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) place: ProviderPlace,
    pub(crate) options: ProviderOptions,
    pub(crate) directory: TempDir,
}

impl Rig {
    pub(crate) fn script(script: &str) -> Self {
        Self::with(script, &[])
    }

    pub(crate) fn with(script: &str, more: &[(&str, Value)]) -> Self {
        let directory = TempDir::new().expect("a directory");
        fs::write(directory.path().join("program.sh"), script).expect("a script");
        let mut options = ProviderOptions::from([
            ("program".to_owned(), json!(["/bin/sh", "program.sh"])),
            ("visibility_ms".to_owned(), json!(0)),
        ]);
        options.extend(more.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        let place = ProviderPlace {
            state_dir: directory.path().join("state"),
            base_dir: directory.path().to_owned(),
            secrets: Secrets::new(directory.path().to_owned()),
        };
        let provider = ExecFactory.build(&options, &place).expect("good options");
        Self { provider, place, options, directory }
    }

    pub(crate) async fn create(&self) -> Result<Leased, EffectFailure> {
        self.provider.create_lease(&context(FENCE), &request(&slot(0))).await
    }

    pub(crate) async fn create_failure(&self) -> (Certainty, FailureClass, String) {
        let failure = self.create().await.expect_err("this program cannot create");
        (failure.certainty, failure.class, failure.message.as_str().to_owned())
    }

    pub(crate) async fn look(&self) -> Look {
        self.provider.inspect(RUN, &slot(0), attempt(&slot(0)), None).await
    }

    pub(crate) fn file(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.directory.path().join(name)).ok()
    }
}

pub(crate) fn context(fence: Fence) -> EffectContext {
    let slot = slot(0);
    let attempt = attempt(&slot);
    EffectContext {
        run: RUN,
        slot,
        attempt,
        operation: OperationId::new(1),
        step: StepId::new(1),
        key: idempotency_key(attempt.uuid, CommandKind::CreateLease, ""),
        fence,
        deadline: Instant::now() + Duration::from_secs(20),
    }
}

pub(crate) fn saying(answer: &str) -> String {
    format!("cat > request.json\ncat <<'END'\n{answer}\nEND\n")
}
