//! Answering the faces: plans at once, changes when they are durable, releases after a fresh look.

use reconciler_core::id::{AttemptId, Generation, LogicalNodeId, PlanHash};

use crate::{
    answers::{PendingRecovery, PendingRelease},
    inbox::{Answer, Ask, Checked, Then, Wake},
    looping::Loop,
    planning::{Confirming, SecretsAre},
    secrets::Needs,
    source::Source,
    state::Mode,
    view::{Edit, PlanView, ReleaseView},
};

impl Loop {
    /// Answers one ask, now or when it can be.
    pub(crate) fn answer(&mut self, ask: Ask) {
        let looks = match &ask {
            Ask::Plan(edit, _) | Ask::Apply { edit, .. } => self.state.recovery_looks(edit),
            Ask::Release { .. } | Ask::Output(..) | Ask::Ping(_) => Vec::new(),
        };
        if looks.is_empty() {
            return self.answer_now(ask);
        }
        for (slot, attempt) in &looks {
            self.look(slot, *attempt);
        }
        let waiting = looks.into_iter().collect();
        self.answers.recoveries.push(PendingRecovery { waiting, ask });
    }

    fn answer_now(&mut self, ask: Ask) {
        match ask {
            Ask::Plan(edit, answer) => self.plan(&edit, answer),
            Ask::Output(slot, answer) => drop(answer.send(self.output(&slot))),
            // A journal that hangs is a loop that does not turn; each turn asks again.
            Ask::Ping(answer) if self.barrier.is_some() => self.early.push(Ask::Ping(answer)),
            Ask::Ping(answer) => drop(answer.send(Ok(()))),
            Ask::Apply { edit, hash, source, answer } => {
                self.apply(edit, hash, source, answer, SecretsAre::Unknown);
            }
            Ask::Release { subject, confirm, answer } => self.release(&subject, confirm, answer),
        }
    }

    /// Plans beside the loop: a large plan takes its time, and a pass must not.
    fn plan(&mut self, edit: &Edit, answer: Answer<PlanView>) {
        self.fold_waiting();
        match self.state.planner(edit, self.now()) {
            Err(refusal) => drop(answer.send(Err(refusal))),
            Ok(planner) => {
                // The answer goes to who asked; nobody here waits for it.
                let shown = self.state.shown.clone();
                drop(tokio::task::spawn_blocking(move || {
                    let view = planner.view();
                    if let Ok(view) = &view {
                        shown.keep(view);
                    }
                    drop(answer.send(view));
                }));
            }
        }
    }

    fn apply(
        &mut self,
        edit: Edit,
        hash: PlanHash,
        source: Source,
        answer: Answer<Generation>,
        secrets: SecretsAre,
    ) {
        self.fold_waiting();
        let now = self.now();
        let used = self.store.is_used(&hash);
        match self.state.confirm(&edit, hash, &source, (used, secrets), now) {
            Err(refusal) => drop(answer.send(Err(refusal))),
            Ok(Confirming::Needs(needs)) => {
                self.ask_for(needs, Then::Apply { edit, hash, source, answer });
            }
            Ok(Confirming::Done(confirmed)) => {
                let ticket = self.submit(confirmed.commit);
                self.answers.defer(ticket, confirmed.generation, answer);
                self.trigger = "shape";
                self.publish();
            }
        }
    }

    /// Asks for secrets beside the loop: a file of a medium that hangs must not hold it up.
    pub(crate) fn ask_for(&self, needs: Needs, then: Then) {
        let (secrets, wake) = (self.state.secrets.clone(), self.wake.clone());
        drop(tokio::task::spawn_blocking(move || {
            let result = needs.check(&secrets);
            // A driver that stopped meanwhile confirms nothing.
            drop(wake.send(Wake::Checked(Box::new(Checked { then, result }))));
        }));
    }

