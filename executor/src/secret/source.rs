//! Reads one secret from where its reference points: strictly, since a doubtful secret is no secret.

use std::{
    fs::File,
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::Path,
};

use reconciler_core::desired::SecretRef;
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

/// Largest secret: it becomes one variable of an environment, and the system takes 128 KiB for one.
const BYTES_MAX: u64 = 64 * 1024;

/// What nobody but the owner and his group may be let do: others may not read a secret, nor the group change it.
const TOO_OPEN: u32 = 0o027;

/// The value of a secret. It can be neither shown nor stored: there is no way to make a text of it by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A value that was made here, and not read.
    pub(crate) const fn new(value: String) -> Self {
        Self(value)
    }

    /// The value itself, for the one place that hands it over.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

/// Why a reference gives no value.
#[derive(Debug, thiserror::Error)]
pub(super) enum SourceError {
    #[error("the variable is not set")]
    NotSet,
    #[error("there is no such file")]
    NoFile,
    #[error("it is a symbolic link, which is not followed")]
    Link,
    #[error("it is not a regular file")]
    NotRegular,
    #[error("others may read it, or its group change it; chmod 600")]
    TooOpen,
    #[error("it is longer than 64 KiB")]
    TooLarge,
    #[error("it is empty")]
    Empty,
    #[error("it contains a character of value zero")]
    Nul,
    #[error("it is not text in UTF-8")]
    NotText,
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Reads the value of `reference`; relative paths start at `base_dir`.
pub(super) fn read(reference: &SecretRef, base_dir: &Path) -> Result<Secret, SourceError> {
    let text = match reference {
        SecretRef::Env(name) => {
            let value = std::env::var_os(name).ok_or(SourceError::NotSet)?;
            value.into_string().map_err(|_bytes| SourceError::NotText)?
        }
        SecretRef::File(path) => content(&base_dir.join(path))?,
    };
    if text.len() as u64 > BYTES_MAX {
        return Err(SourceError::TooLarge);
    }
    if text.is_empty() {
        return Err(SourceError::Empty);
    }
    if text.contains('\0') {
        return Err(SourceError::Nul);
    }
    Ok(Secret(text))
}

/// The text of a file without the one line end that editors and `echo` put behind it.
fn content(path: &Path) -> Result<String, SourceError> {
    // Without NONBLOCK, opening a pipe that nobody writes to would wait for ever.
    let flags =
        OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::NONBLOCK;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::LOOP) => return Err(SourceError::Link),
        Err(Errno::NOENT | Errno::NOTDIR) => return Err(SourceError::NoFile),
        Err(errno) => return Err(SourceError::Io(errno.into())),
    };
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Err(SourceError::NotRegular);
    }
    if facts.mode() & TOO_OPEN != 0 {
        return Err(SourceError::TooOpen);
    }
    let mut bytes = Vec::new();
    // Two more for the line end, one more to notice what is too long.
    file.take(BYTES_MAX + 3).read_to_end(&mut bytes)?;
    let mut text = String::from_utf8(bytes).map_err(|_bytes| SourceError::NotText)?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    fn file(bytes: &[u8], mode: u32) -> Result<String, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        read_at("file:key", dir.path())
    }

    fn read_at(reference: &str, base: &Path) -> Result<String, String> {
        let read = read(&reference.parse().unwrap(), base);
        read.map(|secret| secret.expose().to_owned()).map_err(|error| error.to_string())
    }

    /// R88: what is doubtful is refused, each with its reason.
    #[test]
    fn a_file_gives_its_text_without_one_line_end_or_says_why_not() {
        let most = vec![b'a'; 64 * 1024];
        let more = vec![b'a'; 64 * 1024 + 1];
        let rows: [(&[u8], u32, Result<&str, &str>); 11] = [
            (b"s3cret", 0o600, Ok("s3cret")),
            (b"s3cret\n", 0o400, Ok("s3cret")),
            (b"s3cret\r\n", 0o640, Ok("s3cret")),
            (b"two\nlines\n\n", 0o600, Ok("two\nlines\n")),
            (b"", 0o600, Err("empty")),
            (b"\n", 0o600, Err("empty")),
            (b"a\0b", 0o600, Err("value zero")),
            (b"\xff\xfe", 0o600, Err("UTF-8")),
            (b"s3cret", 0o604, Err("chmod 600")),
            (b"s3cret", 0o620, Err("chmod 600")),
            (&more, 0o600, Err("64 KiB")),
        ];
        for (bytes, mode, want) in rows {
            let found = file(bytes, mode);
            match want {
                Ok(text) => assert_eq!(found.as_deref(), Ok(text), "{mode:o}"),
                Err(part) => assert!(found.as_ref().is_err_and(|why| why.contains(part)), "{part}"),
            }
        }
        assert_eq!(file(&most, 0o600).map(|text| text.len()), Ok(64 * 1024));
    }

    /// R88: nothing but a file that stands there itself is read, and reading never waits.
    #[test]
    fn links_pipes_and_directories_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("real"), "s3cret").unwrap();
        fs::set_permissions(at("real"), fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(at("real"), at("link")).unwrap();
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), fifo, Mode::RUSR, 0).unwrap();
        let refused = |name: &str, part: &str| {
            let found = read_at(&format!("file:{name}"), dir.path());
            assert!(found.as_ref().is_err_and(|why| why.contains(part)), "{name}: {part}");
        };
        assert_eq!(read_at("file:real", dir.path()).as_deref(), Ok("s3cret"));
        refused("link", "symbolic link");
        refused("pipe", "regular file");
        refused(".", "regular file");
        refused("none", "no such file");
        refused("real/below", "no such file");
    }

    #[test]
    fn a_variable_that_is_not_set_is_refused() {
        let base = Path::new("/");
        assert!(read_at("env:PATH", base).is_ok());
        let found = read_at("env:LEVELHEAD_TEST_NEVER_SET", base);
        assert_eq!(found, Err("the variable is not set".to_owned()));
    }
}
