//! The times of a probe beside each other and beside those of its group: what could never come about is refused (R132,
//! R172, R176).

use std::ops::Range;

use reconciler_core::{desired::ProbeKind, time::Millis};

use super::{
    diagnostic::{Diagnostic, Report},
    quantity,
    setting::{Setting, contradiction},
};

/// The times of a group that bound how long its probes may take.
pub(super) struct Bounds {
    /// How long a node may take to join.
    pub(super) bootstrap: Setting,
    /// How long an update may make no progress.
    pub(super) progress: Setting,
}

/// The times of one probe.
pub(super) struct Times {
    /// Where the probe stands.
    pub(super) at: Range<usize>,
    pub(super) initial_delay: Setting,
    pub(super) interval: Setting,
    pub(super) timeout: Setting,
    pub(super) successes: u32,
}

impl Times {
    /// Refuses what contradicts itself, and what could not pass before the group gives up on it.
    pub(super) fn check(&self, kind: ProbeKind, bounds: &Bounds, out: &mut Report) {
        // What is given to an answer by default is no promise of the file.
        if self.timeout.span.is_some() && self.timeout.value > self.interval.value {
            let message = "an answer may take longer than the time from one question to the next";
            contradiction(&self.timeout, &self.interval, message, out);
        }
        match kind {
            ProbeKind::Startup => {
                let message = "a node would be given up before its startup probe can have passed";
                self.within(&bounds.bootstrap, message, out);
            }
            ProbeKind::Readiness | ProbeKind::Liveness => {
                let message =
                    "an update would run out of time before its first node can have passed";
                self.within(&bounds.progress, message, out);
            }
        }
    }

    /// Refuses a window of the liveness budget that holds no two failures of the probe.
    pub(super) fn check_window(&self, window: &Setting, out: &mut Report) {
        if window.value < self.interval.value && window.value > Millis::ZERO {
            let message = "a replacement would be forgotten before the next question is asked";
            contradiction(&self.interval, window, message, out);
        }
    }

    /// The probe must be able to pass within `bound`, with one question to spare: the first may come too early.
    fn within(&self, bound: &Setting, message: &str, out: &mut Report) {
        let questions = u64::from(self.successes.saturating_sub(1).max(1));
        let asking = self.interval.value.get().saturating_mul(questions);
        let least = Millis::new(self.initial_delay.value.get().saturating_add(asking));
        if least < bound.value || bound.value == Millis::ZERO {
            return;
        }
        let delay = self.initial_delay.value.get();
        let longer = if delay >= asking { &self.initial_delay } else { &self.interval };
        let span = longer.span.clone().unwrap_or_else(|| self.at.clone());
        let label = format!("its questions take {} at least", quantity::show(least));
        let hint = format!("{}; raise `{}` or ask sooner", bound.label(), bound.key);
        let diagnostic = Diagnostic::new(span, message).label(label).hint(hint);
        out.push(match &bound.span {
            Some(span) => diagnostic.related(span.clone(), bound.label()),
            None => diagnostic,
        });
    }
}
