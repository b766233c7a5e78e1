//! Hearing agents: their door is opened, and what they say turns into facts. Who is let in stands in `admitting`.

use std::sync::Arc;

use checkpoint::store::Ticket;
use executor::agent::protocol::{FromAgent, ToAgent};
use reconciler_core::{
    desired::JoinMode,
    fold::Fact,
    id::{LogicalNodeId, Uuid},
    observed::{AgentNews, NodeRecord},
};
use tokio::{sync::oneshot, time::Instant};

use crate::{
    agents::{DOOR_TIME, Entrance, KNOCK_TIME, MISSED_AFTER, Missed, OPEN_AGAIN, SEQ_BASE, Seat},
    api::agents::{DoorError, Heard, Opened, Opening, Said},
    looping::Loop,
    refusing::refuse,
    view::{OutputView, Refusal, RefusalKind},
};

impl Loop {
    /// Has the door to agents opened once a group joins by them.
    fn open_to_agents(&mut self, now: Instant) {
        if !matches!(self.agents.entrance, Entrance::Shut(until) if until <= now) {
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
        let (place, identity) = (place.clone(), self.agents.identity.clone());
        self.agents.entrance = match doors.send(Opening { run: shape.uuid, place, identity }) {
            Ok(()) => Entrance::Opening(now + DOOR_TIME),
            // Nothing is served any more: the driver stops.
            Err(_gone) => Entrance::Shut(now + OPEN_AGAIN),
        };
    }

    fn opened(&mut self, opened: Result<Opened, DoorError>) {
        match opened {
            Ok(Opened { grants, address }) => {
                tracing::info!(%address, "agents are listened to");
                self.state.secrets.open_to_agents(Arc::clone(&grants));
                self.agents.entrance = Entrance::Open;
            }
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::error!(%error, cause, "agents cannot join");
                self.agents.entrance = Entrance::Shut(Instant::now() + OPEN_AGAIN);
            }
        }
    }

    /// Takes what comes of an agent.
    pub(crate) fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Opened(opened) => self.opened(opened),
            Heard::Knock(knock) => self.judge(knock, Instant::now() + KNOCK_TIME),
            Heard::Said { attempt, connection, said } => self.said(attempt, connection, said),
            Heard::Gone { attempt, connection } => {
                if self.agents.seat(attempt, connection).is_some()
                    && let Some(seat) = self.agents.seats.remove(&attempt)
                {
                    let Seat { slot, attempt, session, .. } = seat;
                    let missed = Missed { slot, attempt, session };
                    let lost_at = Instant::now() + MISSED_AFTER;
                    self.agents.missed.insert(attempt.uuid, lost_at, missed);
                    self.give_up_questions_to(attempt.uuid);
                }
            }
        }
    }

    /// Does what is due about agents; notes who is missed for too long.
    pub(crate) fn attend_agents(&mut self) {
        let now = Instant::now();
        self.open_to_agents(now);
        self.end_waiting(now);
        self.give_up_questions(now);
        for Missed { slot, attempt, session } in self.agents.missed.take_due(now) {
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
                let missed = Missed { slot, attempt, session };
                self.agents.missed.insert(attempt.uuid, lost_at, missed);
            }
        }
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
                seat.output = self.state.secrets.lines(&slot.group, &text);
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

    /// What the agent of a slot told last of what its workload wrote.
    pub(crate) fn output(&self, slot: &LogicalNodeId) -> Result<OutputView, Refusal> {
        let attempts = self.state.cluster.record(slot).into_iter().flat_map(|one| one.attempts());
        let seats = attempts.filter_map(|one| self.agents.seats.get(&one.attempt.uuid));
        let told = seats.map(|seat| OutputView {
            slot: slot.clone(),
            attempt: seat.attempt.ordinal,
            lines: seat.output.iter().map(ToString::to_string).collect(),
        });
        told.into_iter().next().ok_or_else(|| {
            let message = format!("no agent is heard that tells what `{slot}` writes");
            refuse(RefusalKind::Invalid, message)
        })
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
