//! The checks of the lease side: made once, found by id and in the listing, given back for good.

use reconciler_core::{
    effect::{Certainty, CommandKind, EffectFailure, FailureClass, Look},
    id::Fence,
};

use super::{
    bench::{Bench, Node, count, must, told},
    report::{Verdict, failed, skipped},
    seen::Seen,
};
use crate::seam::Fencing;

impl Bench {
    /// `create_lease` gives a lease, and a look by id finds it.
    pub(super) async fn create_gives_a_lease(&self, node: &Node, seen: &mut Seen) -> Verdict {
        let leased = must("create_lease", self.create(node, self.options.fence).await?)?;
        seen.lease = Some(leased.lease.clone());
        seen.endpoint = leased.endpoint;
        let present = |look: &Look| matches!(look, Look::Present { .. });
        self.see(node, Some(&leased.lease), "the new lease", present).await?;
        Ok(())
    }

    /// A second `create_lease` with the same key gives the same lease.
    pub(super) async fn create_again_adopts(&self, node: &Node, seen: &Seen) -> Verdict {
        let first = seen.lease()?;
        let again = must("create_lease", self.create(node, self.options.fence).await?)?;
        if again.lease.id != first.id {
            return failed(format!(
                "the same key made two leases, {} and {}; the second call must find the first's",
                first.id, again.lease.id
            ));
        }
        let uuid = node.attempt.uuid;
        self.list_until("this attempt once", |listed| count(listed, uuid) == 1).await?;
        Ok(())
    }

    /// The listing vouches for itself and names slot, attempt and fence.
    pub(super) async fn listing_is_complete(&self, node: &Node, seen: &Seen) -> Verdict {
        let lease = seen.lease()?;
        let uuid = node.attempt.uuid;
        let listed = self.list_until("the lease", |listed| count(listed, uuid) > 0).await?;
        let Some(found) = listed.iter().find(|found| found.attempt == uuid) else {
            return failed("list_owned lost the lease between two calls");
        };
        if found.slot != node.slot {
            return failed(format!("the listing says slot {}, not {}", found.slot, node.slot));
        }
        if found.fence != self.options.fence {
            let (is, want) = (found.fence, self.options.fence);
            return failed(format!("the listing says fence {is}; it was created under {want}"));
        }
        if found.lease.id != lease.id {
            let (is, want) = (&found.lease.id, &lease.id);
            return failed(format!("the listing says lease {is}; create_lease said {want}"));
        }
        Ok(())
    }

    /// The endpoint becomes known.
    pub(super) async fn endpoint_becomes_known(&self, node: &Node, seen: &mut Seen) -> Verdict {
        let lease = seen.lease()?.clone();
        let end = std::time::Instant::now() + self.options.bound;
        loop {
            let ctx = self.context(node, CommandKind::LookupEndpoint, self.options.fence);
            let call = self.provider.lookup_endpoint(&ctx, &lease);
            let answer = self.bounded("lookup_endpoint", call).await?;
            if let Some(endpoint) = must("lookup_endpoint", answer)? {
                if endpoint.host.is_empty() {
                    return failed("lookup_endpoint gave an endpoint without a host");
                }
                seen.endpoint = Some(endpoint);
                return Ok(());
            }
            if std::time::Instant::now() >= end {
                return failed("lookup_endpoint never gave an endpoint");
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// A controller with a lower fence can neither make, end nor take anything.
    pub(super) async fn stale_fence_is_refused(
        &self,
        node: &Node,
        other: &Node,
        seen: &Seen,
    ) -> Verdict {
        if self.provider.capabilities().fencing == Fencing::Advisory {
            return skipped("the provider does not claim to refuse a stale controller");
        }
        let (lease, workload) = (seen.lease()?, seen.workload()?);
        let Some(stale) = self.options.fence.get().checked_sub(1).map(Fence::new) else {
            return skipped("the trial's fence is zero, and none is lower");
        };
        refused("create_lease", self.create(other, stale).await?)?;
        refused("cancel_bootstrap", self.cancel(node, lease, workload, stale).await?)?;
        refused("destroy_lease", self.destroy(node, lease, stale).await?)?;
        self.see_running(node, lease).await?;
        match self.look(other, None).await? {
            Look::Absent => Ok(()),
            look @ (Look::Present { .. } | Look::Unknown { .. }) => failed(format!(
                "the refused create_lease should have made nothing; inspect showed {look:?}"
            )),
        }
    }

    /// After `destroy_lease` a look by id says absent, and destroying again succeeds.
    pub(super) async fn destroy_leaves_absence(&self, node: &Node, seen: &Seen) -> Verdict {
        let lease = seen.lease()?;
        must("destroy_lease", self.destroy(node, lease, self.options.fence).await?)?;
        let absent = |look: &Look| matches!(look, Look::Absent);
        self.see(node, Some(lease), "absence", absent).await?;
        must("a second destroy_lease", self.destroy(node, lease, self.options.fence).await?)
    }

    /// `destroy_lease` of something that never was succeeds.
    pub(super) async fn destroy_of_unknown_succeeds(&self, node: &Node) -> Verdict {
        let lease = self.unknown_lease();
        must("destroy_lease", self.destroy(node, &lease, self.options.fence).await?)
    }

    /// A look at something that never was says absent, not unknown.
    pub(super) async fn unknown_is_absent(&self, node: &Node) -> Verdict {
        match self.look(node, None).await? {
            Look::Absent => Ok(()),
            look @ (Look::Present { .. } | Look::Unknown { .. }) => {
                failed(format!("inspect of an attempt that never was showed {look:?}"))
            }
        }
    }

    /// Nothing of the trial is left.
    pub(super) async fn nothing_is_left(&self, nodes: &[Node]) -> Verdict {
        for node in nodes {
            // Gives back also what a failed check left; the lease may be unknown here, the attempt never is.
            let lease = match self.look(node, None).await? {
                Look::Absent => continue,
                Look::Present { lease, .. } => lease,
                Look::Unknown { .. } => self.unknown_lease(),
            };
            must("destroy_lease", self.destroy(node, &lease, self.options.fence).await?)?;
        }
        self.list_until("nothing", <[_]>::is_empty).await?;
        Ok(())
    }
}

fn refused<T>(what: &str, result: Result<T, EffectFailure>) -> Verdict {
    match result {
        Ok(_) => failed(format!("{what} with a lower fence than was seen should be refused")),
        Err(failure)
            if failure.class == FailureClass::Fenced
                && failure.certainty == Certainty::Definite =>
        {
            Ok(())
        }
        Err(failure) => failed(format!(
            "{what} with a lower fence should fail as fenced and definite; it failed: {}",
            told(&failure)
        )),
    }
}
