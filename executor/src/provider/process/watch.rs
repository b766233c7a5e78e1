//! Notices the end of a workload at once, also of one that an earlier driver started.
//!
//! The kernel makes a pidfd readable when its process ends. It refers to one process for ever, so a process that
//! gets the same id later is never mistaken for it.

use std::{
    future::Future,
    os::fd::OwnedFd,
    sync::Arc,
    time::{Duration, Instant},
};

use reconciler_core::{
    effect::ExitStatus,
    id::Uuid,
    observed::{Handle, LeaseFacts},
};

use tokio::sync::oneshot;

use super::{
    ending::{Ending, conclude, wait},
    files::Process,
    ground::Ground,
    identity::{Standing, standing},
    logs::tail,
    spawn::watchable,
};
use crate::seam::Exit;

/// How long one wait on a thread lasts, where the reactor takes no more descriptors.
const SLICE: Duration = Duration::from_hours(1);

/// Waits for the end of `workload`; `None` if it cannot be watched, so that only looks tell.
pub(super) fn watch(
    ground: &Arc<Ground>,
    lease: &LeaseFacts,
    workload: &Handle,
) -> Option<impl Future<Output = Exit> + Send + 'static> {
    let process = Process::from_handle(workload)?;
    let attempt: Uuid = lease.handle.get("attempt")?.parse().ok()?;
    let dir = ground.leased(lease.id.as_str())?;
    let (fd, runs) = match standing(&process, attempt) {
        Ok(Standing::Running(fd)) => {
            let fd = Arc::new(fd);
            ground.note_watched(attempt, &process, &fd);
            (Some(fd), true)
        }
        Ok(Standing::Zombie(fd)) => (Some(Arc::new(fd)), false),
        Ok(Standing::Gone) => (None, false),
        Err(problem) => {
            tracing::warn!(problem = %problem.told(), lease = %lease.id, "cannot watch a node");
            return None;
        }
    };
    let (lane, errands) = (ground.lane(attempt), ground.errands.clone());
    let secrets = ground.place.secrets.clone();
    Some(async move {
        let fd = match fd {
            Some(fd) if runs => until_end(fd).await,
            other => other,
        };
        let (sender, answer) = oneshot::channel();
        errands.run(move || {
            let ending = Ending::of(&dir, &process, fd.as_deref());
            // Told before it is kept: the next step need not wait for the disk. Whoever is gone needs no answer.
            let (status, tail) = (ending.status.clone(), tail(&dir, &secrets));
            drop(sender.send(Exit { status, tail }));
            if let Some(_busy) = lane.try_enter() {
                return ending.keep(&dir, &process);
            }
            // An effect of this attempt may take long; other errands do not wait for it.
            drop(tokio::task::spawn_blocking(move || {
                let _busy = lane.enter();
                conclude(&dir, &process, fd.as_deref());
            }));
        });
        answer.await.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot tell how a node ended");
            Exit { status: ExitStatus::Unknown, tail: "".into() }
        })
    })
}

/// Waits for the end; gives the descriptor back for the status.
async fn until_end(fd: Arc<OwnedFd>) -> Option<Arc<OwnedFd>> {
    let watched = match watchable(fd) {
        Ok(watched) => watched,
        Err(fd) => return on_a_thread(fd).await,
    };
    let ended = watched.readable().await.map(drop);
    let fd = watched.into_inner();
    match ended {
        Ok(()) => Some(fd),
        Err(_) => on_a_thread(fd).await,
    }
}

/// The slow way: costs a thread, and so is used only where the reactor refused.
async fn on_a_thread(fd: Arc<OwnedFd>) -> Option<Arc<OwnedFd>> {
    let waiting = tokio::task::spawn_blocking(move || {
        while !matches!(wait(&fd, Instant::now() + SLICE), Ok(true) | Err(_)) {}
        fd
    });
    waiting.await.ok()
}
