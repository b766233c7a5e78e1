//! Reads how nodes give way to another revision, and refuses a budget that could never end an update.

use reconciler_core::desired::{Amount, OnFailure, UpdateMode, UpdatePolicy};
use reconciler_core::limits;
use toml::{Spanned, de::DeValue};

use super::{
    diagnostic::{Diagnostic, Report},
    keys,
    reader::{At, Section, wrong_type},
    setting::{Setting, contradiction},
};

const AMOUNT_HINT: &str =
    "write a number of nodes, such as 1, or a share in quotes, such as \"25%\"";

/// Reads `policy.update` of a group whose nodes count as joined after `settle`, if they can join at all, and how
/// long it may make no progress as it stands in the file.
pub(super) fn read(
    policy: &Section<'_>,
    settle: Option<&Setting>,
    out: &mut Report,
) -> (UpdatePolicy, Setting) {
    let section = policy.sub("update", &keys::UPDATE, out);
    let default = UpdatePolicy::default();
    let mode = mode(&section, out);
    let surge = amount(&section, "max_surge", out);
    let unavailable = amount(&section, "max_unavailable", out);
    if mode == UpdateMode::Recreate {
        refuse_budget(surge.as_ref(), "max_surge", out);
        refuse_budget(unavailable.as_ref(), "max_unavailable", out);
    }
    let max_surge = surge.as_ref().map_or(default.max_surge, |surge| surge.value);
    let max_unavailable = match &unavailable {
        Some(given) => given.value,
        // Whoever may add one first need not take one away.
        None if !max_surge.is_zero() => Amount::Nodes(0),
        None => default.max_unavailable,
    };
    if let Some(given) = &unavailable
        && mode == UpdateMode::Rolling
        && max_surge.is_zero()
        && max_unavailable.is_zero()
    {
        let message =
            "`max_surge` and `max_unavailable` are both zero: no node could ever give way";
        let problem = Diagnostic::new(given.span.clone(), message)
            .hint("let one node be missing, max_unavailable = 1, or one exist beyond the count, max_surge = 1");
        out.push(match surge {
            Some(surge) => problem.related(surge.span, "`max_surge` is zero here"),
            None => problem.label("`max_surge` is 0 by default"),
        });
    }
    let deadline = section.duration("progress_deadline", out);
    let deadline = Setting::new("progress_deadline", deadline.as_ref(), default.progress_deadline);
    deadline.refuse_zero("every update would be over before it began", out);
    let observation = section.duration("observation", out);
    let observation = Setting::new("observation", observation.as_ref(), default.observation);
    if observation.value >= deadline.value && deadline.value.get() > 0 {
        let message = "an update would run out of time while its first node is still observed";
        contradiction(&observation, &deadline, message, out);
    }
    let late = |settle: &&Setting| settle.value >= deadline.value && deadline.value.get() > 0;
    if let Some(settle) = settle.filter(late) {
        let message = "an update would run out of time before its first node can have joined";
        contradiction(settle, &deadline, message, out);
    }
    let update = UpdatePolicy {
        mode,
        max_surge,
        max_unavailable,
        progress_deadline: deadline.value,
        observation: observation.value,
        on_failure: on_failure(&section, out),
    };
    (update, deadline)
}

fn mode(section: &Section<'_>, out: &mut Report) -> UpdateMode {
    let Some(mode) = section.text("mode", out) else { return UpdateMode::default() };
    match mode.value {
        "rolling" => UpdateMode::Rolling,
        "recreate" => UpdateMode::Recreate,
        other => {
            let message = format!("unknown update mode `{other}`");
            let hint = "use mode = \"rolling\" or mode = \"recreate\"";
            out.push(Diagnostic::new(mode.span, message).hint(hint));
            UpdateMode::default()
        }
    }
}

fn on_failure(section: &Section<'_>, out: &mut Report) -> OnFailure {
    let Some(text) = section.text("on_failure", out) else { return OnFailure::default() };
    match text.value {
        "rollback" => OnFailure::Rollback,
        "hold" => OnFailure::Hold,
        other => {
            let message = format!("unknown end of a failed update `{other}`");
            let hint = "use on_failure = \"rollback\" or on_failure = \"hold\"";
            out.push(Diagnostic::new(text.span, message).hint(hint));
            OnFailure::default()
        }
    }
}

/// A budget beside a mode that knows none would promise what is not kept.
fn refuse_budget(given: Option<&At<Amount>>, key: &str, out: &mut Report) {
    if let Some(given) = given {
        let message = format!("`{key}` has no meaning where every old node goes first");
        let hint = format!("leave `{key}` out, or use mode = \"rolling\"");
        out.push(Diagnostic::new(given.span.clone(), message).hint(hint));
    }
}

/// A number of nodes, or a share of the group such as `"25%"`.
fn amount(section: &Section<'_>, key: &str, out: &mut Report) -> Option<At<Amount>> {
    let value = section.raw(key)?;
    match value.get_ref() {
        DeValue::Integer(_) => {
            let nodes = section.whole(key, 0..=limits::GROUP_COUNT_MAX, out)?;
            Some(At { value: Amount::Nodes(nodes.value), span: nodes.span })
        }
        DeValue::String(text) => percent(key, text, value, out),
        DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => {
            out.push(wrong_type(value, "a number of nodes or a share").hint(AMOUNT_HINT));
            None
        }
    }
}

fn percent(
    key: &str,
    text: &str,
    value: &Spanned<DeValue<'_>>,
    out: &mut Report,
) -> Option<At<Amount>> {
    let digits = text.trim().strip_suffix('%').map(str::trim_end);
    let digits = digits.filter(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()));
    let share = digits.map(|digits| digits.parse::<u32>().unwrap_or(u32::MAX));
    if share.is_some_and(|share| share > 100) {
        let message = format!("`{key}` is more than the whole group: `{text}`");
        let hint = "write a share from \"0%\" to \"100%\"";
        out.push(Diagnostic::new(value.span(), message).hint(hint));
        return None;
    }
    if share.is_none() {
        let message = format!("`{key}` is not a share of the group: `{text}`");
        out.push(Diagnostic::new(value.span(), message).hint(AMOUNT_HINT));
    }
    share.map(|share| At { value: Amount::Percent(share), span: value.span() })
}
