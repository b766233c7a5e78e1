//! A socket behind which a made-up fleet moves: the two calls that an attached console needs, and nothing else.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use driver::view::{Difference, RunView, WatchLine, diff};

use crate::fleet::moved;

/// Time between two passes.
const PASS: Duration = Duration::from_millis(100);

/// A fleet that is served.
pub(crate) struct Served {
    /// Where.
    pub(crate) socket: PathBuf,
    every: Arc<AtomicUsize>,
}

impl Served {
    /// Serves `view`; it stands still at first.
    pub(crate) fn begin(dir: &Path, view: RunView) -> io::Result<Self> {
        let socket = dir.join("control.sock");
        let listener = UnixListener::bind(&socket)?;
        let every = Arc::new(AtomicUsize::new(0));
        let moving = Arc::clone(&every);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (view, moving) = (view.clone(), Arc::clone(&moving));
                // A console that went away ends its connection.
                thread::spawn(move || drop(answer(stream, view, &moving)));
            }
        });
        Ok(Self { socket, every })
    }

    /// From now on each pass moves every `every`th node; zero stops the passes.
    pub(crate) fn moves(&self, every: usize) {
        self.every.store(every, Ordering::Relaxed);
    }
}

fn answer(mut stream: UnixStream, view: RunView, every: &AtomicUsize) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    if !request.contains("/v1/watch") {
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
        return stream.write_all(head.as_bytes());
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
    let cursor = || "1-1".to_owned();
    send(&mut stream, &WatchLine::Snapshot { cursor: cursor(), view: Box::new(view.clone()) })?;
    let mut view = view;
    let mut still = 0_u32;
    for n in 0.. {
        thread::sleep(PASS);
        let step = every.load(Ordering::Relaxed);
        if step == 0 {
            still += 1;
            if still.is_multiple_of(50) {
                send(&mut stream, &WatchLine::Alive { at: view.at })?;
            }
            continue;
        }
        let next = moved(&view, n, step);
        if let Difference::Changed(delta) = diff(view, &next) {
            send(&mut stream, &WatchLine::Delta { cursor: cursor(), delta })?;
        }
        view = next;
    }
    Ok(())
}

fn send(stream: &mut UnixStream, line: &WatchLine) -> io::Result<()> {
    let mut text = serde_json::to_vec(line).map_err(io::Error::other)?;
    text.push(b'\n');
    write!(stream, "{:x}\r\n", text.len())?;
    stream.write_all(&text)?;
    stream.write_all(b"\r\n")
}
