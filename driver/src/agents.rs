//! The agents that the loop hears: who is there, who knocks, who is missed, and what was asked of them.
//!
//! What is heard turns into the same facts that providers and probes give (`hearing`); nothing here is kept on disk,
//! since an agent that comes back says anew what a driver must know.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use checkpoint::store::Ticket;
use reconciler_core::{
    desired::{Probe, ProbeKind},
    id::{AgentSeal, AttemptId, Generation, LogicalNodeId, SessionId, Uuid},
    redact::Redacted,
};
use tokio::{sync::mpsc, time::Instant};

use crate::{
    api::agents::{Knock, Opening, Said},
    timed::Timed,
};

/// How far apart heartbeats are.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(5);
/// How long nothing may be heard of the other side: three heartbeats.
pub(crate) const SILENCE: Duration = Duration::from_secs(15);
/// How long an agent may be away before that is noted: as long as its longest pause between two tries, and a little.
pub(crate) const MISSED_AFTER: Duration = Duration::from_secs(15);
/// How long an agent whose start is still under way waits at the door.
pub(crate) const KNOCK_TIME: Duration = Duration::from_secs(30);
/// Time between two tries to open the door.
pub(crate) const OPEN_AGAIN: Duration = Duration::from_secs(5);
/// How long passes wait for a door that is being opened: what is started meanwhile would have nothing to tell its agent.
pub(crate) const DOOR_TIME: Duration = Duration::from_secs(2);
/// How much longer than its own time an answer of an agent may take on its way.
pub(crate) const ANSWER_MARGIN: Duration = Duration::from_secs(10);
/// What is added to the numbers of an agent's reports: they follow all those of the provider's, and their count starts
/// anew with each agent.
pub(crate) const SEQ_BASE: u64 = 1 << 32;

/// Where a driver listens to agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPlace {
    /// The address; with port 0 the system chooses one, which is asked for again by every later driver.
    pub listen: SocketAddr,
    /// What agents are told, as `HOST:PORT`, where that is another.
    pub address: Option<String>,
}

impl Default for AgentPlace {
    fn default() -> Self {
        Self { listen: (Ipv4Addr::LOCALHOST, 0).into(), address: None }
    }
}

/// An agent that is there.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) slot: LogicalNodeId,
    pub(crate) attempt: AttemptId,
    pub(crate) session: SessionId,
    /// What tells it from any other.
    pub(crate) seal: AgentSeal,
    pub(crate) connection: u64,
    pub(crate) to: mpsc::UnboundedSender<Said>,
    /// What its workload wrote last.
    pub(crate) output: Vec<Redacted>,
}

/// An agent that was there and is not.
#[derive(Clone, Debug)]
pub(crate) struct Missed {
    pub(crate) slot: LogicalNodeId,
    pub(crate) attempt: AttemptId,
    pub(crate) session: SessionId,
}

/// A question that an agent was given.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) slot: LogicalNodeId,
    pub(crate) attempt: AttemptId,
    pub(crate) session: SessionId,
    pub(crate) kind: ProbeKind,
    pub(crate) probe: Arc<Probe>,
}

/// Whether agents can come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entrance {
    /// They cannot; from then on it is tried to open it.
    Shut(Instant),
    /// It is being opened; passes wait for it until then.
    Opening(Instant),
    /// They can.
    Open,
}

/// All that is known of agents.
#[derive(Debug)]
pub(crate) struct Agents {
    /// Where to listen, if this driver does at all.
    pub(crate) place: Option<AgentPlace>,
    /// Where the identity is kept.
    pub(crate) identity: PathBuf,
    /// Where doors are opened and served.
    pub(crate) doors: Option<mpsc::UnboundedSender<Opening>>,
    pub(crate) entrance: Entrance,
    /// The generation of which no group joins by agents.
    pub(crate) unasked: Option<Generation>,
    /// By attempt.
    pub(crate) seats: BTreeMap<Uuid, Seat>,
    /// By attempt: who said that its workload ended, until that is written down.
    pub(crate) leaving: BTreeSet<Uuid>,
    /// Who waits at the door, by slot and connection.
    pub(crate) waiting: Timed<(LogicalNodeId, u64), Knock>,
    /// By attempt: who is let in once its seal is written down.
    pub(crate) entering: BTreeMap<Uuid, Knock>,
    /// The attempts of those whose seal is not folded yet.
    pub(crate) unfolded: Vec<Uuid>,
    /// The attempts of those whose seal is in a commit that was not answered yet.
    pub(crate) unanswered: VecDeque<(Ticket, Uuid)>,
    /// By attempt, until they count as lost.
    pub(crate) missed: Timed<Uuid, Missed>,
    /// By attempt and the number that the answer carries, until it is not waited for any more.
    pub(crate) asked: Timed<(Uuid, u64), Asked>,
    /// The number of the next question.
    pub(crate) next_question: u64,
}

impl Agents {
    /// None yet.
    pub(crate) fn new(place: Option<AgentPlace>, identity: PathBuf) -> Self {
        Self {
            place,
            identity,
            doors: None,
            entrance: Entrance::Shut(Instant::now()),
            unasked: None,
            seats: BTreeMap::new(),
            leaving: BTreeSet::new(),
            waiting: Timed::new(),
            entering: BTreeMap::new(),
            unfolded: Vec::new(),
            unanswered: VecDeque::new(),
            missed: Timed::new(),
            asked: Timed::new(),
            next_question: 1,
        }
    }

    /// The seat of a connection that still has it.
    pub(crate) fn seat(&mut self, attempt: Uuid, connection: u64) -> Option<&mut Seat> {
        self.seats.get_mut(&attempt).filter(|seat| seat.connection == connection)
    }

    /// Until when passes wait for the door, if they do.
    pub(crate) fn opening(&self) -> Option<Instant> {
        match self.entrance {
            Entrance::Opening(until) => Some(until).filter(|until| *until > Instant::now()),
            Entrance::Shut(_) | Entrance::Open => None,
        }
    }

    /// When something is due of itself.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        let times = [self.waiting.next_at(), self.missed.next_at(), self.asked.next_at()];
        times.into_iter().flatten().min()
    }
}

impl Seat {
    /// Says something to it; one that is gone comes back.
    pub(crate) fn say(&self, said: Said) {
        drop(self.to.send(said));
    }
}
