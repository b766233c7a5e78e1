//! Hearing agents: who is let in, and how what they say turns into facts.

use checkpoint::store::Ticket;
use executor::agent::protocol::{FromAgent, ToAgent, Welcome};
use reconciler_core::{
    desired::JoinMode,
    fold::Fact,
    id::Uuid,
    observed::{Admission, AgentNews, NodeRecord},
};
use tokio::{sync::oneshot, time::Instant};

use crate::{
    agents::{HEARTBEAT, KNOCK_TIME, MISSED_AFTER, Missed, OPEN_AGAIN, SEQ_BASE, Seat},
    api::agents::{Heard, Knock, Said, Turned, open},
    looping::Loop,
    state::millis,
};

impl Loop {
    /// Opens the door to agents once a group joins by them.
    pub(crate) fn open_to_agents(&mut self) {
        let now = Instant::now();
        if self.agents.is_open || now < self.agents.open_at {
            return;
        }
        let (Some(place), Some(doors)) = (&self.agents.place, &self.agents.doors) else { return };
        let shape = &self.state.shape;
        if self.agents.unasked == Some(shape.generation) {
            return;
        }
        if !shape.groups().any(|group| group.spec.join == JoinMode::Agent) {
            self.agents.unasked = Some(shape.generation);
            return;
        }
        self.agents.open_at = now + OPEN_AGAIN;
        match open(self.state.shape.uuid, place, &self.agents.identity) {
            Ok(door) => {
                tracing::info!(address = %door.address, "agents are listened to");
                self.state.secrets.open_to_agents(std::sync::Arc::clone(&door.grants));
                self.agents.is_open = doors.send(door).is_ok();
            }
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::error!(%error, cause, "agents cannot join");
            }
        }
    }

    /// Takes what comes of an agent.
    pub(crate) fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Knock(knock) => {
                self.agents.waiting.push((knock, Instant::now() + KNOCK_TIME));
                self.let_in();
            }
            Heard::Said { attempt, connection, said } => self.said(attempt, connection, said),
            Heard::Gone { attempt, connection } => {
                if self.agents.seat(attempt, connection).is_some()
                    && let Some(seat) = self.agents.seats.remove(&attempt)
                {
                    let Seat { slot, attempt, session, .. } = seat;
                    let lost_at = Instant::now() + MISSED_AFTER;
                    let missed = Missed { slot, attempt, session, lost_at };
                    self.agents.missed.insert(attempt.uuid, missed);
                    self.give_up_questions(Some(attempt.uuid));
                }
            }
        }
    }

    /// Answers who waits at the door, as far as there is an answer; notes who is missed for too long.
    pub(crate) fn attend_agents(&mut self) {
        self.open_to_agents();
        if !self.agents.waiting.is_empty() {
            self.let_in();
        }
        if !self.agents.asked.is_empty() {
            self.give_up_questions(None);
        }
        let now = Instant::now();
        let lost = self.agents.missed.extract_if(.., |_, missed| missed.lost_at <= now);
        let lost: Vec<Missed> = lost.map(|(_, missed)| missed).collect();
        for Missed { slot, attempt, session, .. } in lost {
            self.facts.push(Fact::Agent { slot, attempt, session, news: AgentNews::Lost });
        }
    }

    /// Misses the agents of a record that joined an earlier driver.
    pub(crate) fn miss_agents(&mut self, record: &NodeRecord) {
        let lost_at = Instant::now() + MISSED_AFTER;
        for one in record.attempts() {
            let Some(agent) = &one.agent else { continue };
            if agent.lost_since.is_none() && !self.agents.seats.contains_key(&one.attempt.uuid) {
                let (slot, attempt, session) = (one.slot.clone(), one.attempt, agent.session);
                let missed = Missed { slot, attempt, session, lost_at };
                self.agents.missed.insert(attempt.uuid, missed);
            }
        }
    }

    fn let_in(&mut self) {
        let now = Instant::now();
        for (knock, until) in std::mem::take(&mut self.agents.waiting) {
            match self.admission(&knock) {
                Ok(welcome) => self.seat(knock, welcome),
                Err(Turned { again: true, .. }) if now < until => {
                    self.agents.waiting.push((knock, until));
                }
                Err(turned) => {
                    tracing::info!(slot = %knock.slot, attempt = %knock.attempt, why = turned.why, "an agent was turned away");
                    // One that went away meanwhile needs no answer.
                    drop(knock.answer.send(Err(turned)));
                }
            }
        }
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

    fn seat(&mut self, knock: Knock, welcome: Welcome) {
        let Some(attempt) = self.attempt_of(&knock).map(|record| record.attempt) else { return };
        let Knock { slot, seal, connection, to, answer, .. } = knock;
        let session = welcome.session;
        if answer.send(Ok(welcome)).is_err() {
            return;
        }
        let news = AgentNews::Joined(seal);
        self.facts.push(Fact::Agent { slot: slot.clone(), attempt, session, news });
        self.trigger = "agent";
        self.agents.missed.remove(&attempt.uuid);
        let seat = Seat { slot, attempt, session, seal, connection, to };
        self.agents.seats.insert(attempt.uuid, seat);
    }

    fn said(&mut self, attempt: Uuid, connection: u64, said: FromAgent) {
        let Some(seat) = self.agents.seat(attempt, connection) else { return };
        let (slot, attempt, session) = (seat.slot.clone(), seat.attempt, seat.session);
        let last = |text: &str| self.state.secrets.last_lines(&slot.group, text);
        match said {
            FromAgent::Stage { seq, stage, line } => {
                if let Some(line) = line {
                    tracing::info!(%slot, ?stage, "{}", last(&line));
                }
                let seq = SEQ_BASE.saturating_add(seq);
                self.facts.push(Fact::Session { slot, attempt, session, seq, stage });
                self.trigger = "agent";
            }
            FromAgent::Tail { seq, text } => {
                if tracing::enabled!(tracing::Level::DEBUG) {
                    tracing::debug!(%slot, seq, "its workload wrote: {}", last(&text));
                }
            }
            FromAgent::Beat => {}
            FromAgent::Exit { seq: _, status, tail } => {
                let tail = last(&tail);
                let record = self.state.cluster.record(&slot);
                let record = record.and_then(|record| record.of_attempt(attempt));
                let workload = record.and_then(|one| one.end_told_in(session)).cloned();
                let Some(workload) = workload else { return seat.say(Said::Now(ToAgent::Taken)) };
                self.agents.leaving.insert(attempt.uuid);
                self.facts.push(Fact::Exited { slot, attempt, workload, status, tail });
                self.trigger = "exit";
            }
            FromAgent::Answer { id, answer } => self.answered(attempt.uuid, id, answer),
        }
    }

    /// Lets those agents go whose end the commit of `ticket` writes down.
    pub(crate) fn release_agents(&mut self, ticket: Ticket) {
        let cluster = &self.state.cluster;
        self.agents.leaving.retain(|attempt| {
            let Some(seat) = self.agents.seats.get(attempt) else { return false };
            let record = cluster.record(&seat.slot);
            let record = record.and_then(|record| record.of_attempt(seat.attempt));
            if record.is_some_and(|one| one.stage.session() == Some(seat.session)) {
                return true;
            }
            let (answer, written) = oneshot::channel();
            self.answers.defer(ticket, (), answer);
            seat.say(Said::Taken(written));
            false
        });
    }
}
