//! A plan in words: a line per change, a line that counts, the hash.

use std::collections::BTreeMap;

use driver::view::{ChangeKind, PlanGroupView, PlanView};
use reconciler_core::effect::ActionKind;

/// The lines of a plan, without the one that says what to type next.
pub(crate) fn lines(plan: &PlanView) -> Vec<String> {
    let mut lines = Vec::new();
    for group in plan.groups.iter().filter(|g| !g.changes.is_empty() || g.from != g.to) {
        lines.push(format!("{}  {} -> {} nodes", group.group, group.from, group.to));
        if let Some(impact) = &group.impact {
            lines.push(format!("  {}", impact.summary));
        }
        lines.extend(hooks(plan, group));
        for change in &group.changes {
            let (mark, word) = words(change.kind);
            let ready = if change.ready { ", ready now" } else { "" };
            lines.push(format!("  {mark:<3} {word:<8} {}  ({}{ready})", change.slot, change.why));
        }
    }
    // What the driver mends by itself is in the changes above.
    let told = plan.drift.iter().filter(|drift| drift.needs_a_person());
    lines.extend(told.map(|drift| format!("drift: {}", drift.line())));
    lines.extend(demand(plan));
    lines.push(summary(plan));
    lines.push(if plan.offline {
        let way = format!("generation {} -> {}", plan.base, plan.target);
        format!("offline: this is what the journal says; nobody looked, and nothing is confirmed by it  {way}")
    } else {
        format!("plan {}  generation {} -> {}", plan.hash, plan.base, plan.target)
    });
    lines
}

/// The options that confirm this plan: its hash, and the word that guardrails want said.
pub(crate) fn confirmation(plan: &PlanView) -> String {
    let typed = plan.demand.as_ref().map(|demand| format!(" --typed {}", demand.word()));
    format!("--confirm {}{}", plan.hash, typed.unwrap_or_default())
}

/// What guardrails want said, with their reasons as they are declared.
fn demand(plan: &PlanView) -> Vec<String> {
    let Some(demand) = &plan.demand else { return Vec::new() };
    let wants = if demand.confirm == "name" {
        format!("the name `{}`, typed", demand.name)
    } else {
        "an explicit yes".to_owned()
    };
    demand.reasons.iter().map(|reason| format!("guardrail wants {wants}: {reason}")).collect()
}

/// Which hooks the plan runs in a group, and how often: what they do cannot be taken back.
fn hooks(plan: &PlanView, group: &PlanGroupView) -> Option<String> {
    let mut times: BTreeMap<_, u32> = BTreeMap::new();
    for step in plan.steps.iter().filter(|step| step.slot.group == group.group) {
        if let Some(ActionKind::Hook(point)) = ActionKind::from_name(&step.action) {
            *times.entry(point).or_default() += 1;
        }
    }
    let each = times.iter().map(|(point, n)| format!("{} x{n}", point.as_str()));
    let each: Vec<String> = each.collect();
    (!each.is_empty())
        .then(|| format!("  runs hooks, which nothing takes back: {}", each.join(", ")))
}

/// What a plan without a step says; nodes that are held are neither changed by it nor as they should be.
fn nothing(plan: &PlanView) -> String {
    let held = match plan.blocked {
        0 => String::new(),
        held => format!(", {held} held"),
    };
    format!("Nothing to do: {} nodes are as they should be{held}.", plan.unchanged)
}

/// The counts of a plan in one sentence.
pub(crate) fn summary(plan: &PlanView) -> String {
    if plan.empty {
        return nothing(plan);
    }
    let powered = [(plan.stop, "stop"), (plan.start, "start"), (plan.restart, "restart")];
    let powered =
        powered.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} to {word}, "));
    format!(
        "Plan: {} to create, {} to replace, {} to repair, {} to destroy, {}{} unchanged, {} held.",
        plan.create,
        plan.replace,
        plan.repair,
        plan.destroy,
        powered.collect::<String>(),
        plan.unchanged,
        plan.blocked
    )
}

const fn words(kind: ChangeKind) -> (&'static str, &'static str) {
    match kind {
        ChangeKind::Create => ("+", "create"),
        ChangeKind::Replace => ("-/+", "replace"),
        ChangeKind::Repair => ("~", "repair"),
        ChangeKind::Destroy => ("-", "destroy"),
        ChangeKind::Stop => (".", "stop"),
        ChangeKind::Start => (">", "start"),
        ChangeKind::Restart => ("~", "restart"),
        ChangeKind::Blocked => ("!", "held"),
    }
}
