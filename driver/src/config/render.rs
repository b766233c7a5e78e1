//! Shows what is wrong with a file: as underlined excerpts for people, as plain values for programs.
//!
//! Excerpts quote the file, so whatever stands there as a credential is starred out first (P8).

use std::{fmt, ops::Range, path::PathBuf};

use annotate_snippets::{
    Annotation, AnnotationKind, Group, Level, Renderer, Snippet, normalize_untrusted_str,
};
use reconciler_core::redact::Redacted;
use serde::{Deserialize, Serialize};

use super::{
    diagnostic::{Diagnostic, Report},
    lines::Lines,
    mask::mask,
    source::{ReadError, Source},
};

/// Most diagnostics that are shown; nobody reads further before correcting these.
pub const SHOWN_MAX: usize = 64;

/// Why a desired-state file was refused (exit 65).
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its content is not valid.
    #[error("{}", .0.summary())]
    Invalid(Box<Problems>),
}

/// Everything that is wrong with the content of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems {
    /// The file.
    pub path: PathBuf,
    text: String,
    lines: Lines,
    list: Vec<Diagnostic>,
    broken: bool,
}

/// One problem as plain values, for `--json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemView {
    /// The file.
    pub file: String,
    /// Line of the first offending character, from 1; 0 if the problem has no place.
    pub line: usize,
    /// Its column in characters, from 1; 0 if the problem has no place.
    pub column: usize,
    /// The place behind the last offending character.
    pub end: PlaceView,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PlaceView {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl ConfigError {
    /// Everything that is wrong, for a terminal; `styled` adds colours.
    pub fn render(&self, styled: bool) -> String {
        let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
        match self {
            Self::Read(error) => {
                let message = normalize_untrusted_str(&chain(error));
                let group = Group::with_title(Level::ERROR.primary_title(message))
                    .element(Level::HELP.message(error.hint()));
                renderer.render(&[group])
            }
            Self::Invalid(problems) => problems.render(&renderer),
        }
    }

    /// Everything that is wrong, as plain values in order of position.
    pub fn to_views(&self) -> Vec<ProblemView> {
        match self {
            Self::Read(error) => vec![read_view(error)],
            Self::Invalid(problems) => problems.list.iter().map(|d| problems.view(d)).collect(),
        }
    }

    /// Everything that is wrong, as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        self.to_views()
            .into_iter()
            .map(|view| {
                serde_json::json!({
                    "file": view.file,
                    "line": view.line,
                    "column": view.column,
                    "end": { "line": view.end.line, "column": view.end.column },
                    "message": view.message,
                    "hint": view.hint,
                })
            })
            .collect()
    }

    /// The diagnostics in order of position; none if the file could not be read.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::Read(_) => &[],
            Self::Invalid(problems) => &problems.list,
        }
    }
}

impl Problems {
    pub(super) fn new(source: &Source, report: Report, syntax: Vec<Diagnostic>) -> Self {
        let lines = Lines::of(&source.text);
        let broken = !syntax.is_empty();
        let list = report.finish(&lines, syntax);
        Self { path: source.path.clone(), text: source.text.clone(), lines, list, broken }
    }

    /// True if some of it is no TOML: then more may be wrong than could be found.
    pub const fn has_broken_syntax(&self) -> bool {
        self.broken
    }

    fn summary(&self) -> String {
        let noun = if self.list.len() == 1 { "problem" } else { "problems" };
        format!("{} has {} {noun}", self.name(), self.list.len())
    }

    fn name(&self) -> String {
        normalize_untrusted_str(&self.path.to_string_lossy())
    }

    fn render(&self, renderer: &Renderer) -> String {
        let known = self.list.iter().filter(|d| d.secret).map(|d| d.span.clone());
        let masked = mask(&self.text, known);
        let name = self.name();
        let page = Page { text: &masked, lines: &self.lines, name: &name };
        let shown = self.list.iter().take(SHOWN_MAX);
        let mut parts: Vec<String> =
            shown.map(|diagnostic| renderer.render(&[excerpt(&page, diagnostic)])).collect();
        let more = self.list.len().saturating_sub(SHOWN_MAX);
        if more > 0 {
            parts.push(format!("and {more} more"));
        }
        parts.join("\n\n")
    }

    /// Line and column of an offset.
    fn place(&self, offset: usize) -> PlaceView {
        let before = self.text.get(self.lines.start(offset)..offset).unwrap_or_default();
        PlaceView { line: self.lines.number(offset) + 1, column: before.chars().count() + 1 }
    }

    fn view(&self, diagnostic: &Diagnostic) -> ProblemView {
        let start = self.place(diagnostic.span.start);
        ProblemView {
            file: self.name(),
            line: start.line,
            column: start.column,
            end: self.place(diagnostic.span.end),
            message: diagnostic.message.to_string(),
            hint: diagnostic.hint.as_ref().map(ToString::to_string),
        }
    }
}

impl fmt::Display for PlaceView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// The excerpt of one diagnostic: its lines with the span underlined, and the hint.
fn excerpt<'a>(page: &Page<'a>, diagnostic: &'a Diagnostic) -> Group<'a> {
    let label = diagnostic.label.as_ref().map(Redacted::as_str);
    let quote = page.quote(AnnotationKind::Primary, &diagnostic.span, label);
    let title = Level::ERROR.primary_title(diagnostic.message.as_str());
    let mut group = Group::with_title(title).element(quote);
    if let Some((span, label)) = &diagnostic.related {
        group = group.element(page.quote(AnnotationKind::Context, span, Some(label.as_str())));
    }
    if let Some(hint) = &diagnostic.hint {
        group = group.element(Level::HELP.message(hint.as_str()));
    }
    group
}

/// A file as it may be quoted.
struct Page<'a> {
    text: &'a str,
    lines: &'a Lines,
    name: &'a str,
}

impl<'a> Page<'a> {
    /// The first line of a span with the span underlined; a span over many lines is shown by its first.
    fn quote(
        &self,
        kind: AnnotationKind,
        span: &Range<usize>,
        label: Option<&'a str>,
    ) -> Snippet<'a, Annotation<'a>> {
        let start = self.lines.start(span.start);
        let line = self.text.get(start..).unwrap_or_default();
        let line = line.split('\n').next().unwrap_or_default();
        let line = line.strip_suffix('\r').unwrap_or(line);
        let from = (span.start - start).min(line.len());
        let to = (span.end - start).clamp(from, line.len());
        Snippet::source(line)
            .line_start(self.lines.number(span.start) + 1)
            .path(self.name)
            .annotation(kind.span(from..to).label(label))
    }
}

fn read_view(error: &ReadError) -> ProblemView {
    let (path, line, column) = match error {
        ReadError::NotUtf8 { path, line, column, .. } => (path, *line, *column),
        ReadError::Io { path, .. }
        | ReadError::Link { path }
        | ReadError::NotRegular { path }
        | ReadError::TooLarge { path }
        | ReadError::Changed { path } => (path, 0, 0),
    };
    ProblemView {
        file: normalize_untrusted_str(&path.to_string_lossy()),
        line,
        column,
        end: PlaceView { line, column },
        message: normalize_untrusted_str(&chain(error)),
        hint: Some(error.hint().to_owned()),
    }
}

/// An error with its causes on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        text.push_str(": ");
        text.push_str(&source.to_string());
        cause = source.source();
    }
    text
}
