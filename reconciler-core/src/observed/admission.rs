//! Who is let in as the agent of a workload.
//!
//! Who shows a token is not yet the agent that it was made for: the first one that shows it in a session is, and whoever
//! shows it later must be the same.

use super::{facts::SessionStage, record::NodeRecord, stage::NodeStage};
use crate::{
    desired::JoinMode,
    effect::CommandKind,
    id::{AgentSeal, SessionId},
    time::Timestamp,
};

/// What becomes of an agent that shows a token of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is the agent of this session.
    Welcome(SessionId),
    /// Its start is still under way: it is to ask again.
    Later,
    /// It is not let in, for this reason.
    Refused(&'static str),
}

impl NodeRecord {
    /// Whether an agent with `seal` is let in that shows the token of this attempt; `resumed` is the session that it
    /// says it joined before. `seated` was let in, with its session, and may not be folded yet.
    pub fn admits(
        &self,
        seal: AgentSeal,
        resumed: Option<SessionId>,
        seated: Option<(SessionId, AgentSeal)>,
    ) -> Admission {
        if self.spec.join != JoinMode::Agent {
            return Admission::Refused("the node does not join by an agent");
        }
        let Some(session) = self.stage.session() else {
            if resumed.is_none() && self.is_under_way(CommandKind::StartBootstrap) {
                return Admission::Later;
            }
            return Admission::Refused("the attempt has no workload");
        };
        let folded = self.agent.as_ref().map(|agent| (agent.session, agent.seal));
        let known = folded.into_iter().chain(seated).find(|(of, _)| *of == session);
        match (known, resumed) {
            (Some((_, used_by)), _) if used_by != seal => {
                Admission::Refused("the token was used by another agent")
            }
            (_, Some(before)) if before != session => {
                Admission::Refused("the session that it joined is over")
            }
            (None, None) if self.deletion.is_some() => {
                Admission::Refused("the attempt is being deleted")
            }
            (Some(_) | None, _) => Admission::Welcome(session),
        }
    }

    /// True if its agent has not joined, or has not said that the workload runs, and that is waited for.
    pub fn awaits_agent(&self) -> bool {
        let NodeStage::BootstrapRunning { session, .. } = &self.stage else { return false };
        let joined = self.agent.as_ref().is_some_and(|agent| agent.session == session.id);
        let runs = joined && session.stage == SessionStage::Converged;
        self.spec.join == JoinMode::Agent && !runs && self.deletion.is_none()
    }

    /// The session in which its workload is to join, of which no last lines are known yet, and until when it has time to.
    pub fn is_unquoted(&self) -> Option<(SessionId, Timestamp)> {
        let NodeStage::BootstrapRunning { session, .. } = &self.stage else { return None };
        let until = self.since.after(self.policy.timeouts.bootstrap);
        let asks = self.deletion.is_none() && self.said.is_none();
        asks.then_some((session.id, until))
    }
}
