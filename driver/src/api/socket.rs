//! The socket's file: made for its owner alone, and reached through a short path where its own is too long.

use std::{
    fs, io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::PermissionsExt as _,
    },
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags};
use tokio::net::{UnixListener, UnixStream};

/// Longest path that the kernel takes for a Unix socket, less the closing zero.
const PATH_LEN_MAX: usize = 107;

/// A path by which a socket can be bound or reached; holds its directory open while it is used.
struct Reach {
    path: PathBuf,
    _dir: Option<OwnedFd>,
}

fn reach(path: &Path) -> io::Result<Reach> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the socket has no directory"));
    };
    if path.as_os_str().len() <= PATH_LEN_MAX {
        return Ok(Reach { path: path.to_owned(), _dir: None });
    }
    let dir = rustix::fs::open(dir, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd())).join(name);
    Ok(Reach { path: short, _dir: Some(dir) })
}

/// Binds the socket in place of one that a dead driver left. The caller holds the run's lock.
pub(super) fn listen(path: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let reach = reach(path)?;
    // Its directory is closed to others (0700), so the moment before the mode is set is no gap.
    let listener = UnixListener::bind(&reach.path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Connects to a driver's socket.
pub(super) async fn connect(path: &Path) -> io::Result<UnixStream> {
    let reach = reach(path)?;
    UnixStream::connect(&reach.path).await
}
