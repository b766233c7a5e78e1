//! Folding what is heard of agents: who joined is kept, and who is lost is noted and nothing else. What is written by one
//! that does not join is kept for the case that it never does.

use alloc::boxed::Box;

use super::{NoteKind, Verdict, folding::Folding};
use crate::{
    id::SessionId,
    observed::{AgentFacts, AgentNews, NodeStage},
    redact::Redacted,
};

/// Folds news of the agent of `session`.
pub(super) fn heard(f: &mut Folding<'_>, session: SessionId, news: AgentNews) -> Verdict {
    if f.record.stage.session() != Some(session) {
        return Verdict::Stale;
    }
    let now = f.now;
    let known = f.record.agent.as_deref_mut().filter(|agent| agent.session == session);
    let told = match (known, news) {
        (Some(agent), AgentNews::Joined(seal)) if agent.seal != seal => return Verdict::Illegal,
        (Some(agent), AgentNews::Joined(_) | AgentNews::Back) => {
            agent.lost_since.take().map(|_lost| AgentNews::Back)
        }
        (Some(agent), AgentNews::Lost) => {
            let news = agent.lost_since.is_none();
            agent.lost_since.get_or_insert(now);
            news.then_some(AgentNews::Lost)
        }
        (None, AgentNews::Joined(seal)) => {
            f.record.agent = Some(Box::new(AgentFacts { session, seal, lost_since: None }));
            Some(news)
        }
        (None, AgentNews::Lost | AgentNews::Back) => return Verdict::Stale,
    };
    let Some(told) = told else { return Verdict::Unchanged };
    f.tell(NoteKind::Agent(told));
    Verdict::Applied
}

/// Keeps what was written last in a session in which nobody joined yet: the failure that may follow quotes it.
pub(super) fn said(f: &mut Folding<'_>, session: SessionId, tail: Redacted) -> Verdict {
    let NodeStage::BootstrapRunning { session: known, .. } = &f.record.stage else {
        return Verdict::Unchanged;
    };
    if known.id != session {
        return Verdict::Stale;
    }
    if f.record.said.as_deref() == Some(&tail) {
        return Verdict::Unchanged;
    }
    f.record.said = Some(Box::new(tail));
    Verdict::Applied
}
