//! The last lines of what ran in a container, as they may be kept and shown.

use std::time::{Duration, Instant};

use bollard::query_parameters::LogsOptions;
use futures_util::StreamExt as _;
use reconciler_core::redact::Redacted;

use super::ground::Ground;
use crate::provider::last_lines::{TAIL_LINES, clean};

/// How much of the end of an output is read.
const TAIL_READ: usize = 64 * 1024;
/// How much is held at once of lines without end.
const READ_MAX: usize = 1024 * 1024;
/// How long that may take: the end of a workload is not to wait for its last words.
const TAIL_TIME: Duration = Duration::from_secs(5);

/// The last lines of a container; nothing where they cannot be had.
pub(super) async fn tail(ground: &Ground, id: &str) -> Redacted {
    let options = LogsOptions {
        stdout: true,
        stderr: true,
        tail: (TAIL_LINES * 2).to_string(),
        ..LogsOptions::default()
    };
    let name = id.to_owned();
    let read = |client: bollard::Docker| async move {
        let (mut bytes, mut torn) = (Vec::new(), false);
        let mut pieces = std::pin::pin!(client.logs(&name, Some(options)));
        while let Some(piece) = pieces.next().await {
            bytes.extend_from_slice(&piece?.into_bytes());
            if bytes.len() > READ_MAX {
                let surplus = bytes.len() - TAIL_READ;
                bytes.drain(..surplus);
                torn = true;
            }
        }
        Ok((bytes, torn))
    };
    match ground.engine.ask(Instant::now() + TAIL_TIME, read).await {
        Ok((bytes, torn)) => {
            let text = ground.place.secrets.cleaned(&String::from_utf8_lossy(&bytes));
            let mut cut = text.len().saturating_sub(TAIL_READ);
            while !text.is_char_boundary(cut) {
                cut += 1;
            }
            clean(text.get(cut..).unwrap_or_default(), !torn && cut == 0)
        }
        Err(error) => {
            tracing::debug!(%error, container = id, "cannot read the last lines of a container");
            Redacted::default()
        }
    }
}
