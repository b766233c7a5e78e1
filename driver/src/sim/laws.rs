//! The registry of invariants: each law with what it comes from, held against every event of a story.
//!
//! A law sees the event, the world, what is synced, and the book; of the driver's own state it sees only what
//! [`Event::Stepped`](super::event::Event::Stepped) shows. What each law asks stands in the `law_` files.

use std::fmt;

use super::{
    event::{Broken, Event},
    law_effect, law_end, law_journal,
    scene::Scene,
};

/// What a law says of an event: why it is broken, if it is.
pub(crate) type Check = fn(&Scene, &Event<'_>) -> Result<(), String>;

/// One invariant.
pub struct Law {
    /// Its name.
    pub name: &'static str,
    /// Where it comes from: promises, requirements, fault classes, decisions.
    pub cites: &'static str,
    /// What it says.
    pub says: &'static str,
    pub(crate) check: Check,
}

impl fmt::Debug for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Law")
            .field("name", &self.name)
            .field("cites", &self.cites)
            .finish_non_exhaustive()
    }
}

const fn law(name: &'static str, cites: &'static str, says: &'static str, check: Check) -> Law {
    Law { name, cites, says, check }
}

/// Every law.
pub const LAWS: [Law; 25] = [
    law("intent-first", "P2 R64 R93", "an effect comes after its intent", law_effect::intent_first),
    law("one-effect", "R66", "an attempt has one effect under way", law_effect::one_effect),
    law(
        "parallelism",
        "R98",
        "no more effects than allowed are under way",
        law_effect::parallelism,
    ),
    law(
        "fresh-fence",
        "P5 D11 R141",
        "no effect is sent with a stale fence",
        law_effect::fresh_fence,
    ),
    law(
        "doubt-looked-at",
        "D7 R68 R102",
        "no effect while one is in doubt",
        law_effect::doubt_looked_at,
    ),
    law("waits-out", "D5 R61", "no lease is asked for before its time", law_effect::waits_out),
    law("attempt-once", "D8", "no attempt is made a second time", law_effect::attempt_once),
    law(
        "identity-new",
        "D2 R30",
        "an identity that went with its record never comes back",
        law_journal::identity_new,
    ),
    law("own-only", "R150 C4", "what is not ours is not touched", law_effect::own_only),
    law("one-lease", "R30 D10", "a slot has one lease, or two by surge", law_effect::one_lease),
    law("within-count", "D10 C10", "no more exists than count and surge", law_effect::within_count),
    law(
        "lease-kept",
        "D8 C5 R70 R147",
        "a lease that exists is not forgotten",
        law_journal::lease_kept,
    ),
    law(
        "loss-proven",
        "P1 D6 C1",
        "nothing fails without a sign of the world",
        law_journal::loss_proven,
    ),
    law(
        "backoff-kept",
        "D5 C6",
        "a due time of backoff never moves nearer",
        law_journal::backoff_kept,
    ),
    law("deletion-final", "D8", "a deletion is never cancelled", law_journal::deletion_final),
    law("one-open-step", "R66 R102", "an attempt has one open step", law_journal::one_open_step),
    law(
        "step-backs-record",
        "R93",
        "what a record waits for stands as a step",
        law_journal::backed,
    ),
    law("gates-shut", "R167", "nothing is made or started at a shut gate", law_journal::gates_shut),
    law("numbers-rise", "C16 R22", "numbers and fences only rise", law_journal::numbers_rise),
    law("promise-kept", "P2", "what an operator was told stands", law_end::promise_kept),
    law("sleeps", "P4 R57", "a driver with nothing to do waits", law_end::sleeps),
    law("all-taken-over", "R101 R177", "who takes the run forgets nothing", law_end::taken_over),
    law("disk-is-memory", "R74 R101", "what is synced is what is known", law_end::disk_is_memory),
    law("all-accounted", "C4 R152", "what exists is owned or reported", law_end::all_accounted),
    law("steady-writes-nothing", "R73", "a settled run decides nothing", law_end::steady),
];

/// Holds every law against an event; the first that breaks is kept.
pub(crate) fn check(scene: &mut Scene, event: &Event<'_>) {
    if scene.broken.is_some() {
        return;
    }
    let broken = |law: &Law| Some((law.name, (law.check)(scene, event).err()?));
    if let Some((law, why)) = LAWS.iter().find_map(broken) {
        let at = scene.now();
        scene.tell(&format!("BROKEN {law}: {why}"));
        scene.broken = Some(Broken { law, why, at });
    }
}
