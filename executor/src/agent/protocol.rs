//! What an agent and its driver say to each other: JSON, a line each, inside TLS.
//!
//! The agent speaks first and says who it is. Whatever is not understood ends the connection; the agent comes back.

use std::io;

use reconciler_core::{
    desired::ProbeCheck,
    effect::ExitStatus,
    id::{Fence, LogicalNodeId, SessionId, Uuid},
    observed::SessionStage,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The version of the protocol; it rises when an old side would misread a new one.
pub const VERSION: u32 = 1;
/// The name in a driver's certificate; agents pin the certificate itself, wherever they reach it.
pub const DRIVER_NAME: &str = "levelhead-driver";
/// Longest frame: the last lines of an output, and much room.
const FRAME_MAX: usize = 64 * 1_024;
/// Most bytes of output that are told at once: what free text may have, before it is cleaned.
pub const TAIL_BYTES: usize = 4 * 1_024;

/// Where the driver is reached, as `HOST:PORT`.
pub const DRIVER_VAR: &str = "LEVELHEAD_AGENT_DRIVER";
/// The driver's certificate, DER in hexadecimal digits.
pub const CERT_VAR: &str = "LEVELHEAD_AGENT_CERT";
/// The token of the attempt.
pub const TOKEN_VAR: &str = "LEVELHEAD_AGENT_TOKEN";
/// The fence under which the node was made.
pub const FENCE_VAR: &str = "LEVELHEAD_AGENT_FENCE";
/// The ports of the node as they are inside of it, as `NAME=PORT` with commas between.
pub const PORTS_VAR: &str = "LEVELHEAD_AGENT_PORTS";
/// The run.
pub const RUN_VAR: &str = "LEVELHEAD_RUN";
/// The slot.
pub const SLOT_VAR: &str = "LEVELHEAD_SLOT";
/// The attempt.
pub const ATTEMPT_VAR: &str = "LEVELHEAD_ATTEMPT";

/// Who an agent is; the first thing that it says. It holds a secret, so it is never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The version that it speaks.
    pub version: u32,
    /// Its run.
    pub run: Uuid,
    /// Its slot.
    pub slot: LogicalNodeId,
    /// Its attempt.
    pub attempt: Uuid,
    /// The token of the attempt.
    pub token: String,
    /// What only this agent knows; made anew by each.
    pub instance: String,
    /// The session that it joined before, if it did.
    pub session: Option<SessionId>,
}

/// What an agent says once it was let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FromAgent {
    /// How far it has come.
    Stage {
        /// Rises by one with each report, from 1; a report that is repeated keeps its number.
        seq: u64,
        /// How far.
        stage: SessionStage,
        /// A line to show, if there is one.
        line: Option<String>,
    },
    /// What the workload wrote last, if that is other than it was.
    Tail {
        /// Counted with the stages.
        seq: u64,
        /// The last bytes of it.
        text: String,
    },
    /// It lives.
    Beat,
    /// The workload ended; repeated until it is taken.
    Exit {
        /// Counted with the stages.
        seq: u64,
        /// How.
        status: ExitStatus,
        /// The last bytes that it wrote.
        tail: String,
    },
    /// What came of a question.
    Answer {
        /// Which question.
        id: u64,
        /// What.
        answer: Answer,
    },
}

/// What came of asking a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// It passed.
    Passed,
    /// It failed, as this says.
    Failed(String),
    /// It could not be asked, as this says.
    Unknown(String),
}

/// What a driver says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToAgent {
    /// It is let in.
    Welcome(Welcome),
    /// It is not let in.
    Refused {
        /// Why.
        why: String,
        /// True if it may be let in when it asks again.
        again: bool,
    },
    /// The driver lives.
    Beat,
    /// The end of the workload is written down: the agent may go.
    Taken,
    /// A question to the workload.
    Ask {
        /// The number that its answer carries.
        id: u64,
        /// What is asked.
        check: ProbeCheck,
        /// How long it may take, in milliseconds.
        timeout_ms: u64,
    },
}

/// What an agent is told that is let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The session of its workload.
    pub session: SessionId,
    /// The fence of the driver.
    pub fence: Fence,
    /// How far apart heartbeats are, in milliseconds, either way.
    pub heartbeat_ms: u64,
    /// Time between the polite and the forced end of the workload, in milliseconds.
    pub grace_ms: u64,
}

/// Reads frames from one side.
#[derive(Debug)]
pub struct Frames<R> {
    from: R,
    read: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    /// Reads from `from`.
    pub fn new(from: R) -> Self {
        Self { from, read: Vec::new() }
    }

    /// The next frame.
    ///
    /// # Errors
    /// Fails at the end of what is read, on a frame that is too long, and on one that is none.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn next<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let rest = self.read.split_off(end.saturating_add(1));
                let frame = std::mem::replace(&mut self.read, rest);
                return Ok(serde_json::from_slice(&frame)?);
            }
            if self.read.len() > FRAME_MAX {
                let text = format!("a frame has more than {FRAME_MAX} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            if self.from.read_buf(&mut self.read).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// Writes one frame.
///
/// # Errors
/// Fails if the other side is gone.
///
/// # Cancel safety
/// None: a frame that is written in part ends the connection.
pub async fn send<T: Serialize + Sync>(
    to: &mut (impl AsyncWrite + Unpin),
    frame: &T,
) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(frame)?;
    bytes.push(b'\n');
    to.write_all(&bytes).await?;
    to.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames come as they were sent, however they are cut on their way; what is none ends the talk.
    #[tokio::test]
    async fn frames_come_as_they_were_sent() {
        let (mut to, from) = tokio::io::duplex(7);
        let sent = [ToAgent::Beat, ToAgent::Refused { why: "no\nline".into(), again: true }];
        let told = sent.clone();
        let telling = tokio::spawn(async move {
            for frame in &told {
                send(&mut to, frame).await.unwrap();
            }
            to.write_all(b"nonsense\n").await.unwrap();
        });
        let mut frames = Frames::new(from);
        for frame in sent {
            assert_eq!(frames.next::<ToAgent>().await.unwrap(), frame);
        }
        let error = frames.next::<ToAgent>().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        telling.await.unwrap();
        assert!(frames.next::<ToAgent>().await.is_err(), "the other side is gone");
    }

    /// S32: nobody makes the other side keep more than a frame.
    #[tokio::test]
    async fn a_frame_without_end_is_refused() {
        let (mut to, from) = tokio::io::duplex(1_024);
        let telling =
            tokio::spawn(async move { while to.write_all(&[b' '; 512]).await.is_ok() {} });
        let error = Frames::new(from).next::<ToAgent>().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        telling.await.unwrap();
    }
}
