//! What the program reads: one JSON object per call.

use reconciler_core::{
    desired::NodeSpec,
    id::{AttemptId, Fence, IdempotencyKey, LogicalNodeId, SessionId, Uuid},
    observed::{Endpoint, Handle, LeaseFacts},
};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::{seam::EffectContext, secret::SecretEnv};

/// The version of the protocol; it rises when an old program would misread a request.
pub(super) const VERSION: u32 = 1;

/// The calls, as the program reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Call {
    /// Allocate without running.
    CreateLease,
    /// Where is it reached?
    LookupEndpoint,
    /// Everything of one run.
    ListOwned,
    /// One attempt.
    Inspect,
    /// Give back.
    DestroyLease,
    /// Verify and run.
    StartBootstrap,
    /// End the workload.
    CancelBootstrap,
    /// The workload joined.
    CompleteBootstrap,
    /// Run a hook to its end.
    RunHook,
}

/// One request; what a call does not need is left out. It may hold secrets, so it is never shown.
#[derive(Serialize)]
pub(super) struct Request<'a> {
    pub(super) version: u32,
    pub(super) call: Call,
    pub(super) run: Uuid,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<Node<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fence: Option<Fence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<IdempotencyKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) spec: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lease: Option<&'a LeaseFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) endpoint: Option<&'a Endpoint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) workload: Option<&'a Handle>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) grace_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Handed::is_empty")]
    pub(super) secrets: Handed,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(super) hook: Option<HookCall<'a>>,
}

/// The secret variables of what a call starts: written to the program's standard input, and to nothing else.
#[derive(Default)]
pub(super) struct Handed(pub(super) SecretEnv);

impl Handed {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Handed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value.expose())))
    }
}

/// The hook that a call is about.
#[derive(Clone, Debug, Serialize)]
pub(super) struct HookCall<'a> {
    pub(super) hook: &'a str,
    pub(super) argv: Vec<String>,
}

/// The attempt that a call is about.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Node<'a> {
    slot: &'a LogicalNodeId,
    group: &'a str,
    index: u32,
    attempt: Uuid,
    ordinal: u64,
}

impl<'a> Request<'a> {
    /// The request of an effect.
    pub(super) fn effect(call: Call, ctx: &'a EffectContext) -> Self {
        let look = Self::look(call, ctx.run, &ctx.slot, ctx.attempt);
        Self { fence: Some(ctx.fence), key: Some(ctx.key), ..look }
    }

    /// The request of a look at one attempt.
    pub(super) fn look(call: Call, run: Uuid, slot: &'a LogicalNodeId, attempt: AttemptId) -> Self {
        let node = Node {
            slot,
            group: slot.group.as_str(),
            index: slot.index,
            attempt: attempt.uuid,
            ordinal: attempt.ordinal.get(),
        };
        Self { node: Some(node), ..Self::of_run(call, run) }
    }

    /// A request that names only the run.
    pub(super) fn of_run(call: Call, run: Uuid) -> Self {
        Self {
            version: VERSION,
            call,
            run,
            node: None,
            fence: None,
            key: None,
            spec: None,
            lease: None,
            endpoint: None,
            session: None,
            workload: None,
            grace_ms: None,
            timeout_ms: None,
            secrets: Handed::default(),
            hook: None,
        }
    }
}

/// What a node is, as the program reads it.
pub(super) fn spec_value(spec: &NodeSpec) -> Value {
    let verify = spec.boot.verify.iter();
    let verify: Vec<Value> = verify
        .map(|command| json!({ "argv": command.argv, "timeout_ms": command.timeout.get() }))
        .collect();
    json!({
        "role": spec.role,
        "shape": {
            "image": spec.shape.image,
            "cpu_millis": spec.shape.cpu_millis,
            "memory_mib": spec.shape.memory_mib,
            "disk_gib": spec.shape.disk_gib,
            "gpus": spec.shape.gpus,
            "labels": spec.shape.labels,
        },
        "boot": {
            "command": spec.boot.command,
            "env": spec.boot.env,
            "workdir": spec.boot.workdir,
            "ports": spec.boot.ports,
            "verify": verify,
        },
    })
}
