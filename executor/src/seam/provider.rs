//! `Provider`: the lease side (`create`, `lookup`, `list`, `inspect`, `destroy`) and the bootstrap side
//! (`start`, `cancel`, `complete`, `watch`) of one kind of ground.

use std::{future::Future, pin::Pin, time::Duration};

use reconciler_core::{
    effect::{
        Certainty, EffectFailure, ExitStatus, FailureClass, HookRun, Listing, Look, NodeRequest,
    },
    id::{AttemptId, Fence, LogicalNodeId, Uuid},
    observed::{Endpoint, Handle, LeaseFacts, ProbeAnswer},
    redact::Redacted,
};

use super::{
    context::EffectContext,
    probe::ProbeAsk,
    session::{SessionSink, StartRequest},
};

/// Work under way; dropping it cancels the waiting, never the effect.
pub type Work<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Whether a provider itself refuses a stale controller (D11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fencing {
    /// It refuses a fence lower than the highest that it has seen.
    Enforced,
    /// It only records the fence.
    Advisory,
}

/// How often a provider may be called (C7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Calls per second over time.
    pub per_second: u32,
    /// Calls at once after a quiet time.
    pub burst: u32,
}

/// What a provider can do; bound into plan hashes through [`Capabilities::digest_text`].
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a thing of its own that is there or not"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The kind of provider.
    pub kind: &'static str,
    /// The version of its behaviour.
    pub version: u32,
    /// Whether it refuses a stale controller.
    pub fencing: Fencing,
    /// How long after its creation a thing may still lack in a listing (C3); zero if listings are exact.
    pub visibility: Duration,
    /// How often it is listed without any other reason.
    pub listing_period: Duration,
    /// How often it may be called; `None` where nothing limits it. Changes no plan, so no part of the digest.
    pub rate: Option<Rate>,
    /// True if it can run images; others refuse a spec that names one.
    pub images: bool,
    /// True if it honours requests for processors, memory, disk or graphics processors.
    pub resources: bool,
    /// True if it runs hooks; others refuse a group that declares one.
    pub hooks: bool,
    /// True if it asks workloads by commands; others refuse a group that declares such a probe. Changes no plan, so no
    /// part of the digest.
    pub probes: bool,
    /// True if its nodes can be run by agents; others refuse a group that joins by them. Changes no plan, so no part of the
    /// digest.
    pub agents: bool,
    /// True if it hands secrets to nodes; others refuse a group that declares one.
    pub secrets: bool,
}

impl Capabilities {
    /// The capabilities as one line, equal for equal capabilities.
    pub fn digest_text(&self) -> String {
        format!(
            "{} v{} fencing={} visibility={}ms images={} resources={}{}{}",
            self.kind,
            self.version,
            match self.fencing {
                Fencing::Enforced => "enforced",
                Fencing::Advisory => "advisory",
            },
            self.visibility.as_millis(),
            self.images,
            self.resources,
            if self.hooks { " hooks=true" } else { "" },
            if self.secrets { " secrets=true" } else { "" },
        )
    }
}

/// A new lease, and its endpoint where it is known at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leased {
    /// The lease.
    pub lease: LeaseFacts,
    /// Where it is reached.
    pub endpoint: Option<Endpoint>,
}

/// How a watched workload ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// How.
    pub status: ExitStatus,
    /// Its last lines, cleaned.
    pub tail: Redacted,
}

/// One kind of ground on which nodes live.
///
/// # Guarantees that callers rely on
/// - `create_lease` and `start_bootstrap` with a key that was used before *adopt* what that key made; they never
///   make a second one (D7).
/// - `run_hook` with a key whose hook completed succeeds and runs nothing: a hook completes once for each key. A look
///   says what became of the key that was begun last, so that one whose answer was lost is not repeated blind.
/// - `cancel_bootstrap`, `complete_bootstrap` and `destroy_lease` of something absent succeed (R69).
/// - Every error says whether the effect may have happened all the same. When in doubt: ambiguous.
/// - `start_bootstrap` and `run_hook` give what they start the secrets of its spec, read at that moment, and keep the
///   values nowhere else. What a provider quotes of others is cleaned of them before it is cut.
/// - A listing is `Complete` only if the provider vouches for it (C1).
pub trait Provider: Send + Sync {
    /// What it can do.
    fn capabilities(&self) -> &Capabilities;

