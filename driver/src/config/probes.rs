//! Reads the probes of a group, and refuses those that its provider cannot ask or its nodes cannot be asked.

use std::{ops::Range, sync::Arc};

use executor::seam::Capabilities;
use reconciler_core::{
    desired::{JoinMode, LivenessBudget, Probe, ProbeCheck, ProbeKind, Probes},
    limits,
    time::Millis,
};
use toml::{Spanned, de::DeValue};

use super::{
    boot::{self, Boot},
    diagnostic::{Diagnostic, Report},
    keys,
    probe_times::{Bounds, Times},
    quantity,
    reader::{At, Section},
    setting::Setting,
    suggest::listed,
};

const CHECK_HINT: &str = "write one of exec = [\"…\"], http = \"/path\" and tcp = \"PORT\"";

/// Reads `probes` of a group whose times are bounded by `bounds`; `capabilities` are absent if the provider itself is
/// in doubt.
pub(super) fn read(
    policy: &Section<'_>,
    boot: &Boot,
    capabilities: Option<&Capabilities>,
    bounds: &Bounds,
    out: &mut Report,
) -> Probes {
    let section = policy.sub("probes", &keys::PROBES, out);
    let mut liveness = None;
    let mut read = |kind: ProbeKind| {
        let value = section.raw(kind.as_str())?;
        let (probe, times) = one(value, boot, capabilities, out);
        times.check(kind, bounds, out);
        if kind == ProbeKind::Liveness {
            liveness = Some(times);
        }
        probe
    };
    let probes = Probes {
        startup: read(ProbeKind::Startup),
        liveness: read(ProbeKind::Liveness),
        readiness: read(ProbeKind::Readiness),
        budget: LivenessBudget::default(),
    };
    Probes { budget: budget(&section, liveness.as_ref(), out), ..probes }
}

/// Who joins by its probes has one that says when.
pub(super) fn check_join(
    span: Option<Range<usize>>,
    mode: JoinMode,
    probes: &Probes,
    out: &mut Report,
) {
    let says = probes.startup.is_some() || probes.readiness.is_some();
    if let Some(span) = span.filter(|_| mode == JoinMode::Probe && !says) {
        let message = "join mode `probe` needs a startup or a readiness probe";
        let hint = "declare one in [group.NAME.policy.probes], or use mode = \"none\"";
        out.push(Diagnostic::new(span, message).hint(hint));
    }
}

fn budget(section: &Section<'_>, liveness: Option<&Times>, out: &mut Report) -> LivenessBudget {
    let default = LivenessBudget::default();
    let restarts = section.whole("liveness_restarts", 0..=limits::LIVENESS_RESTARTS_MAX, out);
    let window = section.duration("liveness_window", out);
    let setting = Setting::new("liveness_window", window.as_ref(), default.window);
    setting.refuse_zero("no replacement would ever count", out);
    let given = restarts.as_ref().map(|given| &given.span);
    let given = given.or_else(|| window.as_ref().map(|given| &given.span));
    if let Some(span) = given.filter(|_| liveness.is_none()) {
        let message = "a budget for liveness is declared, and no liveness probe";
        let hint = "declare `liveness`, or leave the budget out";
        out.push(Diagnostic::new(span.clone(), message).hint(hint));
    }
    let restarts = restarts.map_or(default.restarts, |given| given.value);
    if let Some(times) = liveness.filter(|_| restarts > 0) {
        times.check_window(&setting, out);
    }
    LivenessBudget { restarts, window: setting.value }
}

fn one(
    value: &Spanned<DeValue<'_>>,
    boot: &Boot,
    capabilities: Option<&Capabilities>,
    out: &mut Report,
) -> (Option<Arc<Probe>>, Times) {
    let section = Section::open(value, &keys::PROBE, out);
    let check = check(&section, value, boot, capabilities, out);
    let initial_delay = section.duration("initial_delay", out);
    bounded("initial_delay", initial_delay.as_ref(), limits::PROBE_PERIOD_MAX, out);
    let interval = section.duration("interval", out);
    bounded("interval", interval.as_ref(), limits::PROBE_PERIOD_MAX, out);
    let often = |given: &&At<Millis>| given.value < limits::PROBE_INTERVAL_MIN;
    if let Some(given) = interval.as_ref().filter(often) {
        let least = quantity::show(limits::PROBE_INTERVAL_MIN);
        let message = format!("a probe is asked every {least} at most");
        let hint = "asking more often would be a load of its own: write \"1s\", say";
        out.push(Diagnostic::new(given.span.clone(), message).hint(hint));
    }
    let timeout = section.duration("timeout", out);
    bounded("timeout", timeout.as_ref(), limits::PROBE_TIMEOUT_MAX, out);
    let timeout = Setting::new("timeout", timeout.as_ref(), limits::PROBE_TIMEOUT);
    timeout.refuse_zero("nothing could answer in time", out);
    let most = limits::PROBE_THRESHOLD_MAX;
    let successes = section.whole("successes", 1..=most, out);
    let failures = section.whole("failures", 1..=most, out);
    let times = Times {
        at: value.span(),
        initial_delay: Setting::new("initial_delay", initial_delay.as_ref(), Millis::ZERO),
        interval: Setting::new("interval", interval.as_ref(), limits::PROBE_INTERVAL),
        timeout,
        successes: successes.map_or(limits::PROBE_SUCCESSES, |given| given.value),
    };
    let probe = check.map(|check| {
        Arc::new(Probe {
            check,
            initial_delay: times.initial_delay.value,
            interval: times.interval.value,
            timeout: times.timeout.value,
            successes: times.successes,
            failures: failures.map_or(limits::PROBE_FAILURES, |given| given.value),
        })
    });
    (probe, times)
}

