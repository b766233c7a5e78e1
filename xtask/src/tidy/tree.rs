//! The files that the rules look at: tracked ones, and untracked ones that are not ignored.
//!
//! What is not UTF-8 is not text and is left out.

use crate::shell::{Plain, Shell};
use anyhow::{Context, Result};
use std::io::ErrorKind;

/// One text file.
#[derive(Debug)]
pub(crate) struct File {
    /// Path from the workspace root, with `/`.
    pub(crate) path: String,
    /// Its text.
    pub(crate) text: String,
}

impl File {
    /// Whether it is Rust source.
    pub(crate) fn is_rust(&self) -> bool {
        self.has_ending("rs")
    }

    /// Whether its name ends so, after the last dot.
    pub(crate) fn has_ending(&self, ending: &str) -> bool {
        self.name().rsplit_once('.').is_some_and(|(_, last)| last == ending)
    }

    /// The last part of the path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Whether the whole file is test code by its place.
    pub(crate) fn is_test(&self) -> bool {
        let place = |part: &str| ["benches", "examples", "tests", "tests.rs"].contains(&part);
        self.path.split('/').any(place)
    }
}

/// All files, in order of path.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The files.
    pub(crate) files: Vec<File>,
}

impl Tree {
    /// Asks git for the paths and reads them.
    pub(crate) fn read(shell: &Shell) -> Result<Self> {
        let list = Plain::new(&["git", "ls-files", "-co", "--exclude-standard", "-z"]);
        let listed = shell.read(&list)?;
        let mut paths: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
        paths.sort_unstable();
        paths.dedup();
        let mut files = Vec::new();
        for path in paths {
            let bytes = match std::fs::read(shell.root().join(path)) {
                Ok(bytes) => bytes,
                // Tracked and deleted, not yet committed so; or a link to a folder.
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::IsADirectory) =>
                {
                    continue;
                }
                Err(error) => return Err(error).with_context(|| format!("could not read {path}")),
            };
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(File { path: path.to_owned(), text });
            }
        }
        Ok(Self { files })
    }

    /// The Rust files.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }

    /// The file at exactly that path.
    pub(crate) fn at(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{File, Tree};
    use crate::finding::Finding;

    /// A tree of these paths and texts.
    pub(crate) fn tree(files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| File {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        Tree { files: files.iter().map(file).collect() }
    }

    /// What a rule finds, as `path:line`, or `path` where the whole file is meant.
    pub(crate) fn places(found: &[Finding]) -> Vec<String> {
        let place = |finding: &Finding| match finding.line {
            Some(line) => format!("{}:{line}", finding.place),
            None => finding.place.clone(),
        };
        found.iter().map(place).collect()
    }

    #[test]
    fn code_of_tests_is_known_by_its_place() {
        for (path, want) in [
            ("driver/src/run.rs", false),
            ("driver/src/run/tests.rs", true),
            ("driver/tests/it/main.rs", true),
            ("checkpoint/benches/journal.rs", true),
            ("xtask/src/test.rs", false),
        ] {
            let file = File { path: path.to_owned(), text: String::new() };
            assert_eq!(file.is_test(), want, "{path}");
        }
    }
}
