//! Judging a plan by the guardrails of its shapes: what forbids it, and what must be said to confirm it.
//!
//! A whole plan is judged, whoever asks for it and by whichever face. The guardrails of the live shape count together
//! with those of the shape that the plan leads to, so that no plan lowers the rail that it runs against. What the driver
//! does by itself to keep what was confirmed (repairs, retries, the way back of an update) is not judged.

use alloc::{
    borrow::ToOwned as _,
    collections::BTreeSet,
    format,
    string::{String, ToString as _},
};
use core::fmt;

use super::{
    change::{Change, ChangeKind},
    lifecycle::LifecyclePlan,
};
use crate::{
    desired::{ClusterShape, Deed, Demand, Guardrail},
    id::GroupId,
};

impl ChangeKind {
    /// What guardrails call it; nothing for what only mends what was confirmed before.
    const fn deed(self) -> Option<Deed> {
        match self {
            Self::Create => Some(Deed::Create),
            Self::Replace => Some(Deed::Replace),
            Self::Repair => None,
            Self::Destroy => Some(Deed::Destroy),
            Self::Stop => Some(Deed::Stop),
            Self::Start => Some(Deed::Start),
            Self::Restart => Some(Deed::Restart),
        }
    }
}

/// A plan runs against a guardrail.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a guardrail of {whose} {what}: {reason}")]
pub struct Breach {
    whose: String,
    what: Forbidden,
    reason: String,
}

/// What a plan does that a guardrail forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Forbidden {
    Deed { deed: Deed, slot: String },
    TooMany { destroyed: usize, most: u32 },
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deed { deed, slot } => {
                write!(f, "denies to {} a node, and this plan would do it to {slot}", deed.as_str())
            }
            Self::TooMany { destroyed, most } => {
                write!(
                    f,
                    "lets a plan destroy {most} nodes at most, and this one destroys {destroyed}"
                )
            }
        }
    }
}

/// What must be said to confirm a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demanded {
    /// What.
    pub demand: Demand,
    /// The name, where one is to be typed: that of the one group whose guardrails want it, else that of the run.
    pub name: String,
    /// Why, verbatim, each reason once.
    pub reasons: BTreeSet<String>,
}

/// Judges `plan`, which leads from `base` to `target`: what must be said to confirm it, if anything.
///
/// # Errors
/// The first guardrail that forbids it.
pub fn judge(
    plan: &LifecyclePlan,
    base: &ClusterShape,
    target: &ClusterShape,
) -> Result<Option<Demanded>, Breach> {
    let rails = || base.guardrails().iter().chain(target.guardrails());
    if let Some(breach) = rails().find_map(|rail| breach(rail, plan)) {
        return Err(breach);
    }
    let touched = || rails().filter(|rail| rail.confirm.is_some() && is_touched(rail, plan));
    let Some(demand) = touched().filter_map(|rail| rail.confirm).max() else { return Ok(None) };
    let asking = touched().filter(|rail| rail.confirm == Some(demand));
    let whose: BTreeSet<Option<&GroupId>> = asking.map(|rail| rail.group.as_ref()).collect();
    let name = match (whose.len(), whose.first()) {
        (1, Some(Some(group))) => group.to_string(),
        _ => target.run.to_string(),
    };
    let reasons = touched().map(|rail| rail.reason.clone()).collect();
    Ok(Some(Demanded { demand, name, reasons }))
}

/// True if the plan takes something away from what the guardrail is about, or interrupts it.
fn is_touched(rail: &Guardrail, plan: &LifecyclePlan) -> bool {
    let own = plan.changes.iter().filter(|change| rail.is_about(&change.slot.group));
    own.filter_map(|change| change.kind.deed()).any(Deed::takes)
}

fn breach(rail: &Guardrail, plan: &LifecyclePlan) -> Option<Breach> {
    let own = || plan.changes.iter().filter(|change| rail.is_about(&change.slot.group));
    let denied = |change: &Change| change.kind.deed().filter(|deed| rail.deny.contains(deed));
    let denied = own().find_map(|change| Some((denied(change)?, &change.slot)));
    let what = if let Some((deed, slot)) = denied {
        Forbidden::Deed { deed, slot: slot.to_string() }
    } else {
        let most = rail.max_destroy?;
        let destroyed = own().filter(|change| change.kind == ChangeKind::Destroy).count();
        if destroyed <= most as usize {
            return None;
        }
        Forbidden::TooMany { destroyed, most }
    };
    let whose = rail.group.as_ref().map(|group| format!("group `{group}`"));
    let whose = whose.unwrap_or_else(|| "the run".to_owned());
    Some(Breach { whose, what, reason: rail.reason.clone() })
}
