//! The keys that each part of the file knows, as data, and the advice for a key that it does not know.

use super::suggest::{listed, nearest};

/// One part of the file: how messages name it, where it is written, and its keys.
#[derive(Debug)]
pub(super) struct Part {
    /// How a message names it.
    pub(super) what: &'static str,
    /// Its header, for advice.
    pub(super) header: &'static str,
    /// Its keys.
    pub(super) keys: &'static [&'static str],
}

/// The top of the file.
pub(super) const ROOT: Part = Part {
    what: "the file",
    header: "the top of the file",
    keys: &[
        "version",
        "run",
        "uuid",
        "confirm",
        "parallelism",
        "agent",
        "provider",
        "group",
        "guardrail",
    ],
};
/// Where the driver listens to agents.
pub(super) const AGENT: Part =
    Part { what: "the agent section", header: "[agent]", keys: &["listen", "address"] };
/// What plans may not do, and what must be said before.
pub(super) const GUARDRAIL: Part = Part {
    what: "a guardrail",
    header: "[[guardrail]]",
    keys: &["group", "deny", "confirm", "max_destroy", "reason"],
};
/// One group.
pub(super) const GROUP: Part = Part {
    what: "a group",
    header: "[group.NAME]",
    keys: &[
        "count", "role", "provider", "kind", "after", "power", "shape", "boot", "join", "policy",
    ],
};
/// What a node needs.
pub(super) const SHAPE: Part = Part {
    what: "a shape",
    header: "[group.NAME.shape]",
    keys: &["image", "cpus", "memory", "disk", "gpus", "labels"],
};
/// How a node comes up.
pub(super) const BOOT: Part = Part {
    what: "a boot section",
    header: "[group.NAME.boot]",
    keys: &["command", "env", "secret_env", "workdir", "ports", "verify", "settle", "stop_grace"],
};
/// What a provider has.
pub(super) const CAPACITY: Part = Part {
    what: "a capacity",
    header: "[provider.NAME.capacity]",
    keys: &["nodes", "cpus", "memory", "gpus"],
};
/// One command that must succeed first.
pub(super) const VERIFY: Part = Part {
    what: "a verify command",
    header: "an entry of `verify` in [group.NAME.boot]",
    keys: &["command", "timeout"],
};
/// When a node counts as joined.
pub(super) const JOIN: Part =
    Part { what: "a join section", header: "[group.NAME.join]", keys: &["mode"] };
/// How a node is treated.
pub(super) const POLICY: Part = Part {
    what: "a policy",
    header: "[group.NAME.policy]",
    keys: &["stable", "max_lost_per_pass", "restart", "timeouts", "update", "hooks", "probes"],
};
/// How failures are followed up.
pub(super) const RESTART: Part = Part {
    what: "a restart policy",
    header: "[group.NAME.policy.restart]",
    keys: &["attempts", "initial", "cap", "jitter"],
};
/// How long things may take.
pub(super) const TIMEOUTS: Part = Part {
    what: "the timeouts",
    header: "[group.NAME.policy.timeouts]",
    keys: &["create", "endpoint", "bootstrap", "cancel", "destroy"],
};

/// How nodes give way to another revision.
pub(super) const UPDATE: Part = Part {
    what: "an update policy",
    header: "[group.NAME.policy.update]",
    keys: &[
        "mode",
        "max_surge",
        "max_unavailable",
        "progress_deadline",
        "observation",
        "on_failure",
    ],
};

/// What runs before and after starts and stops.
pub(super) const HOOKS: Part = Part {
    what: "the hooks",
    header: "[group.NAME.policy.hooks]",
    keys: &["pre_start", "post_start", "pre_stop", "post_stop"],
};
/// One hook.
pub(super) const HOOK: Part = Part {
    what: "a hook",
    header: "an entry of [group.NAME.policy.hooks]",
    keys: &["command", "timeout"],
};

/// What is asked of a workload.
pub(super) const PROBES: Part = Part {
    what: "the probes",
    header: "[group.NAME.policy.probes]",
    keys: &["startup", "liveness", "readiness", "liveness_restarts", "liveness_window"],
};
/// One probe.
pub(super) const PROBE: Part = Part {
    what: "a probe",
    header: "an entry of [group.NAME.policy.probes]",
    keys: &[
        "exec",
        "http",
        "tcp",
        "port",
        "initial_delay",
        "interval",
        "timeout",
        "successes",
        "failures",
    ],
};

const PARTS: [&Part; 16] = [
    &ROOT, &AGENT, &GROUP, &SHAPE, &BOOT, &VERIFY, &JOIN, &POLICY, &RESTART, &TIMEOUTS, &UPDATE,
    &HOOKS, &HOOK, &PROBES, &PROBE, &GUARDRAIL,
];

/// True for a key of the format itself.
pub(super) fn is_own(key: &str) -> bool {
    PARTS.iter().any(|part| part.keys.contains(&key))
}

/// What to do about `key`, which `part` does not know.
pub(super) fn advice(part: &Part, key: &str) -> String {
    if let Some(near) = nearest(key, part.keys.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    if let Some(home) = PARTS.iter().find(|other| other.keys.contains(&key)) {
        return format!("`{key}` belongs to {}", home.header);
    }
    format!("known here: {}", listed(part.keys.iter().copied()))
}
