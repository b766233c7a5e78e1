//! Who lives in which session, read once for all who ask at the same time.
//!
//! When a fleet is stopped, each node wants to know whether its session is empty. One look at the table of processes
//! costs the number of processes of the machine, so a look per node would cost the square of the fleet; here a look
//! serves everybody who asked before it began.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Instant,
};

use rustix::process::Pid;

use super::{
    identity::{processes, stat},
    lock::locked,
    problem::Problem,
};

/// The live processes of each session at one moment.
#[derive(Debug)]
pub(super) struct Sessions {
    begun: Instant,
    members: BTreeMap<i32, Vec<Pid>>,
}

/// The last look at the table of processes.
#[derive(Debug, Default)]
pub(super) struct Census(Mutex<Option<Arc<Sessions>>>);

impl Census {
    /// The sessions as they were at `moment` or later.
    pub(super) fn since(&self, moment: Instant) -> Result<Arc<Sessions>, Problem> {
        let mut last = locked(&self.0);
        // Whoever waited for the lock while another one looked may use that look, if it began late enough.
        if let Some(known) = last.as_ref().filter(|known| known.begun >= moment) {
            return Ok(Arc::clone(known));
        }
        let taken = Arc::new(Sessions::read()?);
        *last = Some(Arc::clone(&taken));
        Ok(taken)
    }
}

impl Sessions {
    fn read() -> Result<Self, Problem> {
        let begun = Instant::now();
        let mut members: BTreeMap<i32, Vec<Pid>> = BTreeMap::new();
        for pid in processes()? {
            let pid = pid?;
            if let Some(stat) = stat(pid)?.filter(|stat| !stat.dead) {
                members.entry(stat.session).or_default().push(pid);
            }
        }
        Ok(Self { begun, members })
    }

    /// The live processes of a session.
    pub(super) fn members(&self, session: i32) -> &[Pid] {
        self.members.get(&session).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_serves_who_asked_before_it_began_and_nobody_later() {
        let census = Census::default();
        let early = Instant::now();
        let first = census.since(early).unwrap();
        assert!(Arc::ptr_eq(&first, &census.since(early).unwrap()));
        let later = Instant::now();
        assert!(!Arc::ptr_eq(&first, &census.since(later).unwrap()));
    }

    #[test]
    fn we_are_found_in_our_own_session() {
        let me = rustix::process::getpid();
        let session = stat(me).unwrap().unwrap().session;
        let now = Census::default().since(Instant::now()).unwrap();
        assert!(now.members(session).contains(&me));
    }
}
