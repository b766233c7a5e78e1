//! A docker provider on the engine of this machine, and the calls that the laws make.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use bollard::Docker;
use executor::{
    provider::docker::DockerFactory,
    seam::{
        EffectContext, Leased, Provider, ProviderFactory, ProviderOptions, ProviderPlace,
        StartRequest,
    },
    secret::Secrets,
};
use reconciler_core::{
    desired::{BootSpec, DesiredNodeShape, JoinMode, NodeSpec, VerifyCommand},
    effect::{CommandKind, EffectFailure, Look, NodeRequest, WorkloadState, idempotency_key},
    id::{
        AttemptId, AttemptOrdinal, Fence, Generation, LogicalNodeId, OperationId, SessionId,
        StepId, Uuid,
    },
    observed::{Endpoint, Handle, LeaseFacts},
    time::Millis,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::engine::{IMAGE, containers, engine, remove};

pub(crate) const FENCE: Fence = Fence::new(5);
/// How long anything may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A provider of a run of its own.
pub(crate) struct Rig {
    pub(crate) docker: Docker,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) run: Uuid,
    pub(crate) slot: LogicalNodeId,
    pub(crate) spec: NodeSpec,
    pub(crate) place: ProviderPlace,
    _home: TempDir,
}

/// The options of a test: no network, unless it needs one, because that is what takes longest.
pub(crate) fn options(more: &[(&str, Value)]) -> ProviderOptions {
    let mut options = ProviderOptions::from([("networks".to_owned(), json!(["none"]))]);
    options.extend(more.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    options
}

/// A run that nobody else has.
pub(crate) fn fresh_run() -> Uuid {
    let mut bytes = [0; 16];
    rustix_random(&mut bytes);
    Uuid::from_bytes(bytes)
}

fn rustix_random(bytes: &mut [u8]) {
    use std::io::Read as _;
    std::fs::File::open("/dev/urandom").unwrap().read_exact(bytes).unwrap();
}

impl Rig {
    /// A rig for the law called `test`; `None` where there is no engine.
    pub(crate) async fn new(test: &str, more: &[(&str, Value)]) -> Option<Self> {
        let docker = engine(test).await?;
        let home = TempDir::new().unwrap();
        let place = ProviderPlace {
            state_dir: home.path().join("box"),
            base_dir: home.path().to_owned(),
            secrets: Secrets::new(home.path().to_owned()),
        };
        let provider = DockerFactory.build(&options(more), &place).unwrap();
        let shape = DesiredNodeShape { image: Some(IMAGE.to_owned()), ..Default::default() };
        let command = ["sleep", "3600"].map(String::from).to_vec();
        let spec = NodeSpec {
            role: "test".to_owned(),
            provider: "box".parse().unwrap(),
            shape,
            boot: BootSpec { command, ..BootSpec::default() },
            join: JoinMode::None,
        };
        let slot = "web-0".parse().unwrap();
        Some(Self { docker, provider, run: fresh_run(), slot, spec, place, _home: home })
    }

    /// The same provider in another process: it remembers nothing.
    pub(crate) fn another(&self, more: &[(&str, Value)]) -> Arc<dyn Provider> {
        DockerFactory.build(&options(more), &self.place).unwrap()
    }

    pub(crate) fn attempt(&self) -> AttemptId {
        AttemptId::derive(self.run, &self.slot, Generation::new(1), AttemptOrdinal::new(1))
    }

    pub(crate) fn name(&self) -> String {
        format!("levelhead-{}-{}", self.slot, self.attempt().uuid)
    }

    pub(crate) fn request(&self) -> NodeRequest {
        NodeRequest {
            run: self.run,
            slot: self.slot.clone(),
            attempt: self.attempt(),
            revision: self.spec.revision(),
            spec: Arc::new(self.spec.clone()),
        }
    }

    pub(crate) fn context(&self, kind: CommandKind, detail: &str) -> EffectContext {
        EffectContext {
            run: self.run,
            slot: self.slot.clone(),
            attempt: self.attempt(),
            operation: OperationId::new(1),
            step: StepId::new(1),
            key: idempotency_key(self.attempt().uuid, kind, detail),
            fence: FENCE,
            deadline: Instant::now() + PATIENCE,
        }
    }

    pub(crate) fn verify(&mut self, argv: &[&str]) {
        let argv = argv.iter().map(|&word| word.to_owned()).collect();
        self.spec.boot.verify.push(VerifyCommand { argv, timeout: Millis::from_secs(20) });
    }

    pub(crate) async fn create(&self) -> Result<Leased, EffectFailure> {
        let ctx = self.context(CommandKind::CreateLease, "");
        self.provider.create_lease(&ctx, &self.request()).await
    }

    pub(crate) async fn start(
        &self,
        leased: &Leased,
        session: u64,
    ) -> Result<Handle, EffectFailure> {
        let ctx = self.context(CommandKind::StartBootstrap, &session.to_string());
        let start = StartRequest {
            request: self.request(),
            lease: leased.lease.clone(),
            endpoint: leased
                .endpoint
                .clone()
                .unwrap_or_else(|| Endpoint { host: "".into(), ports: Arc::new(BTreeMap::new()) }),
            session: SessionId::new(session),
            timeout: PATIENCE,
        };
        self.provider.start_bootstrap(&ctx, &start, Arc::new(|_| {})).await
    }

    pub(crate) async fn cancel(&self, lease: &LeaseFacts) -> Result<(), EffectFailure> {
        let ctx = self.context(CommandKind::CancelBootstrap, "");
        let grace = Duration::from_secs(1);
        self.provider.cancel_bootstrap(&ctx, lease, &Handle::default(), grace).await
    }

    pub(crate) async fn destroy(&self, lease: &LeaseFacts) -> Result<(), EffectFailure> {
        let ctx = self.context(CommandKind::DestroyLease, "");
        self.provider.destroy_lease(&ctx, lease).await
    }

    pub(crate) async fn look(&self, lease: Option<&LeaseFacts>) -> Look {
        self.provider.inspect(self.run, &self.slot, self.attempt(), lease).await
    }

    /// What a look says of the workload.
    pub(crate) async fn workload(&self, lease: &LeaseFacts) -> WorkloadState {
        let look = self.look(Some(lease)).await;
        let Look::Present { workload, .. } = look else { panic!("{look:?}") };
        workload
    }

    /// Takes away whatever is left of the run.
    pub(crate) async fn clean(self) {
        self.provider.close().await;
        for one in containers(&self.docker, &self.run.to_string()).await {
            remove(&self.docker, &one.id.unwrap()).await;
        }
    }
}
