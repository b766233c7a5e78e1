//! Runs every check against a provider, in an order in which each builds on those before it.

use std::{sync::Arc, time::Duration};

use reconciler_core::{
    desired::DesiredNodeShape,
    id::{Fence, GroupId, ProviderName, Uuid},
    observed::{Endpoint, Handle, LeaseFacts},
};

use super::{
    bench::Bench,
    report::{Check, Report, Verdict, skipped},
};
use crate::seam::Provider;

/// What the battery may use.
#[derive(Clone, Debug)]
pub struct BatteryOptions {
    /// The name of the provider in specs.
    pub provider: ProviderName,
    /// A run of its own: whatever is listed for it counts as the battery's.
    pub run: Uuid,
    /// The group of its nodes.
    pub group: GroupId,
    /// What its nodes need; an image where the provider wants one.
    pub shape: DesiredNodeShape,
    /// A workload that goes on until it is ended.
    pub stays: Vec<String>,
    /// A workload that ends by itself with a status other than zero.
    pub fails: Vec<String>,
    /// The longest wait for one answer, and for one thing to show.
    pub bound: Duration,
    /// Time between the polite and the forced end of a workload.
    pub grace: Duration,
    /// The fence of the trial; the provider must not have seen a higher one.
    pub fence: Fence,
}

impl BatteryOptions {
    /// The usual options; `run` must be a fresh UUID, because providers remember keys that derive from it.
    pub fn new(provider: ProviderName, group: GroupId, run: Uuid) -> Self {
        let owned = |argv: &[&str]| argv.iter().map(|&text| text.to_owned()).collect();
        Self {
            provider,
            run,
            group,
            shape: DesiredNodeShape::default(),
            stays: owned(&["sleep", "3600"]),
            fails: owned(&["false"]),
            bound: Duration::from_mins(1),
            grace: Duration::from_secs(2),
            fence: Fence::new(2),
        }
    }
}

/// What the checks so far learned of the node under trial.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) lease: Option<LeaseFacts>,
    pub(super) endpoint: Option<Endpoint>,
    pub(super) workload: Option<Handle>,
}

impl Seen {
    pub(super) fn lease(&self) -> Verdict<&LeaseFacts> {
        self.lease.as_ref().map_or_else(|| skipped("no lease was made"), Ok)
    }

    pub(super) fn endpoint(&self) -> Verdict<&Endpoint> {
        self.endpoint.as_ref().map_or_else(|| skipped("no endpoint is known"), Ok)
    }

    pub(super) fn workload(&self) -> Verdict<&Handle> {
        self.workload.as_ref().map_or_else(|| skipped("no workload was started"), Ok)
    }
}

/// Runs the battery. It leaves nothing behind where the provider lets it, whatever failed before.
pub async fn run(provider: Arc<dyn Provider>, options: BatteryOptions) -> Report {
    let kind = provider.capabilities().kind.to_owned();
    let bench = Bench::new(provider, options);
    let node = bench.node(0, &bench.options.stays);
    let failing = bench.node(1, &bench.options.fails);
    let stranger = bench.node(2, &bench.options.stays);
    let mut seen = Seen::default();
    let mut checks = Vec::new();
    let mut add = |name, cites, verdict: Verdict| {
        checks.push(Check { name, cites, outcome: verdict.into() });
    };

    add("unknown_is_absent", &["D6"], bench.unknown_is_absent(&stranger).await);
    add(
        "destroy_of_unknown_succeeds",
        &["R69"],
        bench.destroy_of_unknown_succeeds(&stranger).await,
    );
    add("create_gives_a_lease", &["D6"], bench.create_gives_a_lease(&node, &mut seen).await);
    add("create_again_adopts", &["D7"], bench.create_again_adopts(&node, &seen).await);
    add("listing_is_complete", &["C1", "D6"], bench.listing_is_complete(&node, &seen).await);
    add("endpoint_becomes_known", &["D12"], bench.endpoint_becomes_known(&node, &mut seen).await);
    add("start_runs", &["D7"], bench.start_runs(&node, &mut seen).await);
    add("start_again_adopts", &["D7"], bench.start_again_adopts(&node, &seen).await);
    add("complete_keeps_running", &["R69"], bench.complete_keeps_running(&node, &seen).await);
    let verdict = bench.stale_fence_is_refused(&node, &stranger, &seen).await;
    add("stale_fence_is_refused", &["D11", "C16"], verdict);
    add("cancel_ends_the_workload", &["R69"], bench.cancel_ends_the_workload(&node, &seen).await);
    add("exit_is_noticed", &["D6"], bench.exit_is_noticed(&failing).await);
    add("destroy_leaves_absence", &["D8", "R69"], bench.destroy_leaves_absence(&node, &seen).await);
    let left = bench.nothing_is_left(&[node, failing, stranger]).await;
    add("nothing_is_left", &["R75"], left);
    Report { kind, checks }
}
