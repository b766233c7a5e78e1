//! Reads what a provider is declared to have, and refuses a file whose groups ask for more (D16).

use reconciler_core::{
    desired::RunNodeGroupSpec,
    id::ProviderName,
    ownership::{Capacity, Demand, Ledger},
    time::Timestamp,
};

use super::{
    diagnostic::{Diagnostic, Report},
    keys,
    reader::Section,
    shape,
};

/// Reads `capacity`; nothing where none is declared, and nothing is bounded then.
pub(super) fn read(provider: &Section<'_>, out: &mut Report) -> Option<Capacity> {
    provider.raw("capacity")?;
    let capacity = provider.sub("capacity", &keys::CAPACITY, out);
    let whole = |key, out: &mut Report| capacity.whole(key, 0..=u32::MAX, out);
    let nodes = whole("nodes", out).map(|at| at.value.into());
    let gpus = whole("gpus", out).map(|at| at.value.into());
    let cpu_millis = shape::cpus(&capacity, out).map(u64::from);
    let memory_mib = shape::size(&capacity, "memory", 1, out).map(u64::from);
    Some(Capacity { nodes, cpu_millis, memory_mib, gpus })
}

/// Refuses groups that together ask a provider for more than it is declared to have.
pub(super) fn check(
    root: &Section<'_>,
    declared: impl Iterator<Item = (ProviderName, Capacity)>,
    groups: &[RunNodeGroupSpec],
    out: &mut Report,
) {
    let mut ledger = Ledger::new(declared);
    for spec in groups {
        let (provider, count) = (&spec.spec.provider, u64::from(spec.count));
        let asked = Demand::of(&spec.spec.shape).times(count);
        let Err(short) = ledger.admit(provider, &spec.group, asked, Timestamp::ZERO) else {
            continue;
        };
        // The sections were read before; what is wrong with them was said then.
        let mut said = Report::default();
        let all = root.sub_free("group", "groups by name", &mut said);
        let span = all.raw(spec.group.as_str()).map_or_else(
            || root.span.clone(),
            |at| {
                let group = Section::free(at, "a group", &mut said);
                group.raw("count").map_or(group.span.clone(), toml::Spanned::span)
            },
        );
        let resource = short.resource.as_str();
        let hint =
            format!("ask for less, or declare more `{resource}` in [provider.{provider}.capacity]");
        out.push(Diagnostic::new(span, format!("group `{}`: {short}", spec.group)).hint(hint));
    }
}
