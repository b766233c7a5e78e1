//! The mutants that `cargo-mutants` would make: what it changes, where, and into what.
//!
//! The tool alone says what a mutant is, so that the share of those that are noticed can be compared elsewhere.

use crate::shell::{Plain, Shell};
use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Genre {
    /// A function gives back something else at once.
    FnValue,
    /// Another operator stands between two values.
    BinaryOperator,
    /// A sign before a value is left out.
    UnaryOperator,
    /// An arm of a match is left out.
    MatchArm,
    /// The guard of an arm always holds, or never.
    MatchArmGuard,
    /// A field is taken from the base of an expression.
    StructField,
}

/// One mutant, as the tool lists it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Mutant {
    /// Its file, from the root.
    pub(crate) file: String,
    pub(crate) genre: Genre,
    /// What stands there instead.
    pub(crate) replacement: String,
    /// File, line, column, and what is changed.
    pub(crate) name: String,
    span: Span,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Span {
    start: Place,
}

/// Both count from 1; a column counts characters.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Place {
    line: usize,
    column: usize,
}

impl Mutant {
    /// The byte of `source` at which it begins.
    pub(crate) fn offset(&self, source: &str) -> Option<usize> {
        let Place { line, column } = self.span.start;
        let before: usize =
            source.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
        let rest = source.get(before..)?;
        let (within, _) = rest.char_indices().nth(column.checked_sub(1)?)?;
        Some(before + within)
    }

    /// Its name without line and column, which move with every edit.
    pub(crate) fn lasting_name(&self) -> String {
        let mut parts = self.name.splitn(4, ':');
        let file = parts.next().unwrap_or_default();
        let what = parts.nth(2).unwrap_or_default();
        if what.is_empty() { self.name.clone() } else { format!("{file}:{what}") }
    }
}

/// All mutants of the core, or those of `files`, in the tool's order.
pub(crate) fn list(shell: &Shell, files: &[String]) -> Result<Vec<Mutant>> {
    if !shell.works(&Plain::new(&["cargo", "mutants", "--version"]))? {
        bail!("cargo-mutants is not installed; `cargo install cargo-mutants --locked` installs it");
    }
    let of = files.iter().flat_map(|file| ["--file".to_owned(), file.clone()]);
    let words = ["cargo", "mutants", "--package", "reconciler-core", "--list", "--json"];
    let told = shell.read(&Plain::new(&words).and(&of.collect::<Vec<_>>()))?;
    serde_json::from_str(&told).context("the list of cargo-mutants has another form")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Genre, Mutant, Place, Span};

    /// A mutant of a text of one file, at the first place of `at`.
    pub(crate) fn mutant(source: &str, genre: Genre, at: &str, replacement: &str) -> Mutant {
        let before = source.split_once(at).expect("the place").0;
        let line = before.matches('\n').count() + 1;
        let column = before.lines().last().map_or(0, |line| line.chars().count()) + 1;
        let column = if before.ends_with('\n') { 1 } else { column };
        let name = format!("a.rs:{line}:{column}: replace {at} with {replacement}");
        let span = Span { start: Place { line, column } };
        Mutant { file: "a.rs".to_owned(), genre, replacement: replacement.to_owned(), name, span }
    }

    #[test]
    fn a_mutant_is_known_wherever_its_line_moved() {
        let one = mutant("é\n  x == y", Genre::BinaryOperator, "==", "!=");
        assert_eq!(one.name, "a.rs:2:5: replace == with !=");
        assert_eq!(one.lasting_name(), "a.rs: replace == with !=");
        assert_eq!(one.offset("é\n  x == y"), Some(7));
        assert_eq!(one.offset("é"), None);
    }
}
