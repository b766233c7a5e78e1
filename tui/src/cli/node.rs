//! `levelhead node`: a tiny HTTP server as a workload, so that the examples need nothing installed.

use std::{
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    time::Duration,
};

use super::{
    exit::{Exit, Failure, Outcome},
    out,
};

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Serves until it is killed.
pub(crate) fn run(port: u16) -> Outcome {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
        Failure::new(Exit::Unavailable, format!("cannot listen on 127.0.0.1:{port}: {error}"))
    })?;
    let name = std::env::var("LEVELHEAD_SLOT").unwrap_or_else(|_unset| "node".to_owned());
    out::line(format!("{name} listens on 127.0.0.1:{port}"));
    for stream in listener.incoming() {
        // A client that breaks off is no reason to stop.
        if let Err(error) = stream.and_then(|stream| answer(stream, &name)) {
            out::note(format!("a request broke off: {error}"));
        }
    }
    Ok(Exit::Done)
}

fn answer(mut stream: TcpStream, name: &str) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut head = [0; 1_024];
    let read = stream.read(&mut head)?;
    let get = head.get(..read).is_some_and(|head| head.starts_with(b"GET "));
    let (status, body) = if get {
        ("200 OK", format!("{name}\n"))
    } else {
        ("405 Method Not Allowed", String::new())
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}
