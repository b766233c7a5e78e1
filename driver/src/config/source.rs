//! Reads the desired-state file from disk: a regular file, no link, of bounded size, in UTF-8, and unchanged
//! while it was read.
//!
//! What its text means is decided elsewhere in this module.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

/// Largest file that is read: thousands of groups fit; anything larger is another file by mistake.
pub const FILE_BYTES_MAX: u64 = 1 << 20;

/// A file's text, bound to its bytes by their digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where it was read from.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// The SHA-256 of its bytes, in hexadecimal.
    pub digest: String,
}

impl Source {
    /// A text that is already at hand, as if it had been read from `path`.
    pub fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { path: path.into(), digest: digest(text.as_bytes()), text }
    }
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be opened or read.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is a symbolic link.
    #[error("{path} is a symbolic link, which is not followed")]
    Link {
        /// The file.
        path: PathBuf,
    },
    /// It is a directory, pipe, socket or device.
    #[error("{path} is not a regular file")]
    NotRegular {
        /// The file.
        path: PathBuf,
    },
    /// It is too large.
    #[error("{path} is larger than {FILE_BYTES_MAX} bytes")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It is not UTF-8.
    #[error("{path}:{line}:{column}: byte {offset} is not valid UTF-8")]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Line of the first bad byte, from 1.
        line: usize,
        /// Column of the first bad byte in characters, from 1.
        column: usize,
        /// Its offset.
        offset: usize,
    },
    /// It changed or was replaced while it was read.
    #[error("{path} changed while it was read")]
    Changed {
        /// The file.
        path: PathBuf,
    },
}

impl ReadError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "`levelhead init` writes a starter file"
            }
            Self::Io { .. } => "check the path and its permissions",
            Self::Link { .. } => "name the file that it points to",
            Self::NotRegular { .. } => "name a regular file",
            Self::TooLarge { .. } => "check that this is the desired-state file",
            Self::NotUtf8 { .. } => "save the file as UTF-8",
            Self::Changed { .. } => "try again when the file is at rest",
        }
    }
}

/// What tells one state of one file from another.
#[derive(PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    fn of(meta: &std::fs::Metadata) -> Self {
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// Reads a desired-state file.
///
/// # Errors
/// Refuses links, anything but a regular file, more than [`FILE_BYTES_MAX`] bytes, text that is not UTF-8, and a
/// file that changes while it is read.
pub fn read(path: &Path) -> Result<Source, ReadError> {
    let io = |source| ReadError::Io { path: path.to_owned(), source };
    let mut file = open(path)?;
    let meta = file.metadata().map_err(io)?;
    if !meta.is_file() {
        return Err(ReadError::NotRegular { path: path.to_owned() });
    }
    let before = Identity::of(&meta);
    let mut bytes = Vec::new();
    file.by_ref().take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(ReadError::TooLarge { path: path.to_owned() });
    }
    // The open file and what now stands under its name must both still be what was opened.
    let now = Identity::of(&file.metadata().map_err(io)?);
    let named = std::fs::symlink_metadata(path).map(|meta| Identity::of(&meta));
    if now != before || named.ok().is_none_or(|named| named != before) {
        return Err(ReadError::Changed { path: path.to_owned() });
    }
    let text = String::from_utf8(bytes).map_err(|error| not_utf8(path, &error))?;
    Ok(Source::new(path, text))
}

fn open(path: &Path) -> Result<File, ReadError> {
    // Without NONBLOCK, opening a pipe that nobody writes to would wait for ever.
    let flags =
        OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::NONBLOCK;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => Ok(File::from(fd)),
        Err(rustix::io::Errno::LOOP) => Err(ReadError::Link { path: path.to_owned() }),
        Err(errno) => Err(ReadError::Io { path: path.to_owned(), source: errno.into() }),
    }
}

fn not_utf8(path: &Path, error: &std::string::FromUtf8Error) -> ReadError {
    let offset = error.utf8_error().valid_up_to();
    let good = error.as_bytes().get(..offset).unwrap_or_default();
    let good = String::from_utf8_lossy(good);
    let line_start = good.rfind('\n').map_or(0, |at| at + 1);
    ReadError::NotUtf8 {
        path: path.to_owned(),
        line: good.matches('\n').count() + 1,
        column: good.get(line_start..).unwrap_or_default().chars().count() + 1,
        offset,
    }
}

fn digest(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string cannot fail.
        let _written = write!(text, "{byte:02x}");
        text
    })
}
