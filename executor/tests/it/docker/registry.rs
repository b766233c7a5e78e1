//! A registry of a test's own on the loopback address, which an engine of this machine asks without TLS.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    net::SocketAddr,
    os::unix::fs::symlink,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use ring::digest::{SHA256, digest};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

const MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
const CONFIG: &str = "application/vnd.docker.container.image.v1+json";
const LAYER: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";

/// The registry, which is open while this lives.
pub(crate) struct Registry {
    address: SocketAddr,
    shelf: Arc<Shelf>,
    _serving: JoinSet<()>,
}

/// What it holds: one image, and what that consists of.
struct Shelf {
    manifest: Vec<u8>,
    blobs: BTreeMap<String, Vec<u8>>,
    asked: AtomicUsize,
}

impl Registry {
    /// Opens it, with one image in it: a busybox that sleeps.
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shelf = Arc::new(Shelf::filled(&address.to_string()));
        let (mut serving, held) = (JoinSet::new(), Arc::clone(&shelf));
        serving.spawn(async move {
            let mut talks = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                talks.spawn(answer(stream, Arc::clone(&held)));
            }
        });
        Self { address, shelf, _serving: serving }
    }

    /// The image that it has.
    pub(crate) fn image(&self) -> String {
        format!("{}/levelhead-test/pulled:1", self.address)
    }

    /// An image that it does not have.
    pub(crate) fn missing(&self) -> String {
        format!("{}/levelhead-test/missing:1", self.address)
    }

    /// An image of which it never says whether it has it.
    pub(crate) fn slow(&self) -> String {
        format!("{}/levelhead-test/slow:1", self.address)
    }

    /// How often it was asked for its image.
    pub(crate) fn asked(&self) -> usize {
        self.shelf.asked.load(Ordering::SeqCst)
    }
}

impl Shelf {
    /// `mark` makes the image another than any before.
    fn filled(mark: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("bin")).unwrap();
        fs::copy("/bin/busybox", root.path().join("bin/busybox")).unwrap();
        symlink("busybox", root.path().join("bin/sleep")).unwrap();
        fs::write(root.path().join("mark"), mark).unwrap();
        let tar = Command::new("tar").arg("-C").arg(root.path()).args(["-c", "."]).output();
        let layer = tar.unwrap().stdout;
        let config = json!({
            "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" },
            "os": "linux",
            "config": { "Env": ["PATH=/bin"] },
            "rootfs": { "type": "layers", "diff_ids": [named(&layer)] },
        });
        let config = serde_json::to_vec(&config).unwrap();
        let part = |kind: &str, bytes: &[u8]| json!({ "mediaType": kind, "size": bytes.len(), "digest": named(bytes) });
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": part(CONFIG, &config),
            "layers": [part(LAYER, &layer)],
        });
        let manifest = serde_json::to_vec(&manifest).unwrap();
        let blobs = [config, layer].into_iter().map(|bytes| (named(&bytes), bytes)).collect();
        Self { manifest, blobs, asked: AtomicUsize::new(0) }
    }

    /// The status, kind and bytes of what stands at `path`; nothing where that is never said.
    fn at(&self, path: &str) -> Option<(u16, &str, &[u8])> {
        if path == "/v2/" {
            return Some((200, "application/json", b"{}"));
        }
        if path.starts_with("/v2/levelhead-test/slow/") {
            return None;
        }
        let blob = path.strip_prefix("/v2/levelhead-test/pulled/blobs/");
        if let Some(bytes) = blob.and_then(|digest| self.blobs.get(digest)) {
            return Some((200, "application/octet-stream", bytes));
        }
        if path.starts_with("/v2/levelhead-test/pulled/manifests/") {
            self.asked.fetch_add(1, Ordering::SeqCst);
            return Some((200, MANIFEST, &self.manifest));
        }
        let unknown = br#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}"#;
        Some((404, "application/json", unknown))
    }
}

/// The name of some content.
fn named(bytes: &[u8]) -> String {
    let mut hex = String::new();
    for byte in digest(&SHA256, bytes).as_ref() {
        write!(hex, "{byte:02x}").unwrap();
    }
    format!("sha256:{hex}")
}

/// Answers one request; an engine that tries TLS first hears at once that it is not understood.
async fn answer(mut stream: TcpStream, shelf: Arc<Shelf>) {
    let mut head: Vec<u8> = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        if head.first().is_some_and(|first| !first.is_ascii_uppercase()) {
            break;
        }
        if stream.read_buf(&mut head).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut words = head.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, kind, bytes) = match method {
        "GET" | "HEAD" => match shelf.at(path) {
            Some(found) => found,
            // Whoever asks goes away, or is asked to.
            None => return std::future::pending().await,
        },
        _ => (400, "text/plain", b"this is not understood".as_slice()),
    };
    let said = format!(
        "HTTP/1.1 {status} As it is\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Docker-Content-Digest: {}\r\nConnection: close\r\n\r\n",
        bytes.len(),
        named(bytes),
    );
    let body = if method == "HEAD" { &[] } else { bytes };
    // Whoever hung up has no use for it.
    drop(stream.write_all(&[said.as_bytes(), body].concat()).await);
}
