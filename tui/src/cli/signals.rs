//! Requests to stop: an interrupt from the terminal, or a termination.

use driver::StopReason;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::exit::{Exit, Failure};

/// Listens for requests to stop.
pub(crate) struct Stops {
    interrupt: Signal,
    terminate: Signal,
}

impl Stops {
    /// Begins to listen; from now on neither signal ends the process by itself.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| Failure::internal("cannot listen for signals", &error))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Waits for a request.
    ///
    /// # Cancel safety
    /// A request that comes while nobody waits is kept for the next call.
    pub(crate) async fn requested(&mut self) -> StopReason {
        tokio::select! {
            _ = self.interrupt.recv() => StopReason::Interrupted,
            _ = self.terminate.recv() => StopReason::Terminated,
        }
    }
}

/// The exit code of a verb that was told to stop.
pub(crate) const fn exit_of(reason: StopReason) -> Exit {
    match reason {
        StopReason::Interrupted => Exit::Interrupted,
        StopReason::Terminated => Exit::Terminated,
        StopReason::Done => Exit::Done,
    }
}
