//! A driver that is none, for consoles that are attached: it says what a test has it say, and falls silent.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    thread,
};

use driver::view::{RunView, WatchLine};

use crate::console_fixture::run_view;

/// Where it is called.
pub(crate) struct Far {
    pub(crate) socket: PathBuf,
}

impl Far {
    /// Says `line` to whoever watches, and nothing after that.
    pub(crate) fn says(dir: &Path, line: String) -> Self {
        let socket = dir.join("far.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let line = line.clone();
                // A console that went away ends its connection.
                thread::spawn(move || drop(answer(stream, &line)));
            }
        });
        Self { socket }
    }
}

/// The run of the screens, as the first line of a watch.
pub(crate) fn snapshot(change: impl FnOnce(&mut RunView)) -> String {
    let mut view = run_view();
    change(&mut view);
    let line = WatchLine::Snapshot { cursor: "1-1".to_owned(), view: Box::new(view) };
    serde_json::to_string(&line).unwrap()
}

fn answer(mut stream: UnixStream, line: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut head = String::new();
    while reader.read_line(&mut head)? > 2 {
        head.clear();
    }
    if !request.contains("/v1/watch") {
        return stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
    write!(stream, "{:x}\r\n{line}\n\r\n", line.len() + 1)?;
    // Until the other side goes away.
    reader.read_line(&mut head).map(drop)
}
