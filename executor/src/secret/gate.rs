//! The gate at which every text of a provider loses the secrets that are known, or is withheld where they are not.
//!
//! Providers clean what they read before they cut it; this is the second look, at the texts as they go out.

use reconciler_core::{
    effect::{EffectReport, HookSight, HookState, Listing, Look, OwnedLease, WorkloadState},
    id::GroupId,
    observed::ProbeAnswer,
    redact::Redacted,
};

use super::{needles::Needles, vault::Secrets};
use crate::{
    agent::protocol::TAIL_BYTES, dispatch::Report, provider::last_lines, seam::SessionObservation,
};

impl Secrets {
    /// `report` with texts that may be kept and shown.
    pub(crate) fn report(&self, report: Report) -> Report {
        match report {
            Report::Effect(EffectReport { step, slot, attempt, command, result, look }) => {
                let text = self.of(&slot.group);
                let result = result.map_err(|mut failure| {
                    text.clean(&mut failure.message);
                    failure
                });
                let look = look.map(|look| text.look(look));
                Report::Effect(EffectReport { step, slot, attempt, command, result, look })
            }
            Report::Session { slot, attempt, session, observation } => {
                let SessionObservation { seq, stage, mut line } = observation;
                let text = self.of(&slot.group);
                if let Some(line) = &mut line {
                    text.clean(line);
                }
                let observation = SessionObservation { seq, stage, line };
                Report::Session { slot, attempt, session, observation }
            }
            Report::Listed { provider, listing, visibility } => {
                Report::Listed { provider, listing: self.listing(listing), visibility }
            }
            Report::Looked { provider, slot, attempt, look } => {
                let look = self.of(&slot.group).look(look);
                Report::Looked { provider, slot, attempt, look }
            }
            Report::Probed { slot, attempt, session, kind, probe, mut answer } => {
                match &mut answer {
                    ProbeAnswer::Failed(said) | ProbeAnswer::Unknown(said) => {
                        self.of(&slot.group).clean(said);
                    }
                    ProbeAnswer::Passed => {}
                }
                Report::Probed { slot, attempt, session, kind, probe, answer }
            }
            Report::Said { slot, attempt, session, mut tail } => {
                self.of(&slot.group).clean(&mut tail);
                Report::Said { slot, attempt, session, tail }
            }
            Report::Exited { slot, attempt, workload, mut exit } => {
                self.of(&slot.group).clean(&mut exit.tail);
                Report::Exited { slot, attempt, workload, exit }
            }
        }
    }

    /// A look at a node of `group` that was asked for beside the dispatcher, cleaned like its reports.
    pub fn look(&self, group: &GroupId, look: Look) -> Look {
        self.of(group).look(look)
    }

    /// The last lines of `text`, which a node of `group` wrote and which may have lost its beginning.
    pub fn last_lines(&self, group: &GroupId, text: &str) -> Redacted {
        let mut lines = last_lines::clean(&self.cleaned(text), text.len() < TAIL_BYTES);
        self.of(group).clean(&mut lines);
        lines
    }

    /// The lines of `text`, which a node of `group` wrote and which may have lost its beginning.
    pub fn lines(&self, group: &GroupId, text: &str) -> Vec<Redacted> {
        if let Some(withheld) = self.of(group).withheld {
            return vec![withheld];
        }
        last_lines::lines(&self.cleaned(text), text.len() < TAIL_BYTES)
    }

    /// `listing` with texts that may be kept and shown.
    pub fn listing(&self, listing: Listing) -> Listing {
        let needles = self.needles();
        let entry = |mut lease: OwnedLease| {
            self.of(&lease.slot.group).workload(&mut lease.workload);
            lease
        };
        let entries = |owned: Vec<OwnedLease>| owned.into_iter().map(entry).collect();
        // What a listing says of itself is the provider's own word, and no node's.
        let own = |why: &Redacted| without(&needles, why);
        match listing {
            Listing::Complete(owned) => Listing::Complete(entries(owned)),
            Listing::Partial(owned, why) => Listing::Partial(entries(owned), own(&why)),
            Listing::Unknown(why) => Listing::Unknown(own(&why)),
        }
    }

    fn of(&self, group: &GroupId) -> Gate {
        let withheld = self.withheld(group).map(|why| {
            Redacted::new(&format!("withheld, since it may show a secret that is not known: {why}"))
        });
        Gate { needles: self.needles(), withheld }
    }
}

/// The gate for texts of one group.
struct Gate {
    needles: std::sync::Arc<Needles>,
    /// What stands in place of every text.
    withheld: Option<Redacted>,
}

impl Gate {
    fn clean(&self, text: &mut Redacted) {
        if text.as_str().is_empty() {
            return;
        }
        *text = self.withheld.clone().unwrap_or_else(|| without(&self.needles, text));
    }

    fn look(&self, mut look: Look) -> Look {
        match &mut look {
            Look::Unknown { why } => self.clean(why),
            Look::Absent => {}
            Look::Present { workload, hook, .. } => {
                self.workload(workload);
                if let HookSight::Begun { state: HookState::Ended { tail, .. }, .. } = hook {
                    self.clean(tail);
                }
            }
        }
        look
    }

    fn workload(&self, workload: &mut WorkloadState) {
        if let WorkloadState::Exited { tail, .. } = workload {
            self.clean(tail);
        }
    }
}

fn without(needles: &Needles, text: &Redacted) -> Redacted {
    if needles.is_empty() {
        return text.clone();
    }
    Redacted::new(&needles.cleaned(text.as_str()))
}
