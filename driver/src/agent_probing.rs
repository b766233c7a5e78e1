//! Asking workloads through their agents: the driver says when, the agent asks, and what came of it is counted as
//! anybody's answer is. An agent that is not there is no answer.

use std::{sync::Arc, time::Duration};

use executor::agent::protocol::{Answer, ToAgent};
use reconciler_core::{id::Uuid, observed::ProbeAnswer, redact::Redacted};
use tokio::time::Instant;

use crate::{
    agents::{ANSWER_MARGIN, Asked},
    api::agents::Said,
    looping::Loop,
    prober::Place,
};

impl Loop {
    /// Has the agent at `place` ask its workload.
    pub(crate) fn ask_agent(&mut self, place: Place) {
        let Place { slot, attempt, kind } = place;
        let record = self.state.cluster.record(&slot);
        let Some(record) = record.and_then(|record| record.of_attempt(attempt)) else { return };
        let probe = record.probes().find(|(known, ..)| *known == kind);
        let Some(((_, probe, _), session)) = probe.zip(record.stage.session()) else { return };
        let probe = Arc::clone(probe);
        let time = Duration::from_millis(probe.timeout.get());
        let until = Instant::now() + time + ANSWER_MARGIN;
        let uuid = attempt.uuid;
        let seat = self.agents.seats.get(&attempt.uuid).filter(|seat| seat.session == session);
        let asked = Asked { slot, attempt, session, kind, probe };
        let Some(seat) = seat else { return self.unanswered(asked) };
        let id = self.agents.next_question;
        self.agents.next_question = id.wrapping_add(1);
        let (check, timeout_ms) = (asked.probe.check.clone(), asked.probe.timeout.get());
        seat.say(Said::Now(ToAgent::Ask { id, check, timeout_ms }));
        self.agents.asked.insert((uuid, id), until, asked);
    }

    /// Takes an answer of the agent of `attempt`.
    pub(crate) fn answered(&mut self, attempt: Uuid, id: u64, answer: Answer) {
        let Some((_, asked)) = self.agents.asked.remove(&(attempt, id)) else { return };
        let group = &asked.slot.group;
        let said = |text: &str| self.state.secrets.last_lines(group, text);
        let answer = match answer {
            Answer::Passed => ProbeAnswer::Passed,
            Answer::Failed(text) => ProbeAnswer::Failed(said(&text)),
            Answer::Unknown(text) => ProbeAnswer::Unknown(said(&text)),
        };
        self.counted(asked, answer);
    }

    /// Gives up the questions to which no answer came in time.
    pub(crate) fn give_up_questions(&mut self, now: Instant) {
        for asked in self.agents.asked.take_due(now) {
            self.unanswered(asked);
        }
    }

    /// Gives up the questions to the agent of `gone`, which is not there any more.
    pub(crate) fn give_up_questions_to(&mut self, gone: Uuid) {
        for (_, asked) in self.agents.asked.take_range((gone, 0)..=(gone, u64::MAX)) {
            self.unanswered(asked);
        }
    }

    fn unanswered(&mut self, asked: Asked) {
        let why = Redacted::new("its agent is not heard of");
        self.counted(asked, ProbeAnswer::Unknown(why));
    }

    fn counted(&mut self, asked: Asked, answer: ProbeAnswer) {
        let Asked { slot, attempt, session, kind, probe } = asked;
        if let Some(fact) = self.take_answer((slot, attempt), (session, kind, probe), answer) {
            self.trigger = "probe";
            self.facts.push(fact);
        }
    }
}
