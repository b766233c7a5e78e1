//! Reading from and writing to a child's pipes without ever waiting for what outlives the child.
//!
//! A workload that the program starts may inherit its output and hold it open for days. What the program itself
//! wrote is in the pipe when it exits, so soon after its exit the reading ends.

use std::{
    future::{Future, poll_fn},
    io,
    pin::pin,
    task::Poll,
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::watch,
};

/// How long after the program's exit its output is still read.
const LINGER: Duration = Duration::from_millis(200);

/// Why reading stopped early.
#[derive(Debug)]
pub(super) enum PipeError {
    /// There is more than an answer may have.
    Oversized,
    /// The pipe broke.
    Io(io::Error),
}

/// Reads up to `most` bytes into `into`, until the end or until the program left.
pub(super) async fn read_answer(
    mut from: impl AsyncRead + Unpin,
    into: &mut Vec<u8>,
    most: usize,
    left: watch::Receiver<bool>,
) -> Result<(), PipeError> {
    let reading = async {
        loop {
            if from.read_buf(into).await.map_err(PipeError::Io)? == 0 {
                return Ok(());
            }
            if into.len() > most {
                return Err(PipeError::Oversized);
            }
        }
    };
    unless_left(reading, left).await.unwrap_or(Ok(()))
}

/// Reads all that comes and keeps the last `most` bytes of it; that a pipe broke only shortens a message.
pub(super) async fn read_errors(
    mut from: impl AsyncRead + Unpin,
    into: &mut Vec<u8>,
    most: usize,
    left: watch::Receiver<bool>,
) {
    let reading = async {
        while let Ok(1..) = from.read_buf(into).await {
            if let Some(surplus) = into.len().checked_sub(most) {
                into.drain(..surplus);
            }
        }
    };
    unless_left(reading, left).await;
}

/// Writes `bytes` and closes the pipe; a program need not read them.
pub(super) async fn feed(
    mut to: impl AsyncWrite + Unpin,
    bytes: &[u8],
    left: watch::Receiver<bool>,
) {
    let writing = async {
        if let Err(error) = to.write_all(bytes).await {
            tracing::debug!(%error, "the program did not read its whole request");
        }
    };
    unless_left(writing, left).await;
}

/// The outcome of `work`, or `None` if the program left first.
async fn unless_left<T>(
    work: impl Future<Output = T>,
    mut left: watch::Receiver<bool>,
) -> Option<T> {
    let mut work = pin!(work);
    let mut gone = pin!(async move {
        // A closed channel means that nobody waits for the program any more; that is as good as its exit.
        let _closed = left.wait_for(|left| *left).await.is_err();
        tokio::time::sleep(LINGER).await;
    });
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => gone.as_mut().poll(cx).map(|()| None),
    })
    .await
}
