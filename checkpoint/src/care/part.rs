//! A file that is being made: under a name of its own, private, and removed only while it is proven to be ours (R127).

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};

/// Why a file could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// Something has that name already; nothing is overwritten.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    /// Somebody put another file in the place of the unfinished one; it is left alone.
    #[error("{} is not the file that was begun; it is left alone", .0.display())]
    Swapped(PathBuf),
    /// Reading or writing failed.
    #[error("{} cannot be written", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl PartError {
    /// Names a failure at `path`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Io { path: path.to_owned(), source }
    }
}

/// An unfinished file. Dropped without being placed, it is removed, if it is still the one that was begun.
#[derive(Debug)]
pub(crate) struct Part {
    path: PathBuf,
    file: File,
    placed: bool,
}

impl Part {
    /// Begins a file that is to stand at `target` in the end; nothing may stand there now.
    pub(crate) fn begin(target: &Path) -> Result<Self, PartError> {
        if fs::symlink_metadata(target).is_ok() {
            return Err(PartError::Exists(target.to_owned()));
        }
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = target.with_file_name(format!(".{name}.{}.part", std::process::id()));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .map_err(PartError::io(&path))?;
        Ok(Self { path, file, placed: false })
    }

    /// Where it stands until it is placed.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file itself.
    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Syncs it and gives it its name, unless something took that meanwhile.
    pub(crate) fn place(mut self, target: &Path) -> Result<(), PartError> {
        self.file.sync_all().map_err(PartError::io(&self.path))?;
        if !self.is_ours() {
            return Err(PartError::Swapped(self.path.clone()));
        }
        match renameat_with(CWD, &self.path, CWD, target, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(rustix::io::Errno::EXIST) => return Err(PartError::Exists(target.to_owned())),
            // A file system that cannot do it at once: a second name is refused where one stands as well.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                fs::hard_link(&self.path, target).map_err(|error| {
                    if error.kind() == io::ErrorKind::AlreadyExists {
                        return PartError::Exists(target.to_owned());
                    }
                    PartError::io(target)(error)
                })?;
                fs::remove_file(&self.path).map_err(PartError::io(&self.path))?;
            }
            Err(error) => return Err(PartError::io(target)(error.into())),
        }
        self.placed = true;
        sync_dir_of(target).map_err(PartError::io(target))
    }

    /// True if the name still means the file that was begun.
    fn is_ours(&self) -> bool {
        let (Ok(named), Ok(held)) = (fs::symlink_metadata(&self.path), self.file.metadata()) else {
            return false;
        };
        (named.dev(), named.ino()) == (held.dev(), held.ino())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.placed && self.is_ours() {
            // One that cannot be removed stays under a name that says what it is.
            fs::remove_file(&self.path).unwrap_or_default();
        }
    }
}

/// Syncs the directory in which `path` stands.
pub(crate) fn sync_dir_of(path: &Path) -> io::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Part, PartError};

    /// R127: a file that was swapped while it was written is neither placed nor removed.
    #[test]
    fn a_swapped_file_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("copy.db");
        let part = Part::begin(&target).unwrap();
        let path = part.path().to_owned();
        fs::rename(&path, home.path().join("elsewhere")).unwrap();
        fs::write(&path, "somebody else's").unwrap();
        assert!(matches!(part.place(&target), Err(PartError::Swapped(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "somebody else's");
        assert!(!target.exists());
    }

    /// R127: what is given up is removed, what stands is not overwritten.
    #[test]
    fn an_unfinished_file_goes_and_a_finished_one_stays() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("copy.db");
        let part = Part::begin(&target).unwrap();
        let path = part.path().to_owned();
        drop(part);
        assert!(!path.exists());
        let part = Part::begin(&target).unwrap();
        fs::write(&target, "came first").unwrap();
        assert!(matches!(part.place(&target), Err(PartError::Exists(_))));
        assert_eq!(fs::read_to_string(&target).unwrap(), "came first");
        assert!(!path.exists());
    }
}
