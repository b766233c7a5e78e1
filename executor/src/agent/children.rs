//! The children of an agent: what it starts and, as the first process of a container or for what its workload leaves
//! behind, whatever else ends below it.

use std::{
    collections::BTreeMap,
    io,
    process::{Child, Command},
};

use reconciler_core::effect::ExitStatus;
use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, wait},
};
use tokio::sync::oneshot;

/// What was started, and is waited for.
#[derive(Debug, Default)]
pub(super) struct Children {
    waiting: BTreeMap<i32, oneshot::Sender<ExitStatus>>,
}

/// One that was started. It leads a process group of its own.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) group: Group,
    pub(super) end: oneshot::Receiver<ExitStatus>,
}

/// A process group that was started here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group(Pid);

impl Children {
    /// Starts `command`. Nothing may be reaped until this returns, which holds on one thread.
    pub(super) fn start(&mut self, command: &mut Command) -> io::Result<Started> {
        use std::os::unix::process::CommandExt as _;
        let child = command.process_group(0).spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("the system gave no process id"))?;
        let (sender, end) = oneshot::channel();
        self.waiting.insert(pid.as_raw_nonzero().get(), sender);
        Ok(Started { child, group: Group(pid), end })
    }

    /// Lets go whatever ended, and says how to whoever waits for it.
    pub(super) fn reap(&mut self) {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    if let Some(waits) = self.waiting.remove(&pid.as_raw_nonzero().get()) {
                        // Whoever does not wait any more needs no answer.
                        drop(waits.send(status_of(status)));
                    }
                }
                Err(Errno::INTR) => {}
                Ok(None) | Err(_) => return,
            }
        }
    }
}

impl Group {
    /// Sends `signal` to all of it; one that is gone needs none.
    pub(super) fn signal(self, signal: Signal) {
        match kill_process_group(self.0, signal) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => tracing::warn!(%error, "cannot signal the workload"),
        }
    }
}

fn status_of(status: WaitStatus) -> ExitStatus {
    let code = status.exit_status().map(ExitStatus::Code);
    code.or_else(|| status.terminating_signal().map(ExitStatus::Signal))
        .unwrap_or(ExitStatus::Unknown)
}
