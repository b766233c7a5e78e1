//! Reads how a group is treated, and refuses settings that contradict each other.

use executor::seam::Capabilities;
use reconciler_core::{
    desired::{Policy, RestartPolicy, Timeouts},
    limits,
    time::Millis,
};

use super::{
    boot::Boot,
    diagnostic::Report,
    hooks, keys,
    probe_times::Bounds,
    probes,
    reader::Section,
    setting::{Setting, contradiction},
    update,
};

/// Most jitter, in percent: more would let a delay nearly vanish.
const JITTER_MAX: u32 = 50;

/// Reads `policy`, with the settings that stand beside the boot command.
pub(super) fn read(
    group: &Section<'_>,
    boot: &Boot,
    capabilities: Option<&Capabilities>,
    out: &mut Report,
) -> Policy {
    let policy = group.sub("policy", &keys::POLICY, out);
    let restart = restart(&policy, out);
    let default = Policy::default();
    let settle = Setting::new("settle", boot.settle.as_ref(), default.settle);
    let stable = Setting::new("stable", policy.duration("stable", out).as_ref(), default.stable);
    let grace = Setting::new("stop_grace", boot.stop_grace.as_ref(), default.stop_grace);
    if settle.value == Millis::ZERO && stable.value == Millis::ZERO {
        let message = "`settle` and `stable` are both zero: no node would ever prove itself";
        contradiction(&settle, &stable, message, out);
    }
    let (timeouts, bootstrap) = timeouts(&policy, &settle, &grace, boot, out);
    let lost = policy.whole("max_lost_per_pass", 1..=limits::GROUP_COUNT_MAX, out);
    // What cannot join in time at all was told above.
    let joins = Some(&settle).filter(|settle| settle.value < timeouts.bootstrap);
    let (update, progress) = update::read(&policy, joins, out);
    let hooks = hooks::read(&policy, boot, capabilities, out);
    let bounds = Bounds { bootstrap, progress };
    let probes = probes::read(&policy, boot, capabilities, &bounds, out);
    Policy {
        restart,
        timeouts,
        settle: settle.value,
        stable: stable.value,
        stop_grace: grace.value,
        max_lost_per_pass: lost.map(|lost| lost.value),
        update,
        hooks,
        probes,
        ..default
    }
}

fn restart(policy: &Section<'_>, out: &mut Report) -> RestartPolicy {
    let restart = policy.sub("restart", &keys::RESTART, out);
    let default = RestartPolicy::default();
    let initial = restart.duration("initial", out);
    let initial = Setting::new("initial", initial.as_ref(), default.initial);
    let cap = Setting::new("cap", restart.duration("cap", out).as_ref(), default.cap);
    initial.refuse_zero("a failing node would be restarted without pause", out);
    if cap.value < initial.value {
        contradiction(&initial, &cap, "the longest delay is shorter than the first", out);
    }
    let attempts = restart.whole("attempts", 1..=1_000, out);
    let jitter = restart.whole("jitter", 0..=JITTER_MAX, out);
    RestartPolicy {
        attempts: attempts.map_or(default.attempts, |attempts| attempts.value),
        initial: initial.value,
        cap: cap.value,
        jitter_percent: jitter.map_or(default.jitter_percent, |jitter| jitter.value),
    }
}

/// The timeouts, and that of the bootstrap as it stands in the file.
fn timeouts(
    policy: &Section<'_>,
    settle: &Setting,
    grace: &Setting,
    boot: &Boot,
    out: &mut Report,
) -> (Timeouts, Setting) {
    let section = policy.sub("timeouts", &keys::TIMEOUTS, out);
    let mut read = |key: &'static str, default: Millis| {
        let setting = Setting::new(key, section.duration(key, out).as_ref(), default);
        setting.refuse_zero("nothing could succeed in time", out);
        setting
    };
    let default = Timeouts::default();
    let create = read("create", default.create);
    let endpoint = read("endpoint", default.endpoint);
    let bootstrap = read("bootstrap", default.bootstrap);
    let cancel = read("cancel", default.cancel);
    let destroy = read("destroy", default.destroy);
    // A zero was refused on its own; comparing it as well would say the same thing twice.
    if cancel.value <= grace.value && cancel.value != Millis::ZERO {
        let message = "cancelling would time out before the stop grace is over";
        contradiction(grace, &cancel, message, out);
    }
    if settle.value >= bootstrap.value && bootstrap.value != Millis::ZERO {
        let message = "the bootstrap would time out before the workload has settled";
        contradiction(settle, &bootstrap, message, out);
    }
    for timeout in &boot.verify_timeouts {
        if timeout.value > bootstrap.value && bootstrap.value != Millis::ZERO {
            let verify = Setting::new("timeout", Some(timeout), timeout.value);
            let message = "a verify command may take longer than the whole bootstrap";
            contradiction(&verify, &bootstrap, message, out);
        }
    }
    let timeouts = Timeouts {
        create: create.value,
        endpoint: endpoint.value,
        bootstrap: bootstrap.value,
        cancel: cancel.value,
        destroy: destroy.value,
    };
    (timeouts, bootstrap)
}
