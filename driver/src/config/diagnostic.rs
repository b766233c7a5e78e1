//! One thing that is wrong with a file, and the list that collects all of them before any is shown.
//!
//! Texts pass the redaction gate here; how a list is shown stands in `render`.

use std::{collections::BTreeSet, ops::Range};

use reconciler_core::redact::Redacted;

use super::lines::Lines;

/// One thing that is wrong, with the place where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The offending bytes.
    pub span: Range<usize>,
    /// What is wrong, as a lower-case fragment.
    pub message: Redacted,
    /// A few words under the offending span.
    pub label: Option<Redacted>,
    /// What to do.
    pub hint: Option<Redacted>,
    /// Another place that has a part in it, and what it is.
    pub related: Option<(Range<usize>, Redacted)>,
    /// True if it may only follow from broken syntax, and then goes unsaid: what seems to lack, or to stand in
    /// the wrong place, may stand behind the break.
    pub doubtful: bool,
    /// True if the span holds a credential, which no excerpt may quote (P8).
    pub secret: bool,
}

impl Diagnostic {
    /// Something wrong at `span`.
    pub fn new(span: Range<usize>, message: impl AsRef<str>) -> Self {
        Self {
            span,
            message: Redacted::new(message.as_ref()),
            label: None,
            hint: None,
            related: None,
            doubtful: false,
            secret: false,
        }
    }

    /// Adds a few words under the span.
    #[must_use]
    pub fn label(mut self, label: impl AsRef<str>) -> Self {
        self.label = Some(Redacted::new(label.as_ref()));
        self
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl AsRef<str>) -> Self {
        self.hint = Some(Redacted::new(hint.as_ref()));
        self
    }

    /// Adds another place that has a part in it.
    #[must_use]
    pub fn related(mut self, span: Range<usize>, label: impl AsRef<str>) -> Self {
        self.related = Some((span, Redacted::new(label.as_ref())));
        self
    }

    /// Marks its span as a credential.
    #[must_use]
    pub fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// Marks it as one that broken syntax may have caused.
    #[must_use]
    pub fn doubtful(mut self) -> Self {
        self.doubtful = true;
        self
    }
}

/// Everything that is wrong with one file.
#[derive(Debug, Default)]
pub(super) struct Report {
    list: Vec<Diagnostic>,
}

impl Report {
    /// Adds one.
    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    /// True if nothing is wrong.
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many there are; compared before and after a part, to know whether that part is sound.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// The list in order of position, without what only follows from broken syntax.
    pub(super) fn finish(self, lines: &Lines, syntax: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let broken: BTreeSet<_> = syntax.iter().map(|d| lines.number(d.span.start)).collect();
        let follows = |d: &Diagnostic| {
            !broken.is_empty() && (d.doubtful || broken.contains(&lines.number(d.span.start)))
        };
        let mut all = syntax;
        all.extend(self.list.into_iter().filter(|d| !follows(d)));
        // At one place they stay in the order in which they were found, which is the order of the format.
        all.sort_by_key(|d| (d.span.start, d.span.end));
        all.dedup();
        all
    }
}
