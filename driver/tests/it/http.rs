//! The plainest HTTP client: bytes out, bytes in, and nothing of the driver's own client.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    os::unix::net::UnixStream,
    path::Path,
};

use serde_json::Value;

use crate::world::BOUND;

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The body as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Connects.
pub(crate) fn connect(socket: &Path) -> UnixStream {
    let stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    stream
}

/// Sends bytes, and reads what comes back until the driver closes.
pub(crate) fn exchange(socket: &Path, bytes: &[u8]) -> String {
    let mut stream = connect(socket);
    // A driver that has refused already may have closed.
    drop(stream.write_all(bytes));
    let mut answer = Vec::new();
    // A driver that has had enough breaks the connection off; what it said before counts.
    drop(stream.read_to_end(&mut answer));
    String::from_utf8_lossy(&answer).into_owned()
}

fn call(socket: &Path, bytes: &str) -> Answer {
    let text = exchange(socket, bytes.as_bytes());
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

/// `GET path`.
pub(crate) fn get(socket: &Path, path: &str) -> Answer {
    call(socket, &format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"))
}

/// `POST path` with a body.
pub(crate) fn post(socket: &Path, path: &str, body: &str) -> Answer {
    call(
        socket,
        &format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
             connection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ),
    )
}

/// The lines of a streamed answer as they come.
pub(crate) struct Lines(BufReader<UnixStream>);

impl Lines {
    /// Begins `GET path`, which must be answered.
    #[track_caller]
    pub(crate) fn get(socket: &Path, path: &str) -> Self {
        let mut stream = connect(socket);
        stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{line}");
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).unwrap();
        }
        Self(reader)
    }

    /// The next line, if the answer goes on. A chunk holds whole lines.
    pub(crate) fn next(&mut self) -> Option<Value> {
        let mut size = String::new();
        self.0.read_line(&mut size).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        if size == 0 {
            return None;
        }
        let mut chunk = vec![0; size + 2];
        self.0.read_exact(&mut chunk).unwrap();
        Some(serde_json::from_slice(&chunk).unwrap())
    }
}
