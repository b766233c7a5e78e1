//! Letting agents in: who shows a token is judged by the record, and welcomed once its seal is on disk.
//!
//! A welcome that went out before that could be followed by a second one: a driver that dies in between leaves nothing
//! that tells its successor who showed the token first.

use checkpoint::store::Ticket;
use executor::agent::protocol::Welcome;
use reconciler_core::{
    fold::Fact,
    id::{LogicalNodeId, SessionId, Uuid},
    observed::{Admission, AgentNews, NodeRecord},
};
use tokio::time::Instant;

use crate::{
    agents::{HEARTBEAT, Seat},
    api::agents::{Knock, Turned},
    looping::Loop,
    state::millis,
};

/// Why one waits whose token another shows at this moment.
const OCCUPIED: Turned = Turned { why: "another agent is being let in", again: true };
/// Why one is to come back whose seal was not written down.
const UNWRITTEN: Turned = Turned { why: "it could not be written down", again: true };

impl Loop {
    /// Lets an agent in or turns it away; has it wait where that cannot be said yet, until `until` at most.
    pub(crate) fn judge(&mut self, knock: Knock, until: Instant) {
        let occupied = self.agents.entering.contains_key(&knock.attempt);
        match if occupied { Err(OCCUPIED) } else { self.admission(&knock) } {
            Ok(welcome) if self.is_sealed(&knock, welcome.session) => {
                // One that comes back is not lost any more.
                self.tell_joined(&knock, welcome.session);
                self.seat(knock, welcome);
            }
            Ok(welcome) => self.enter(knock, welcome.session),
            Err(Turned { again: true, .. }) if Instant::now() < until => {
                self.agents.waiting.insert((knock.slot.clone(), knock.connection), until, knock);
            }
            Err(turned) => turn_away(knock, turned),
        }
    }

    /// Judges those anew that wait for what becomes of `slot`.
    pub(crate) fn judge_waiting(&mut self, slot: &LogicalNodeId) {
        let range = (slot.clone(), 0)..=(slot.clone(), u64::MAX);
        for (until, knock) in self.agents.waiting.take_range(range) {
            self.judge(knock, until);
        }
    }

    /// Turns those away who waited long enough.
    pub(crate) fn end_waiting(&mut self, now: Instant) {
        for knock in self.agents.waiting.take_due(now) {
            self.judge(knock, now);
        }
    }

    /// Notes that the pass that ran last folded the seals of those who enter, and that `ticket` writes them down.
    pub(crate) fn note_entering(&mut self, ticket: Option<Ticket>) {
        for attempt in std::mem::take(&mut self.agents.unfolded) {
            let Some(knock) = self.agents.entering.get(&attempt) else { continue };
            let record = self.attempt_of(knock);
            let is_folded = record.is_some_and(|one| {
                one.agent.as_ref().is_some_and(|agent| {
                    agent.seal == knock.seal && one.stage.session() == Some(agent.session)
                })
            });
            match ticket.filter(|_| is_folded) {
                Some(ticket) => self.agents.unanswered.push_back((ticket, attempt)),
                None => self.end_entering(attempt, false),
            }
        }
    }

    /// Lets those in whose seals are on disk with `ticket`; those whose seals the journal refused come back.
    pub(crate) fn settle_entering(&mut self, ticket: Ticket, is_kept: bool) {
        while self.agents.unanswered.front().is_some_and(|(waits, _)| *waits <= ticket) {
            let Some((_, attempt)) = self.agents.unanswered.pop_front() else { return };
            self.end_entering(attempt, is_kept);
        }
    }

    fn end_entering(&mut self, attempt: Uuid, is_kept: bool) {
        let Some(knock) = self.agents.entering.remove(&attempt) else { return };
        let slot = knock.slot.clone();
        if is_kept {
            match self.admission(&knock) {
                Ok(welcome) => self.seat(knock, welcome),
                Err(turned) => turn_away(knock, turned),
            }
        } else {
            // What is folded is to be written still before anybody is let in by it.
            self.state.unwritten.insert(slot.clone());
            turn_away(knock, UNWRITTEN);
        }
        self.judge_waiting(&slot);
    }

    fn admission(&self, knock: &Knock) -> Result<Welcome, Turned> {
        let gone = Turned { why: "there is no such attempt", again: false };
        let record = self.attempt_of(knock).ok_or(gone)?;
        let seated = self.agents.seats.get(&knock.attempt).map(|seat| (seat.session, seat.seal));
        match record.admits(knock.seal, knock.session, seated) {
            Admission::Welcome(session) => Ok(Welcome {
                session,
                fence: self.state.fence,
                heartbeat_ms: millis(HEARTBEAT).get(),
                // Its provider ends it by force after the whole grace: its end is told before that.
                grace_ms: record.policy.stop_grace.get().saturating_mul(9) / 10,
            }),
            Admission::Later => Err(Turned { why: "its start is still under way", again: true }),
            Admission::Refused(why) => Err(Turned { why, again: false }),
        }
    }

    fn attempt_of(&self, knock: &Knock) -> Option<&NodeRecord> {
        let record = self.state.cluster.record(&knock.slot)?;
        record.attempts().find(|one| one.attempt.uuid == knock.attempt)
    }

    /// True if the journal has its seal: nobody enters for its attempt, and what is folded is written.
    fn is_sealed(&self, knock: &Knock, session: SessionId) -> bool {
        let agent = self.attempt_of(knock).and_then(|record| record.agent.as_ref());
        let is_known = agent.is_some_and(|one| one.session == session && one.seal == knock.seal);
        is_known && !self.state.unwritten.contains(&knock.slot)
    }

    /// Has its seal written down first.
    fn enter(&mut self, knock: Knock, session: SessionId) {
        if self.tell_joined(&knock, session) {
            self.agents.unfolded.push(knock.attempt);
            self.agents.entering.insert(knock.attempt, knock);
        }
    }

    /// Folds that it joined, with the next pass.
    fn tell_joined(&mut self, knock: &Knock, session: SessionId) -> bool {
        let Some(attempt) = self.attempt_of(knock).map(|record| record.attempt) else {
            return false;
        };
        let news = AgentNews::Joined(knock.seal);
        self.facts.push(Fact::Agent { slot: knock.slot.clone(), attempt, session, news });
        self.trigger = "agent";
        true
    }

    fn seat(&mut self, knock: Knock, welcome: Welcome) {
        let Some(attempt) = self.attempt_of(&knock).map(|record| record.attempt) else { return };
        let session = welcome.session;
        let Knock { slot, seal, connection, to, answer, .. } = knock;
        if answer.send(Ok(welcome)).is_err() {
            return;
        }
        self.agents.missed.remove(&attempt.uuid);
        let seat = Seat { slot, attempt, session, seal, connection, to, output: Vec::new() };
        self.agents.seats.insert(attempt.uuid, seat);
    }
}

fn turn_away(knock: Knock, turned: Turned) {
    tracing::info!(slot = %knock.slot, attempt = %knock.attempt, why = turned.why, "an agent was turned away");
    // One that went away meanwhile needs no answer.
    drop(knock.answer.send(Err(turned)));
}