    /// Allocates a lease for an attempt without running anything.
    fn create_lease<'a>(
        &'a self,
        ctx: &'a EffectContext,
        request: &'a NodeRequest,
    ) -> Work<'a, Result<Leased, EffectFailure>>;

    /// Asks where a lease is reached; `None` means not yet, which is no failure.
    fn lookup_endpoint<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
    ) -> Work<'a, Result<Option<Endpoint>, EffectFailure>>;

    /// Lists everything that it holds for `run`.
    fn list_owned(&self, run: Uuid) -> Work<'_, Listing>;

    /// Looks at one attempt by its id; the lease narrows the search where it is known.
    fn inspect<'a>(
        &'a self,
        run: Uuid,
        slot: &'a LogicalNodeId,
        attempt: AttemptId,
        lease: Option<&'a LeaseFacts>,
    ) -> Work<'a, Look>;

    /// Gives a lease back.
    fn destroy_lease<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
    ) -> Work<'a, Result<(), EffectFailure>>;

    /// Runs the verify commands, then starts the workload; complete as soon as it was started.
    fn start_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        start: &'a StartRequest,
        sink: SessionSink,
    ) -> Work<'a, Result<Handle, EffectFailure>>;

    /// Ends session and workload: politely, and after `grace` by force.
    fn cancel_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
        workload: &'a Handle,
        grace: Duration,
    ) -> Work<'a, Result<(), EffectFailure>>;

    /// Closes the session of a member that joined; the workload goes on.
    fn complete_bootstrap<'a>(
        &'a self,
        ctx: &'a EffectContext,
        lease: &'a LeaseFacts,
        workload: &'a Handle,
    ) -> Work<'a, Result<(), EffectFailure>>;

    /// Runs a hook on a lease to its end; succeeds if it ended with status 0.
    ///
    /// A hook that failed is a definite failure of class `Workload`, also one that took too long: it was ended.
    fn run_hook<'a>(
        &'a self,
        _ctx: &'a EffectContext,
        _run: &'a HookRun,
    ) -> Work<'a, Result<(), EffectFailure>> {
        Box::pin(std::future::ready(Err(EffectFailure {
            certainty: Certainty::Definite,
            class: FailureClass::Invalid,
            message: Redacted::new("this provider runs no hooks"),
        })))
    }

    /// Asks a workload by a command in its own ground; passes if that ends with status 0 in time.
    ///
    /// A command that is not there, fails or takes too long is a failure; what the provider itself cannot do is unknown.
    fn probe<'a>(&'a self, _ask: &'a ProbeAsk) -> Work<'a, ProbeAnswer> {
        let why = Redacted::new("this provider asks by no command");
        Box::pin(std::future::ready(ProbeAnswer::Unknown(why)))
    }

    /// The last lines of what runs on a lease, cleaned; empty where the provider keeps no output.
    fn last_lines<'a>(&'a self, _lease: &'a LeaseFacts) -> Work<'a, Redacted> {
        Box::pin(std::future::ready(Redacted::default()))
    }

    /// Waits until a workload ends, where the provider can notice that by itself; `None` where only looks tell.
    fn watch(&self, lease: &LeaseFacts, workload: &Handle) -> Option<Work<'static, Exit>>;

    /// Drops what it keeps for people of a slot that is gone for good, such as the output of its last attempt.
    ///
    /// Returns at once, and is called within the runtime. It changes nothing that runs, and still is a controller's deed:
    /// a provider that enforces fences keeps everything where a newer one was seen.
    fn forget(&self, _slot: &LogicalNodeId, _fence: Fence) {}

    /// Finishes what was put off, before the controller ends; nothing is asked of the provider after that.
    fn close(&self) -> Work<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
