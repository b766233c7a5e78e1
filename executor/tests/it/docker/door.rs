//! A door before the engine of this machine: all pass, and what is asked is noted with the status of its answer.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
    task::JoinSet,
};

const SOCKET: &str = "/var/run/docker.sock";

/// The door, which is open while this lives.
pub(crate) struct Door {
    dir: TempDir,
    log: Arc<Log>,
    _passing: JoinSet<()>,
}

/// What was asked, each with the status of its answer once there is one.
#[derive(Default)]
struct Log(Mutex<Vec<(String, Option<u16>)>>);

impl Door {
    /// Opens it; nothing, with its reason, where no engine is behind it.
    pub(crate) fn open(test: &str) -> Option<Self> {
        if !Path::new(SOCKET).exists() {
            eprintln!("skipped: {test}, there is no {SOCKET}");
            return None;
        }
        let dir = TempDir::new().unwrap();
        let listener = UnixListener::bind(dir.path().join("door")).unwrap();
        let (mut passing, log) = (JoinSet::new(), Arc::new(Log::default()));
        let noted = Arc::clone(&log);
        passing.spawn(async move {
            let mut all = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                all.spawn(pass(stream, Arc::clone(&noted)));
            }
        });
        Some(Self { dir, log, _passing: passing })
    }

    /// The option of a provider that comes through it.
    pub(crate) fn host(&self) -> (&'static str, Value) {
        let path: PathBuf = self.dir.path().join("door");
        ("host", json!(format!("unix://{}", path.display())))
    }

    /// What was asked so far, such as `POST /containers/ID/stop 204`, of paths that begin with `below`.
    pub(crate) fn asked(&self, below: &str) -> Vec<String> {
        let log = self.log.0.lock().unwrap();
        let told = log.iter().map(|(what, status)| {
            format!("{what} {}", status.map_or_else(|| "-".to_owned(), |status| status.to_string()))
        });
        told.filter(|line| line.split(' ').nth(1).is_some_and(|path| path.starts_with(below)))
            .collect()
    }

    /// Forgets what was asked before.
    pub(crate) fn forget(&self) {
        self.log.0.lock().unwrap().clear();
    }
}

impl Log {
    /// Notes a request if `bytes` begin one.
    fn ask(&self, bytes: &[u8]) -> Option<usize> {
        let text = String::from_utf8_lossy(bytes);
        let mut words = text.split(' ');
        let (method, path) = (words.next()?, words.next()?);
        if !["GET", "POST", "DELETE"].contains(&method) {
            return None;
        }
        let path = path.split('?').next()?.trim_start_matches("/v1.41");
        let is_id = |part: &str| part.len() == 64 && part.bytes().all(|b| b.is_ascii_hexdigit());
        let parts = path.split('/').map(|part| if is_id(part) { "ID" } else { part });
        let what = format!("{method} {}", parts.collect::<Vec<_>>().join("/"));
        let mut log = self.0.lock().unwrap();
        log.push((what, None));
        Some(log.len() - 1)
    }

    /// Notes the status of the answer to the request with the number `nth`.
    fn answer(&self, nth: usize, bytes: &[u8]) {
        let status = bytes.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3));
        let status = status.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        if let Some((_, noted)) = self.0.lock().unwrap().get_mut(nth) {
            *noted = noted.or(status);
        }
    }
}

/// Passes one connection on, which asks one thing at a time.
async fn pass(client: UnixStream, log: Arc<Log>) {
    let Ok(engine) = UnixStream::connect(SOCKET).await else { return };
    let ((mut from, mut back), (mut answers, mut to)) = (client.into_split(), engine.into_split());
    let last = Mutex::new(None);
    let ask = copy(&mut from, &mut to, |bytes| {
        if let Some(nth) = log.ask(bytes) {
            *last.lock().unwrap() = Some(nth);
        }
    });
    let answer = copy(&mut answers, &mut back, |bytes| {
        if let Some(nth) = *last.lock().unwrap() {
            log.answer(nth, bytes);
        }
    });
    // Whoever hangs up ends both ways.
    tokio::select! {
        () = ask => {}
        () = answer => {}
    }
}

async fn copy(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    mut seen: impl FnMut(&[u8]),
) {
    let mut bytes = vec![0; 64 * 1_024];
    while let Ok(n @ 1..) = from.read(&mut bytes).await {
        seen(&bytes[..n]);
        if to.write_all(&bytes[..n]).await.is_err() {
            return;
        }
    }
}
