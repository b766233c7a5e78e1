//! Reads what groups wait for of each other, and refuses what could never come to be.

use std::{collections::BTreeMap, ops::Range};

use reconciler_core::{
    desired::{GateCondition, Gates, GroupKind, find_cycle},
    id::GroupId,
};
use toml::{Spanned, de::DeValue};

use super::{
    diagnostic::{Diagnostic, Report},
    reader::{At, Section, wrong_type},
    suggest::{listed, nearest},
};

/// What one group says of itself and of those that it waits for.
pub(super) struct Declared {
    name: String,
    span: Range<usize>,
    kind: GroupKind,
    after: Vec<Gate>,
}

/// One gate, with the place of its group's name.
struct Gate {
    on: String,
    span: Range<usize>,
    /// The condition with its own place, where it is one.
    condition: Option<(GateCondition, Range<usize>)>,
}

impl Declared {
    /// Reads `kind` and `after` of a group.
    pub(super) fn read(name: &At<&str>, group: &Section<'_>, out: &mut Report) -> Self {
        let after = gates(group, out);
        let after = after.into_iter().map(|(on, value)| Gate {
            on: on.value.to_owned(),
            span: on.span,
            condition: condition(&value, out).map(|condition| (condition, value.span)),
        });
        Self {
            name: name.value.to_owned(),
            span: name.span.clone(),
            after: after.collect(),
            kind: kind(group, out),
        }
    }

    /// The kind of the group.
    pub(super) const fn kind(&self) -> GroupKind {
        self.kind
    }

    /// Its gates, as far as they can be read.
    pub(super) fn gates(&self) -> Gates {
        let gate = |gate: &Gate| Some((gate.on.parse().ok()?, gate.condition.as_ref()?.0));
        self.after.iter().filter_map(gate).collect()
    }
}

/// The gates as they stand; a list of names lacks what is waited for.
fn gates<'d>(group: &Section<'d>, out: &mut Report) -> Vec<(At<&'d str>, At<&'d str>)> {
    let Some(value) = group.raw("after").filter(|value| !value.get_ref().is_table()) else {
        return group.text_map("after", out);
    };
    let value_of = value.get_ref();
    let items = value_of.as_array().into_iter().flatten().map(Spanned::get_ref);
    let mut names: Vec<&str> = items.chain([value_of]).filter_map(DeValue::as_str).collect();
    if names.is_empty() {
        names.push("db");
    }
    let gates: Vec<String> = names.iter().map(|name| format!("{name} = \"ready\"")).collect();
    let hint = format!("write after = {{ {} }}", gates.join(", "));
    out.push(wrong_type(value, "a table (names and strings)").hint(hint));
    Vec::new()
}

fn kind(group: &Section<'_>, out: &mut Report) -> GroupKind {
    let Some(kind) = group.text("kind", out) else { return GroupKind::default() };
    match kind.value {
        "service" => GroupKind::Service,
        "job" => GroupKind::Job,
        other => {
            let message = format!("unknown kind of group `{other}`");
            let hint = "use \"service\" (it is to run for ever) or \"job\" (it is to end)";
            out.push(Diagnostic::new(kind.span, message).hint(hint));
            GroupKind::default()
        }
    }
}

fn condition(value: &At<&str>, out: &mut Report) -> Option<GateCondition> {
    let found = GateCondition::ALL.into_iter().find(|known| known.as_str() == value.value);
    if found.is_none() {
        let known = || GateCondition::ALL.map(GateCondition::as_str);
        let hint = nearest(value.value, known()).map_or_else(
            || format!("known are {}", listed(known())),
            |near| format!("did you mean \"{near}\"?"),
        );
        let message = format!("nothing can be waited for as `{}`", value.value);
        out.push(Diagnostic::new(value.span.clone(), message).hint(hint));
    }
    found
}

/// Checks the gates of all groups against each other.
pub(super) fn check(all: &[Declared], out: &mut Report) {
    let by_name: BTreeMap<&str, &Declared> =
        all.iter().map(|declared| (declared.name.as_str(), declared)).collect();
    for group in all {
        for gate in &group.after {
            one(group, gate, &by_name, out);
        }
    }
    ring(all, out);
}

fn one(group: &Declared, gate: &Gate, by_name: &BTreeMap<&str, &Declared>, out: &mut Report) {
    let name = &group.name;
    if gate.on == *name {
        let message = format!("group `{name}` waits for itself");
        let hint = "a group can wait for others alone";
        out.push(Diagnostic::new(gate.span.clone(), message).hint(hint));
        return;
    }
    let Some(on) = by_name.get(gate.on.as_str()) else {
        let message = format!("group `{name}` waits for `{}`, which is not declared", gate.on);
        let others = || by_name.keys().copied().filter(|other| other != name);
        let hint = nearest(&gate.on, others()).map_or_else(
            || format!("the other groups are {}", listed(others().take(16))),
            |near| format!("did you mean `{near}`?"),
        );
        out.push(Diagnostic::new(gate.span.clone(), message).hint(hint).doubtful());
        return;
    };
    if let Some((GateCondition::Completed, span)) = &gate.condition
        && on.kind != GroupKind::Job
    {
        let message = format!("`{}` is no job, and so is never completed", gate.on);
        let hint =
            format!("wait until it is \"ready\", or give [group.{}] kind = \"job\"", gate.on);
        let diagnostic = Diagnostic::new(span.clone(), message).hint(hint);
        out.push(diagnostic.related(on.span.clone(), "declared here").doubtful());
    }
}

/// Refuses groups that wait for each other, at the first of their gates.
fn ring(all: &[Declared], out: &mut Report) {
    let names = |group: &Declared| {
        let on = group.after.iter().filter(|gate| gate.on != group.name);
        let on: Vec<GroupId> = on.filter_map(|gate| gate.on.parse().ok()).collect();
        Some((group.name.parse::<GroupId>().ok()?, on))
    };
    let edges: Vec<(GroupId, Vec<GroupId>)> = all.iter().filter_map(names).collect();
    let Some(ring) = find_cycle(edges.iter().map(|(name, on)| (name, on.iter()))) else { return };
    let place = |at: usize| {
        let (from, on) = (ring.get(at)?, ring.get((at + 1) % ring.len())?);
        let group = all.iter().find(|group| group.name == from.as_str())?;
        let gate = group.after.iter().find(|gate| gate.on == on.as_str())?;
        Some((gate.span.clone(), format!("`{from}` waits for `{on}`")))
    };
    let Some((span, label)) = place(0) else { return };
    let shown: Vec<&str> = ring.iter().chain(ring.first()).map(GroupId::as_str).collect();
    let message = format!("groups wait for each other in a ring: {}", shown.join(" -> "));
    let diagnostic = Diagnostic::new(span, message).label(label);
    let diagnostic = diagnostic.hint("none of them could ever start; take one of these gates out");
    out.push(match place(1) {
        Some((span, label)) => diagnostic.related(span, label),
        None => diagnostic,
    });
}
