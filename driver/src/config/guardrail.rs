//! Reads the declared guardrails: what plans may not do, and what must be said before one is confirmed.

use std::collections::BTreeSet;

use reconciler_core::{
    desired::{Deed, Demand, Guardrail, RunNodeGroupSpec},
    id::GroupId,
    limits,
};
use toml::{Spanned, de::DeValue};

use super::{
    diagnostic::{Diagnostic, Report},
    keys,
    reader::{Section, wrong_type},
    suggest::{listed, nearest},
};

/// Reads `guardrail`, a list of tables.
pub(super) fn read(
    root: &Section<'_>,
    groups: &[RunNodeGroupSpec],
    out: &mut Report,
) -> Vec<Guardrail> {
    let Some(value) = root.raw("guardrail") else { return Vec::new() };
    let DeValue::Array(items) = value.get_ref() else {
        let wrong = wrong_type(value, "a list of tables");
        out.push(wrong.hint("write [[guardrail]], once for each"));
        return Vec::new();
    };
    if items.len() > limits::GUARDRAILS_MAX {
        let message = format!("{} guardrails are declared", items.len());
        let hint = format!("at most {} are allowed", limits::GUARDRAILS_MAX);
        out.push(Diagnostic::new(value.span(), message).hint(hint));
    }
    items.iter().take(limits::GUARDRAILS_MAX).filter_map(|item| one(item, groups, out)).collect()
}

fn one(
    value: &Spanned<DeValue<'_>>,
    groups: &[RunNodeGroupSpec],
    out: &mut Report,
) -> Option<Guardrail> {
    let before = out.len();
    let section = Section::open(value, &keys::GUARDRAIL, out);
    section.require("reason", "say why it is there: it is shown to whoever meets it", out);
    let reason = reason(&section, out);
    let group = group(&section, groups, out);
    let deny = deny(&section, out);
    let confirm = confirm(&section, out);
    let max_destroy = section.whole("max_destroy", 0..=limits::GROUP_COUNT_MAX, out);
    let asks = ["deny", "confirm", "max_destroy"];
    if out.len() == before && asks.iter().all(|key| section.raw(key).is_none()) {
        let hint = "give it `deny`, `confirm` or `max_destroy`";
        out.push(
            Diagnostic::new(section.span.clone(), "the guardrail asks for nothing").hint(hint),
        );
    }
    let max_destroy = max_destroy.map(|at| at.value);
    (out.len() == before).then_some(Guardrail {
        group,
        deny,
        confirm,
        max_destroy,
        reason: reason?,
    })
}

fn reason(section: &Section<'_>, out: &mut Report) -> Option<String> {
    let text = section.text("reason", out)?;
    let long = text.value.len() > limits::GUARDRAIL_REASON_LEN_MAX;
    if text.value.trim().is_empty() || long || text.value.chars().any(char::is_control) {
        let most = limits::GUARDRAIL_REASON_LEN_MAX;
        let message = "the reason is empty, has several lines, or is too long";
        let hint = format!("write one line of at most {most} bytes");
        out.push(Diagnostic::new(text.span, message).hint(hint));
        return None;
    }
    Some(text.value.to_owned())
}

fn group(section: &Section<'_>, groups: &[RunNodeGroupSpec], out: &mut Report) -> Option<GroupId> {
    let text = section.text("group", out)?;
    let known = groups.iter().find(|spec| spec.group.as_str() == text.value);
    if known.is_none() {
        let message = format!("there is no group `{}`", text.value);
        let names = || groups.iter().map(|spec| spec.group.as_str());
        let hint = match nearest(text.value, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                format!("leave `group` out for all of the run; declared are: {}", listed(names()))
            }
        };
        // A group that is not sound itself is not known here.
        out.push(Diagnostic::new(text.span, message).hint(hint).doubtful());
    }
    known.map(|spec| spec.group.clone())
}

fn deny(section: &Section<'_>, out: &mut Report) -> BTreeSet<Deed> {
    let Some(list) = section.texts("deny", out) else { return BTreeSet::new() };
    let mut denied = BTreeSet::new();
    if list.value.is_empty() {
        let hint =
            format!("leave `deny` out, or name some of: {}", listed(Deed::ALL.map(Deed::as_str)));
        out.push(Diagnostic::new(list.span.clone(), "an empty list denies nothing").hint(hint));
    }
    for text in list.value {
        if let Some(deed) = Deed::ALL.into_iter().find(|deed| deed.as_str() == text.value) {
            denied.insert(deed);
        } else {
            let message = format!("`{}` is nothing that a plan does", text.value);
            let hint = format!("known are: {}", listed(Deed::ALL.map(Deed::as_str)));
            out.push(Diagnostic::new(text.span, message).hint(hint));
        }
    }
    denied
}

fn confirm(section: &Section<'_>, out: &mut Report) -> Option<Demand> {
    let text = section.text("confirm", out)?;
    match text.value {
        "yes" => Some(Demand::Yes),
        "name" => Some(Demand::Name),
        other => {
            let message = format!("unknown way to confirm `{other}`");
            let hint = "use \"yes\" (an explicit yes) or \"name\" (the name of the group, typed)";
            out.push(Diagnostic::new(text.span, message).hint(hint));
            None
        }
    }
}