fn bounded(key: &str, given: Option<&At<Millis>>, most: Millis, out: &mut Report) {
    if let Some(given) = given.filter(|given| given.value > most) {
        let message = format!("`{key}` may be {} at most", quantity::show(most));
        out.push(Diagnostic::new(given.span.clone(), message).hint("write a shorter time"));
    }
}

fn check(
    section: &Section<'_>,
    value: &Spanned<DeValue<'_>>,
    boot: &Boot,
    capabilities: Option<&Capabilities>,
    out: &mut Report,
) -> Option<ProbeCheck> {
    let given: Vec<_> =
        ["exec", "http", "tcp"].into_iter().filter(|key| section.raw(key).is_some()).collect();
    let &[which] = given.as_slice() else {
        let message = match given.as_slice() {
            [] => "it is not said what is asked",
            _ => "a probe asks one thing",
        };
        out.push(Diagnostic::new(value.span(), message).hint(CHECK_HINT));
        return None;
    };
    match which {
        "exec" => exec(section, boot, capabilities, out),
        "http" => {
            let path = section.text("http", out);
            let port = port(section, value, boot, out);
            let path = path.filter(|path| check_path(path, out));
            path.zip(port)
                .map(|(path, port)| ProbeCheck::Http { port, path: path.value.to_owned() })
        }
        _ => {
            refuse_port(section, "the port stands behind `tcp` already", out);
            let named = section.text("tcp", out)?;
            named_port(&named, &boot.port_names()?, out).map(|port| ProbeCheck::Tcp { port })
        }
    }
}

fn refuse_port(section: &Section<'_>, message: &str, out: &mut Report) {
    if let Some(port) = section.raw("port") {
        out.push(Diagnostic::new(port.span(), message).hint("leave `port` out"));
    }
}

fn exec(
    section: &Section<'_>,
    boot: &Boot,
    capabilities: Option<&Capabilities>,
    out: &mut Report,
) -> Option<ProbeCheck> {
    let written = section.raw("exec")?;
    if let Some(gap) = capabilities.filter(|capabilities| !capabilities.probes) {
        let message = format!("capability gap: a `{}` provider asks by no command", gap.kind);
        let hint = "ask by the network, with http = \"/path\" or tcp = \"PORT\"";
        out.push(Diagnostic::new(written.span(), message).hint(hint));
    }
    refuse_port(section, "a command is asked at no port", out);
    let argv = boot::command_at("exec", section, out);
    for text in &argv {
        boot.check_hook(text, out);
    }
    let bytes: usize = argv.iter().map(|text| text.value.len()).sum();
    if argv.len() > limits::PROBE_ARGS_MAX || bytes > limits::PROBE_ARGS_LEN_MAX {
        let message = format!(
            "a probe's command has {} texts and {} bytes at most",
            limits::PROBE_ARGS_MAX,
            limits::PROBE_ARGS_LEN_MAX
        );
        let hint = "put it into a file of its own, and name that";
        out.push(Diagnostic::new(written.span(), message).hint(hint));
    }
    (!argv.is_empty()).then(|| ProbeCheck::Exec { argv: boot::owned(&argv) })
}

fn check_path(path: &At<&str>, out: &mut Report) -> bool {
    let odd = |c: char| c.is_control() || c == ' ' || !c.is_ascii();
    let message = if !path.value.starts_with('/') || path.value.contains(odd) {
        "it is no path of a request".to_owned()
    } else if path.value.len() > limits::PROBE_PATH_LEN_MAX {
        format!("a path has {} bytes at most", limits::PROBE_PATH_LEN_MAX)
    } else {
        return true;
    };
    let hint = "write a path that begins with a slash, such as \"/healthz\"";
    out.push(Diagnostic::new(path.span.clone(), message).hint(hint));
    false
}

/// The port that is asked: the one that is named, or the only one that the node has.
fn port(
    section: &Section<'_>,
    value: &Spanned<DeValue<'_>>,
    boot: &Boot,
    out: &mut Report,
) -> Option<String> {
    let names = boot.port_names()?;
    if let Some(named) = section.text("port", out) {
        return named_port(&named, &names, out);
    }
    let (message, hint) = match names.as_slice() {
        [only] => return Some(only.clone()),
        [] => ("the node has no port to ask", "name one in `ports` of [group.NAME.boot]"),
        _ => ("it is not said which port is asked", "name it: port = \"…\""),
    };
    out.push(Diagnostic::new(value.span(), message).hint(hint));
    None
}

fn named_port(given: &At<&str>, names: &[String], out: &mut Report) -> Option<String> {
    if names.iter().any(|name| name == given.value) {
        return Some(given.value.to_owned());
    }
    let message = format!("the node has no port `{}`", given.value);
    let hint = format!("declared ports: {}", listed(names.iter().map(String::as_str)));
    out.push(Diagnostic::new(given.span.clone(), message).hint(hint));
    None
}