    /// Goes on with what waited for its secrets; what it was planned from may have moved, and then it is stale.
    pub(crate) fn take_checked(&mut self, Checked { then, result }: Checked) {
        match (then, result) {
            (Then::Apply { answer, .. }, Err(refusal)) => drop(answer.send(Err(refusal))),
            (Then::Apply { edit, hash, source, answer }, Ok(())) => {
                self.apply(edit, hash, source, answer, SecretsAre::AtHand);
            }
            (Then::File(edit), result) => self.take_file_checked(&edit, result),
        }
    }

    /// Folds what came in, so that a plan is made from all that is known; decides nothing.
    pub(crate) fn fold_waiting(&mut self) {
        if self.facts.is_empty() || self.barrier.is_some() {
            return;
        }
        let mode = std::mem::replace(&mut self.state.mode, Mode::Waiting);
        self.pass_all();
        self.state.mode = mode;
        // What was folded here is still to be decided: the next pass follows at once.
        let waits = self.state.queued.values().any(|slots| !slots.is_empty());
        let left = waits || !self.state.work.is_empty();
        self.news.next_step = mode == Mode::Driving && left;
    }

    /// Passes until everything that waits is folded; a pass takes a bounded part of it.
    pub(crate) fn pass_all(&mut self) {
        self.one_pass();
        while !self.facts.is_empty() && self.barrier.is_none() {
            self.one_pass();
        }
    }

    fn release(&mut self, text: &str, confirm: Option<PlanHash>, answer: Answer<ReleaseView>) {
        let subject = match self.state.release_subject(text) {
            Ok(subject) => subject,
            Err(refusal) => return drop(answer.send(Err(refusal))),
        };
        let looks = self.state.release_looks(&subject);
        for (slot, attempt) in &looks {
            self.look(slot, *attempt);
        }
        let waiting = looks.into_iter().collect();
        self.answers.releases.push(PendingRelease { subject, confirm, waiting, answer });
        self.finish_releases();
    }

    /// Notes that an attempt was looked at.
    pub(crate) fn looked_for_release(&mut self, looked: &(LogicalNodeId, AttemptId)) {
        for release in &mut self.answers.releases {
            release.waiting.remove(looked);
        }
        for recovery in &mut self.answers.recoveries {
            recovery.waiting.remove(looked);
        }
        self.state.operations.looked(looked);
    }

    /// Answers the recoveries whose looks are all in, and takes back what was handed over for that.
    pub(crate) fn finish_recoveries(&mut self) {
        self.take_over();
        if self.barrier.is_some() || self.answers.recoveries.iter().all(|r| !r.waiting.is_empty()) {
            return;
        }
        let pending = std::mem::take(&mut self.answers.recoveries);
        let (ready, waiting) = pending.into_iter().partition(|r| r.waiting.is_empty());
        self.answers.recoveries = waiting;
        let ready: Vec<PendingRecovery> = ready;
        for recovery in ready {
            self.answer_now(recovery.ask);
        }
    }

    /// Answers the releases whose looks are all in.
    pub(crate) fn finish_releases(&mut self) {
        if self.barrier.is_some() || self.answers.releases.iter().all(|r| !r.waiting.is_empty()) {
            return;
        }
        self.fold_waiting();
        let pending = std::mem::take(&mut self.answers.releases);
        let (ready, waiting) = pending.into_iter().partition(|r| r.waiting.is_empty());
        self.answers.releases = waiting;
        let ready: Vec<PendingRelease> = ready;
        for release in ready {
            let now = self.now();
            match self.state.release(&release.subject, release.confirm, now) {
                Err(refusal) => drop(release.answer.send(Err(refusal))),
                Ok((view, None)) => drop(release.answer.send(Ok(view))),
                Ok((view, Some(commit))) => {
                    let ticket = self.submit(commit);
                    self.answers.defer(ticket, view, release.answer);
                    self.trigger = "release";
                    self.news.next_step = true;
                }
            }
        }
    }
}
