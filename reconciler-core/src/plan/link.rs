//! The steps of a projection in order, each behind the one before it of its slot.

use alloc::vec::Vec;

use super::{
    after::After,
    step::{PlanStep, leads_to},
};

/// Brings steps, which come in the order in which they were taken, into the order of their slots, and lets each
/// follow the one before it of its slot.
pub(super) fn linked(steps: Vec<PlanStep>) -> Vec<PlanStep> {
    let mut places: Vec<usize> = (0..steps.len()).collect();
    // Stable: within a slot the order stays that of the projection.
    places.sort_by_key(|at| steps.get(*at).map(|step| &step.slot));
    let mut steps = in_places(steps, &places);
    let mut rest = &mut steps[..];
    while let [before, others @ ..] = rest {
        if let Some(step) = others.first_mut().filter(|step| step.slot == before.slot) {
            if leads_to(before.action, step.action) {
                step.after = After::default();
            }
            step.after.insert(before.key());
        }
        rest = others;
    }
    steps
}

/// The steps in another order: `places` names each place once.
pub(super) fn in_places(steps: Vec<PlanStep>, places: &[usize]) -> Vec<PlanStep> {
    // A step is large: where it is in its place already, it stays there.
    if places.iter().copied().eq(0..steps.len()) {
        return steps;
    }
    let mut steps: Vec<Option<PlanStep>> = steps.into_iter().map(Some).collect();
    let mut moved = Vec::with_capacity(steps.len());
    moved.extend(places.iter().filter_map(|at| steps.get_mut(*at)?.take()));
    moved
}
