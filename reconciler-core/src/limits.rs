//! Every bound of the pure part, each with its reason.

use crate::time::Millis;

/// Longest run, group or provider name: the length of a DNS label, so that every provider can carry it.
pub const NAME_LEN_MAX: usize = 63;
/// Most nodes in one group: a larger number is nearer to a typing error than to a wish.
pub const GROUP_COUNT_MAX: u32 = 100_000;
/// Most nodes in one run: what a pass and a console were measured with.
pub const NODES_MAX: u64 = 1_000_000;
/// Most groups in one run: the console lists them all.
pub const GROUPS_MAX: usize = 1_000;
/// Most guardrails of one run: each is a sentence that a person reads.
pub const GUARDRAILS_MAX: usize = 100;
/// Longest reason of a guardrail: it is shown in full beside the plan that meets it.
pub const GUARDRAIL_REASON_LEN_MAX: usize = 200;
/// Most bytes of free text that a record, event or hold keeps: one screen of it; the rest is cut and marked.
pub const TEXT_LEN_MAX: usize = 1_024;
/// Longest name of a controller: a process number, and a host name of the length that systems allow.
pub const CONTROLLER_LEN_MAX: usize = 80;
/// How long the lease of a controller on an operation is, if nothing shorter is said, and at most.
pub const LEASE_LENGTH_MAX: Millis = Millis::from_secs(900);
/// How long an admission counts: far longer than an intent waits for its turn, far shorter than a lease.
pub const ADMISSION_LENGTH: Millis = Millis::from_secs(300);
/// Longest path that a reference may name: what the operating system takes.
pub const PATH_LEN_MAX: usize = 4_096;
/// Most facts of its own that a provider may keep in a lease or session.
pub const HANDLE_FACTS_MAX: usize = 32;
/// Effects in flight at once, at most: the specification's upper bound for a wave.
pub const PARALLELISM_MAX: u32 = 32;
/// Effects in flight at once if nothing is said.
pub const PARALLELISM_DEFAULT: u32 = 16;
/// Consecutive failures without reaching `Dormant` before a crash-loop hold.
pub const RESTART_ATTEMPTS_DEFAULT: u32 = 5;
/// First delay of the backoff.
pub const BACKOFF_INITIAL: Millis = Millis::from_secs(1);
/// Longest delay of the backoff.
pub const BACKOFF_CAP: Millis = Millis::from_secs(60);
/// Share of a delay, in percent, that jitter may take off; derived from (slot, attempt), never random.
pub const BACKOFF_JITTER_PERCENT: u32 = 20;
/// How long a workload must run before it counts as joined when nothing else says so.
pub const SETTLE_DEFAULT: Millis = Millis::new(250);
/// How long a node must be ready before its failure count is forgotten.
pub const STABLE_DEFAULT: Millis = Millis::from_secs(10);
/// Time between two looks for an endpoint that is not known yet.
pub const ENDPOINT_PROBE: Millis = Millis::from_secs(2);
/// How long one effect may take before its outcome counts as unknown.
pub const EFFECT_TIMEOUT: Millis = Millis::from_secs(120);
/// How long a lease may stay without an endpoint before the attempt counts as failed.
pub const ENDPOINT_TIMEOUT: Millis = Millis::from_secs(300);
/// How long a bootstrap may take before the attempt counts as failed.
pub const BOOTSTRAP_TIMEOUT: Millis = Millis::from_secs(300);
/// Time between the polite and the forced end of a workload.
pub const STOP_GRACE_DEFAULT: Millis = Millis::from_secs(10);
/// Longest pause that a provider may ask for; one that asks for more is asked again then.
pub const PAUSE_MAX: Millis = Millis::from_secs(3_600);
/// How far apart two complete listings must be before both together prove an absence (D6).
pub const ABSENCE_GRACE: Millis = Millis::from_secs(60);
/// Share of a group, in percent, that may vanish unproven at once (D6); at least one node always may.
pub const LOST_PERCENT_MAX: u32 = 20;
/// Share of a group, in percent, that may look broken within the window by signs that prove nothing, before the
/// group is held instead of replaced (C9); as many as may vanish at once always may.
pub const MASS_PERCENT_MAX: u32 = 40;
/// How long an unproven sign counts towards that share: a few listings, so that slow erosion is noticed too.
pub const MASS_WINDOW: Millis = Millis::from_secs(600);
/// Rounds of projection per slot before a plan counts as one that never settles (D2).
pub const PROJECTION_ROUNDS_PER_SLOT: u64 = 16;
/// Tries of one effect on one attempt before the attempt counts as failed (R103).
pub const EFFECT_TRIES_MAX: u32 = 3;
/// Steps of one other group that a step of a plan names as coming first: more would make a plan quadratic.
pub const GATE_EDGES_MAX: usize = 16;
/// How long an update may go without one more node of the new revision being ready.
pub const PROGRESS_DEADLINE: Millis = Millis::from_secs(300);
/// How long a hook may run if nothing is said.
pub const HOOK_TIMEOUT: Millis = Millis::from_secs(30);
/// The longest that a hook may be given: until it is over, its node takes no other step.
pub const HOOK_TIMEOUT_MAX: Millis = Millis::from_secs(3_600);
/// Beyond its own time: how long a provider has to end a hook and to say so before its outcome counts as unknown.
pub const HOOK_REPORT: Millis = Millis::from_secs(15);
/// How old a look may be that promotes a candidate: older ones speak of the past (R173).
pub const FRESH_LOOK: Millis = Millis::from_secs(30);

/// The time from one question of a probe to the next if nothing is said.
pub const PROBE_INTERVAL: Millis = Millis::from_secs(10);
/// How long an answer to a probe may take if nothing is said.
pub const PROBE_TIMEOUT: Millis = Millis::from_secs(3);
/// The longest that an answer to a probe may be given: a node of which so long nothing is heard is not well.
pub const PROBE_TIMEOUT_MAX: Millis = Millis::from_secs(30);
/// The least time between two questions of a probe: more often, the asking is a load of its own.
pub const PROBE_INTERVAL_MIN: Millis = Millis::new(100);
/// The longest delay and the longest interval of a probe: a day.
pub const PROBE_PERIOD_MAX: Millis = Millis::from_secs(86_400);
/// Passes of a probe in a row that count if nothing is said.
pub const PROBE_SUCCESSES: u32 = 1;
/// Failures of a probe in a row that count if nothing is said.
pub const PROBE_FAILURES: u32 = 3;
/// The most of either that may be asked for.
pub const PROBE_THRESHOLD_MAX: u32 = 100;
/// Most arguments of a probe's command.
pub const PROBE_ARGS_MAX: usize = 128;
/// Most bytes of a probe's command.
pub const PROBE_ARGS_LEN_MAX: usize = 16 * 1_024;
/// Longest path of a probe's request.
pub const PROBE_PATH_LEN_MAX: usize = 2_048;
/// How often the nodes of one slot may be replaced for a failing liveness probe within the window, if nothing is said.
pub const LIVENESS_RESTARTS: u32 = 3;
/// The most that may be said: as many times are kept with the slot.
pub const LIVENESS_RESTARTS_MAX: u32 = 100;
/// The window of that budget if nothing is said.
pub const LIVENESS_WINDOW: Millis = Millis::from_secs(300);

/// Reasons why slots of one group are not as they should be that are told apart: as many as a person reads.
pub const OUTSTANDING_MAX: usize = 16;
