//! What the providers of a story really hold, and how the next calls to them are answered.

use std::collections::{BTreeMap, VecDeque};

use reconciler_core::{
    effect::{
        Certainty, CommandKind, EffectFailure, ExitStatus, FailureClass, OwnedLease, WorkloadState,
    },
    id::{Fence, LogicalNodeId, Uuid},
    observed::{Endpoint, Handle, LeaseFacts, LeaseId},
    redact::Redacted,
};
use tokio::sync::watch;

use super::story::{Fate, Sight};

/// What is wrong with the workloads of a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ailment {
    /// Until when, in milliseconds of the story.
    pub(crate) until: u64,
    /// True if they cannot be asked, false if they answer badly.
    pub(crate) mute: bool,
}

/// How a thing came to be; of what nobody could know, nobody is asked to have known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// By an effect whose driver could know.
    Ours,
    /// By an effect that came after its time, or that was denied.
    Stray,
    /// By somebody else, under the run's mark.
    Foreign,
}

/// Something that a provider holds.
#[derive(Clone, Debug)]
pub(crate) struct Thing {
    pub(crate) provider: String,
    pub(crate) slot: LogicalNodeId,
    pub(crate) attempt: Uuid,
    pub(crate) fence: Fence,
    pub(crate) session: Option<u64>,
    pub(crate) exit: Option<ExitStatus>,
    /// From when on listings and looks show it, in milliseconds of the story.
    pub(crate) visible_at: u64,
    pub(crate) origin: Origin,
}

impl Thing {
    /// What its workload does.
    pub(crate) fn workload(&self) -> WorkloadState {
        match (self.session, &self.exit) {
            (None, _) => WorkloadState::Absent,
            (Some(_), Some(status)) => {
                WorkloadState::Exited { status: status.clone(), tail: Redacted::default() }
            }
            (Some(session), None) => WorkloadState::Running { workload: handle(session) },
        }
    }

    /// True if its workload runs.
    pub(crate) const fn runs(&self) -> bool {
        self.session.is_some() && self.exit.is_none()
    }

    /// The lease as its provider tells of it.
    pub(crate) fn facts(&self, id: &str) -> LeaseFacts {
        LeaseFacts { id: LeaseId::new(id), fence: self.fence, handle: Handle::default() }
    }

    /// The thing as a listing shows it.
    pub(crate) fn owned(&self, id: &str) -> OwnedLease {
        OwnedLease {
            slot: self.slot.clone(),
            attempt: self.attempt,
            fence: self.fence,
            lease: self.facts(id),
            endpoint: None,
            workload: self.workload(),
        }
    }
}

/// What the providers hold.
pub(crate) struct Land {
    /// By lease.
    pub(crate) things: BTreeMap<String, Thing>,
    /// The highest fence that each enforcing provider has seen.
    pub(crate) highest: BTreeMap<String, Fence>,
    /// How the next effects of a kind end.
    pub(crate) fates: Vec<(CommandKind, Fate)>,
    /// What the next listings of a provider show.
    pub(crate) sights: VecDeque<(String, Sight)>,
    /// How many of the next looks show nothing.
    pub(crate) blind_looks: u32,
    /// By slot: what is wrong with its workloads.
    pub(crate) ailing: BTreeMap<String, Ailment>,
    /// Tells who watches that something happened.
    pub(crate) changes: watch::Sender<u64>,
}

impl Default for Land {
    fn default() -> Self {
        Self {
            things: BTreeMap::new(),
            highest: BTreeMap::new(),
            fates: Vec::new(),
            sights: VecDeque::new(),
            blind_looks: 0,
            ailing: BTreeMap::new(),
            changes: watch::Sender::new(0),
        }
    }
}

impl Land {
    /// How the next effect of `kind` ends, if the story says so.
    pub(crate) fn fate(&mut self, kind: CommandKind) -> Option<Fate> {
        let at = self.fates.iter().position(|(of, _)| *of == kind)?;
        Some(self.fates.remove(at).1)
    }

    /// What the next listing of `provider` shows, if the story says so.
    pub(crate) fn sight(&mut self, provider: &str) -> Option<Sight> {
        let at = self.sights.iter().position(|(of, _)| of == provider)?;
        self.sights.remove(at).map(|(_, sight)| sight)
    }

    /// The things of a slot with their leases.
    pub(crate) fn of_slot(&self, slot: &str) -> Vec<String> {
        let mine = |(_, thing): &(&String, &Thing)| thing.slot.to_string() == slot;
        self.things.iter().filter(mine).map(|(id, _)| id.clone()).collect()
    }

    /// Tells everyone who watches.
    pub(crate) fn moved(&self) {
        self.changes.send_modify(|n| *n += 1);
    }
}

/// The lease of an attempt.
pub(crate) fn lease_id(attempt: Uuid) -> String {
    format!("lease-{attempt}")
}

/// What a provider knows of a workload.
pub(crate) fn handle(session: u64) -> Handle {
    Handle::new(BTreeMap::from([("session".to_owned(), session.to_string())]))
}

/// The session of such a workload.
pub(crate) fn session_of(handle: &Handle) -> u64 {
    handle.get("session").and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Where everything is reached.
pub(crate) fn endpoint() -> Endpoint {
    Endpoint { host: "sim".into(), ports: std::sync::Arc::default() }
}

/// A failure that surely had no effect, or so it is said.
pub(crate) fn refusal(class: FailureClass) -> EffectFailure {
    let message = Redacted::new("as the story has it");
    EffectFailure { certainty: Certainty::Definite, class, message }
}

/// A failure that may have had its effect.
pub(crate) fn doubt() -> EffectFailure {
    EffectFailure { certainty: Certainty::Ambiguous, ..refusal(FailureClass::Unavailable) }
}
