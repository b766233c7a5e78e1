//! Reads the hooks of a group, and refuses those that its provider cannot run.

use executor::seam::Capabilities;
use reconciler_core::{
    desired::{Hook, HookPoint, Hooks},
    limits,
    time::Millis,
};

use super::{
    boot::{self, Boot},
    diagnostic::{Diagnostic, Report},
    keys, quantity,
    reader::{At, Section},
};

/// Reads `hooks`; `capabilities` are absent if the provider itself is in doubt.
pub(super) fn read(
    policy: &Section<'_>,
    boot: &Boot,
    capabilities: Option<&Capabilities>,
    out: &mut Report,
) -> Hooks {
    let section = policy.sub("hooks", &keys::HOOKS, out);
    let mut read = |point: HookPoint| {
        let key = key(point);
        let value = section.raw(key)?;
        if let Some(gap) = capabilities.filter(|capabilities| !capabilities.hooks) {
            let message = format!("capability gap: a `{}` provider cannot run hooks", gap.kind);
            let hint = match gap.kind {
                "exec" => "if its program knows the call `run-hook`, say so: hooks = true".into(),
                _ => format!("remove `{key}`, or choose a provider that runs hooks"),
            };
            out.push(Diagnostic::new(value.span(), message).hint(hint));
        }
        one(&Section::open(value, &keys::HOOK, out), boot, out)
    };
    Hooks {
        pre_start: read(HookPoint::PreStart),
        post_start: read(HookPoint::PostStart),
        pre_stop: read(HookPoint::PreStop),
        post_stop: read(HookPoint::PostStop),
    }
}

const fn key(point: HookPoint) -> &'static str {
    match point {
        HookPoint::PreStart => "pre_start",
        HookPoint::PostStart => "post_start",
        HookPoint::PreStop => "pre_stop",
        HookPoint::PostStop => "post_stop",
    }
}

fn one(section: &Section<'_>, boot: &Boot, out: &mut Report) -> Option<Hook> {
    section.require("command", "name the program and its arguments: command = [\"…\"]", out);
    let argv = boot::command(section, out);
    for text in &argv {
        boot.check_hook(text, out);
    }
    let timeout = section.duration("timeout", out);
    if let Some(timeout) = &timeout {
        check_timeout(timeout, out);
    }
    let timeout = timeout.map_or(limits::HOOK_TIMEOUT, |timeout| timeout.value);
    (!argv.is_empty()).then(|| Hook { argv: boot::owned(&argv), timeout })
}

fn check_timeout(timeout: &At<Millis>, out: &mut Report) {
    let most = limits::HOOK_TIMEOUT_MAX;
    let message = if timeout.value == Millis::ZERO {
        "a timeout of zero lets nothing succeed".to_owned()
    } else if timeout.value > most {
        format!("a hook may take {} at most", quantity::show(most))
    } else {
        return;
    };
    let hint = "until a hook is over, its node takes no other step: write \"10s\", say";
    out.push(Diagnostic::new(timeout.span.clone(), message).hint(hint));
}
