//! Reads the declared groups: names, counts and, through the sections' own readers, what each node is.

use std::{collections::BTreeMap, ops::Range};

use executor::seam::Capabilities;
use reconciler_core::{
    desired::{JoinMode, NodeSpec, Policy, Power, RunNodeGroupSpec},
    id::{GroupId, LogicalNodeId},
    limits,
};
use toml::{Spanned, de::DeValue};

use super::{
    boot,
    diagnostic::{Diagnostic, Report},
    gates::{self, Declared},
    keys, policy, probes,
    provider::{self, Providers},
    reader::{At, Section, wrong_type},
    shape,
};

/// Longest role: it is shown in one column and given to providers as a label.
const ROLE_LEN_MAX: usize = 63;

/// Reads `group`; only groups without a problem of their name, count and provider are returned.
pub(super) fn read(
    root: &Section<'_>,
    providers: &Providers,
    out: &mut Report,
) -> Vec<RunNodeGroupSpec> {
    root.require("group", "declare at least one group as [group.NAME]", out);
    let declared = root.sub_free("group", "groups by name", out);
    let names: Vec<_> = declared.entries().map(|(name, _)| name).collect();
    if names.len() > limits::GROUPS_MAX {
        let message = format!("{} groups are declared", names.len());
        let hint = format!("at most {} are allowed", limits::GROUPS_MAX);
        out.push(Diagnostic::new(declared.span.clone(), message).hint(hint));
    }
    check_collisions(&names, out);
    let read = declared.entries().take(limits::GROUPS_MAX);
    let mut gates = Vec::new();
    let groups =
        read.filter_map(|(name, value)| one(&name, value, providers, &mut gates, out)).collect();
    gates::check(&gates, out);
    groups
}

/// Refuses a group that is called as a slot of another: `web-0` could then mean either.
fn check_collisions(names: &[At<&str>], out: &mut Report) {
    let by_name: BTreeMap<_, _> = names.iter().map(|name| (name.value, &name.span)).collect();
    for name in names {
        let Ok(slot) = name.value.parse::<LogicalNodeId>() else { continue };
        let group = slot.group.as_str();
        if let Some(owner) = by_name.get(group) {
            let message =
                format!("group `{}` has the name of a slot of group `{group}`", name.value);
            let collision = Diagnostic::new(name.span.clone(), message).hint(format!(
                "choose a name that does not end in a hyphen and a number, such as `{}{}`",
                group, slot.index
            ));
            out.push(collision.related(Range::clone(owner), "its slots are named after it"));
        }
    }
}

fn one(
    name: &At<&str>,
    value: &Spanned<DeValue<'_>>,
    providers: &Providers,
    gates: &mut Vec<Declared>,
    out: &mut Report,
) -> Option<RunNodeGroupSpec> {
    let section = Section::open(value, &keys::GROUP, out);
    let parsed = name.value.parse::<GroupId>();
    if let Err(error) = &parsed {
        let hint = "use a-z, 0-9 and inner hyphens, a letter first, at most 63 characters";
        out.push(Diagnostic::new(name.span.clone(), error.to_string()).hint(hint));
    }
    section.require("count", "say how many nodes there should be: count = 3", out);
    let count = section.whole("count", 0..=limits::GROUP_COUNT_MAX, out);
    let role = role(&section, out).unwrap_or_else(|| name.value.to_owned());
    let provider = provider::chosen(&section, providers, out);
    let capabilities = provider.as_ref().and_then(|name| providers.capabilities(name));
    let shape = shape::read(&section, capabilities, out);
    let boot = boot::read(&section, capabilities, out);
    let (join, joined) = join(&section, capabilities, out);
    let declared = Declared::read(name, &section, out);
    // An agent asks its workload by commands, whatever its provider can.
    let by_agent = join == JoinMode::Agent;
    let asking = capabilities.map(|c| Capabilities { probes: c.probes || by_agent, ..c.clone() });
    let policy = policy::read(&section, &boot, asking.as_ref(), out);
    probes::check_join(joined, join, &policy.probes, out);
    let policy = Policy { kind: declared.kind(), after: declared.gates(), ..policy };
    gates.push(declared);
    let power = power(&section, out);
    let spec = NodeSpec { role, provider: provider?, shape, boot: boot.spec, join };
    let group = RunNodeGroupSpec::new(parsed.ok()?, count?.value, spec, policy);
    Some(RunNodeGroupSpec { power, ..group })
}

fn power(section: &Section<'_>, out: &mut Report) -> Power {
    if let Some(value) = section.raw("power")
        && let Some(on) = value.get_ref().as_bool()
    {
        let hint = format!("write power = \"{}\"", if on { "on" } else { "off" });
        out.push(wrong_type(value, "a string").hint(hint));
        return Power::default();
    }
    let Some(power) = section.text("power", out) else { return Power::default() };
    match power.value {
        "on" => Power::default(),
        "off" => Power::switched_off(),
        other => {
            let message = format!("unknown power `{other}`");
            let hint = "use \"on\", or \"off\" for nodes that keep their lease and run nothing";
            out.push(Diagnostic::new(power.span, message).hint(hint));
            Power::default()
        }
    }
}

fn role(section: &Section<'_>, out: &mut Report) -> Option<String> {
    let role = section.text("role", out)?;
    let fits = !role.value.is_empty() && role.value.len() <= ROLE_LEN_MAX;
    if !fits || role.value.contains(char::is_control) {
        let hint = format!("write 1 to {ROLE_LEN_MAX} bytes on one line, or leave the key out");
        out.push(Diagnostic::new(role.span, "the role cannot be shown").hint(hint));
        return None;
    }
    Some(role.value.to_owned())
}

/// The join mode, and where it stands if it does.
fn join(
    section: &Section<'_>,
    capabilities: Option<&Capabilities>,
    out: &mut Report,
) -> (JoinMode, Option<Range<usize>>) {
    let join = section.sub("join", &keys::JOIN, out);
    let Some(mode) = join.text("mode", out) else { return (JoinMode::None, None) };
    let span = Some(mode.span.clone());
    let (message, hint) = match mode.value {
        "none" => return (JoinMode::None, span),
        "probe" => return (JoinMode::Probe, span),
        "agent" => match capabilities.filter(|capabilities| !capabilities.agents) {
            None => return (JoinMode::Agent, span),
            Some(gap) => (
                format!("provider kind `{}` runs no agents as it is declared", gap.kind),
                "use \"none\" or \"probe\", or another provider",
            ),
        },
        other => (format!("unknown join mode `{other}`"), "use \"none\", \"probe\" or \"agent\""),
    };
    out.push(Diagnostic::new(mode.span, message).hint(hint));
    (JoinMode::None, None)
}
