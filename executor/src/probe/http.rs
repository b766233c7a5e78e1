//! A request to a port: it passes with a status from 200 to 299.
//!
//! Only the head of the answer is read. Another place on the same port is followed a few times; one elsewhere is not
//! asked, since it is not the node.

use std::io::{Error, ErrorKind, Result};

use reconciler_core::observed::ProbeAnswer;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::place::{Place, failed, told};

/// Other places that are followed at most.
const REDIRECTS_MAX: usize = 3;
/// Longest head of an answer that is read.
const HEAD_MAX: usize = 16 * 1024;

/// The head of an answer, as far as it matters.
struct Head {
    status: u16,
    location: Option<String>,
}

/// Asks for `path`.
///
/// # Cancel safety
/// Dropped, it closes what it opened.
pub(super) async fn ask(place: &Place<'_>, path: &str) -> ProbeAnswer {
    let mut path = path.to_owned();
    for _ in 0..=REDIRECTS_MAX {
        let head = match head(place, &path).await {
            Ok(head) => head,
            Err(error) => return told(&format!("GET http://{place}{path}"), &error),
        };
        match (head.status, head.location) {
            (200..=299, _) => return ProbeAnswer::Passed,
            (301 | 302 | 303 | 307 | 308, Some(to)) => match same_place(place, &to) {
                Some(next) => path = next,
                None => return failed(&format!("GET http://{place}{path}: sends elsewhere")),
            },
            (status, _) => return failed(&format!("GET http://{place}{path}: status {status}")),
        }
    }
    failed(&format!("GET http://{place}{path}: sends on more than {REDIRECTS_MAX} times"))
}

/// The path of a location on the same port; nothing if it is elsewhere.
fn same_place(place: &Place<'_>, location: &str) -> Option<String> {
    let own = format!("http://{place}");
    let path = location.strip_prefix(&own).unwrap_or(location);
    let plain = path.starts_with('/') && !path.starts_with("//");
    (plain && !path.contains(|c: char| c.is_control() || c == ' ')).then(|| path.to_owned())
}

async fn head(place: &Place<'_>, path: &str) -> Result<Head> {
    let mut stream = TcpStream::connect((place.host, place.port)).await?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {place}\r\nUser-Agent: levelhead-probe\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut read = Vec::new();
    let mut piece = [0; 1_024];
    let end = loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        let most = HEAD_MAX.saturating_sub(read.len()).min(piece.len());
        let n = stream.read(piece.get_mut(..most).unwrap_or_default()).await?;
        if n == 0 {
            let why = if most == 0 {
                "the head of the answer has no end"
            } else {
                "the answer breaks off"
            };
            return Err(Error::new(ErrorKind::InvalidData, why));
        }
        read.extend_from_slice(piece.get(..n).unwrap_or_default());
    };
    parsed(read.get(..end).unwrap_or_default())
        .ok_or_else(|| Error::new(ErrorKind::InvalidData, "the answer is no HTTP"))
}

fn parsed(head: &[u8]) -> Option<Head> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split("\r\n");
    let mut first = lines.next()?.split(' ');
    first.next().filter(|version| version.starts_with("HTTP/1."))?;
    let status = first.next().filter(|status| status.len() == 3)?.parse().ok()?;
    let location = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
    });
    Some(Head { status, location })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place elsewhere is not asked: it is not the node.
    #[test]
    fn only_the_same_port_is_followed() {
        let place = Place { host: "127.0.0.1", port: 80 };
        let to = |location: &str| same_place(&place, location);
        assert_eq!(to("/ready").as_deref(), Some("/ready"));
        assert_eq!(to("http://127.0.0.1:80/ready").as_deref(), Some("/ready"));
        for elsewhere in [
            "http://127.0.0.1:81/x",
            "https://127.0.0.1:80/x",
            "//other/x",
            "x",
            "/a b",
            "http://127.0.0.1:80",
        ] {
            assert_eq!(to(elsewhere), None, "{elsewhere}");
        }
    }

    #[test]
    fn a_head_is_read_strictly() {
        let status = |text: &str| parsed(text.as_bytes()).map(|head| (head.status, head.location));
        assert_eq!(status("HTTP/1.1 204 No Content"), Some((204, None)));
        let moved = status("HTTP/1.0 302 Found\r\nX: y\r\nLOCATION:  /x ");
        assert_eq!(moved, Some((302, Some("/x".to_owned()))));
        for bad in ["", "SSH-2.0-x", "HTTP/2 200", "HTTP/1.1 20 OK", "HTTP/1.1 abc", "HTTP/1.1"] {
            assert_eq!(status(bad), None, "{bad}");
        }
    }
}
