//! Notices that a file may have changed: through the kernel's notices about its directory, without polling.

use std::{ffi::OsStr, io, os::unix::ffi::OsStrExt as _, path::Path, time::Duration};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::net::unix::pipe;

/// Notices of other files in the directory may come thick: they are taken together, this long after the last.
const PAUSE: Duration = Duration::from_millis(20);
/// Bytes of a notice before its name: watch, mask, cookie and the length of the name, four bytes each.
const HEADER: usize = 16;

/// Calls `changed` whenever `path` was written, replaced or removed, until `changed` says that nobody listens.
///
/// # Errors
/// Fails if the kernel gives no notices about the directory; the file is then read at the start alone.
pub(crate) async fn watch_file(path: &Path, changed: impl Fn() -> bool) -> io::Result<()> {
    let name = path.file_name().unwrap_or(OsStr::new(""));
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        Some(_) | None => Path::new("."),
    };
    let notices = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let comes = WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::CREATE;
    let flags = comes | WatchFlags::DELETE | WatchFlags::MOVED_FROM;
    inotify::add_watch(&notices, dir, flags)?;
    // Read like a pipe: of an inotify descriptor whole notices come out, and nothing is ever written.
    let notices = pipe::Receiver::from_owned_fd_unchecked(notices)?;
    let mut buffer = [0; 4_096];
    loop {
        notices.readable().await?;
        let read = match notices.try_read(&mut buffer) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        };
        let seen = buffer.get(..read).unwrap_or_default();
        if names(seen).any(|file| file == name.as_bytes()) && !changed() {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The file names in a run of notices.
fn names(mut notices: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = notices.get(12..HEADER)?.try_into().ok()?;
        let length = usize::try_from(u32::from_ne_bytes(length)).ok()?;
        let padded = notices.get(HEADER..HEADER.checked_add(length)?)?;
        notices = notices.get(HEADER.checked_add(length)?..)?;
        padded.split(|byte| *byte == 0).next()
    })
}
