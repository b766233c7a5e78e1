//! Runs every check against a provider, in an order in which each builds on those before it.

use std::sync::Arc;

use super::{
    bench::Bench,
    options::BatteryOptions,
    report::{Check, Report, Verdict},
    seen::Seen,
};
use crate::seam::Provider;

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
    let verdict = bench.no_hook_is_seen_before_the_first(&node, &seen).await;
    add("no_hook_is_seen_before_the_first", &["D7"], verdict);
    add("a_hook_completes_once", &["D7", "R138"], bench.a_hook_completes_once(&node, &seen).await);
    add("a_failed_hook_is_told", &["D7"], bench.a_failed_hook_is_told(&node, &seen).await);
    let verdict = bench.a_stale_fence_runs_no_hook(&node, &seen).await;
    add("a_stale_fence_runs_no_hook", &["D11", "C16"], verdict);
    let verdict = bench.stale_fence_is_refused(&node, &stranger, &seen).await;
    add("stale_fence_is_refused", &["D11", "C16"], verdict);
    add("cancel_ends_the_workload", &["R69"], bench.cancel_ends_the_workload(&node, &seen).await);
    let verdict = bench.start_after_cancel_runs(&node, &seen).await;
    add("start_after_cancel_runs", &["D7"], verdict);
    add("exit_is_noticed", &["D6"], bench.exit_is_noticed(&failing).await);
    add("destroy_leaves_absence", &["D8", "R69"], bench.destroy_leaves_absence(&node, &seen).await);
    let nodes = [node, failing, stranger];
    let left = bench.nothing_is_left(&nodes).await;
    add("nothing_is_left", &["R75"], left);
    for node in &nodes {
        bench.provider.forget(&node.slot, bench.options.fence);
    }
    bench.provider.close().await;
    Report { kind, checks }
}
