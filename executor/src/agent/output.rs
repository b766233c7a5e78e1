//! The output of a workload on its way through its agent: passed on as it is, its end kept to be told.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::unix::pipe::Receiver,
};

use super::protocol::TAIL_BYTES;

/// The last bytes that were written.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    /// True if they were not told yet.
    news: bool,
}

impl Tail {
    fn push(&self, piece: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes.extend_from_slice(piece);
        let over = kept.bytes.len().saturating_sub(TAIL_BYTES);
        kept.bytes.drain(..over);
        kept.news = true;
    }

    /// All that is kept, as text.
    pub(super) fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept.bytes).into_owned()
    }

    /// The same if it is other than it was told last.
    pub(super) fn news(&self) -> Option<String> {
        let news = {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut kept.news)
        };
        news.then(|| self.text())
    }
}

/// Passes on what comes from `pipe` to `to` until its last writer is gone.
///
/// What cannot be passed on is dropped: nobody reads it, and the workload must not wait for that.
pub(super) async fn pass_on(
    pipe: OwnedFd,
    mut to: impl AsyncWrite + Unpin,
    tail: Tail,
) -> io::Result<()> {
    let mut pipe = Receiver::from_owned_fd(pipe)?;
    let mut piece = vec![0; 16 * 1_024];
    let mut is_read = true;
    loop {
        let n = pipe.read(&mut piece).await?;
        let read = piece.get(..n).unwrap_or_default();
        if read.is_empty() {
            return Ok(());
        }
        tail.push(read);
        is_read = is_read && to.write_all(read).await.is_ok() && to.flush().await.is_ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only the end is kept, and told once.
    #[test]
    fn the_end_of_an_output_is_kept() {
        let tail = Tail::default();
        assert_eq!(tail.news(), None);
        for _ in 0..3 {
            tail.push(&[b'a'; TAIL_BYTES]);
        }
        tail.push(b"end");
        let told = tail.news().unwrap();
        assert!(told.len() == TAIL_BYTES && told.ends_with("aend"));
        assert_eq!((tail.news(), tail.text()), (None, told));
    }
}
