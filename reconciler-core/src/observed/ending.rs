//! Whether the end of a workload is news: what is being stopped ends because it is asked to.

use super::{Handle, record::NodeRecord};
use crate::id::SessionId;

impl NodeRecord {
    /// True if the end of its workload is its own: the end of one that is being stopped is the stop's business.
    pub fn ends_by_itself(&self) -> bool {
        self.deletion.is_none() && !self.is_stopping()
    }

    /// The workload that ended, where its agent says in `session` that it did; `None` if that says nothing new: the
    /// session is over, or its workload is being stopped.
    pub fn end_told_in(&self, session: SessionId) -> Option<&Handle> {
        let counts = self.stage.session() == Some(session) && self.ends_by_itself();
        self.stage.workload().filter(|_| counts)
    }
}
