//! A driver for the length of one verb: the one that runs, or one of our own.

use std::time::Duration;

use driver::{
    Begin, DriveError, Ended, Handle, Link, StopReason, api::CallError, view::RefusalKind,
};
use tokio::task::{JoinError, JoinHandle};

use super::{
    context::Context,
    exit::{Exit, Failure},
};

/// How many drivers are asked one after the other for the same, where each ends before it answers.
pub(crate) const DRIVERS_TRIED: usize = 5;

/// True if a call brought no answer because the driver has ended, or does so.
pub(crate) fn is_gone(error: &CallError) -> bool {
    match error {
        CallError::Broken(_) | CallError::Socket { .. } => true,
        CallError::Refused(refusal) => refusal.kind == RefusalKind::Unavailable,
        CallError::Answer(_) | CallError::Call(_) => false,
    }
}

/// A way to a driver, and the driver itself if it is ours.
pub(crate) struct Session {
    pub(crate) link: Link,
    pub(crate) own: OwnDriver,
}

/// The driver of this process, if there is one.
pub(crate) struct OwnDriver(Option<Running>);

struct Running {
    handle: Handle,
    task: JoinHandle<Result<Ended, DriveError>>,
}

impl Session {
    /// Uses the driver that runs; starts one of our own where none does.
    pub(crate) async fn open(
        context: &Context,
        begin: Begin,
        pace: Duration,
    ) -> Result<Self, Failure> {
        if let Some(link) = context.attached().await? {
            return Ok(Self { link, own: OwnDriver(None) });
        }
        let driver = context.take(begin, pace)?;
        let handle = driver.handle();
        let task = tokio::spawn(driver.run());
        let link = Link::Embedded(handle.clone());
        Ok(Self { link, own: OwnDriver(Some(Running { handle, task })) })
    }

    /// True if the driver ends with this verb.
    pub(crate) const fn is_own(&self) -> bool {
        self.own.0.is_some()
    }

    /// Stops our own driver at a safe point; another one goes on.
    pub(crate) async fn close(self, reason: StopReason) -> Result<Option<Ended>, Failure> {
        let Some(own) = self.own.0 else { return Ok(None) };
        own.handle.stop(reason);
        let ended = own.task.await.map_err(|error| broke_off(&error))?;
        Ok(Some(ended?))
    }
}

impl OwnDriver {
    /// Waits until our own driver ends although nobody told it to; for ever if there is none.
    pub(crate) async fn failed(&mut self) -> Failure {
        let Some(own) = &mut self.0 else { return std::future::pending().await };
        let ended = (&mut own.task).await;
        self.0 = None;
        match ended {
            Ok(Err(error)) => error.into(),
            Ok(Ok(_)) => Failure::new(Exit::Unavailable, "the driver has stopped"),
            Err(error) => broke_off(&error),
        }
    }
}

fn broke_off(error: &JoinError) -> Failure {
    Failure::new(Exit::Internal, format!("the driver broke off: {error}"))
}
