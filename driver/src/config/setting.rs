//! A setting that may come from the file or from the defaults, and what is told where two of them contradict.

use std::ops::Range;

use reconciler_core::time::Millis;

use super::{
    diagnostic::{Diagnostic, Report},
    quantity,
    reader::At,
};

/// A setting with its key, given in the file or taken from the defaults.
pub(super) struct Setting {
    pub(super) key: &'static str,
    pub(super) value: Millis,
    pub(super) span: Option<Range<usize>>,
}

impl Setting {
    pub(super) fn new(key: &'static str, given: Option<&At<Millis>>, default: Millis) -> Self {
        let value = given.map_or(default, |given| given.value);
        Self { key, value, span: given.map(|given| given.span.clone()) }
    }

    pub(super) fn label(&self) -> String {
        let origin = if self.span.is_some() { "" } else { " by default" };
        format!("`{}` is {}{origin}", self.key, quantity::show(self.value))
    }

    /// Refuses zero, where zero means that nothing can ever succeed.
    pub(super) fn refuse_zero(&self, why: &str, out: &mut Report) {
        if let (Millis::ZERO, Some(span)) = (self.value, &self.span) {
            let message = format!("`{}` is zero: {why}", self.key);
            let hint = "write a longer time, or leave the key out for the default";
            out.push(Diagnostic::new(span.clone(), message).hint(hint));
        }
    }
}

/// Reports that `large` should exceed `small`, at whichever of the two stands in the file.
pub(super) fn contradiction(small: &Setting, large: &Setting, message: &str, out: &mut Report) {
    let (primary, other) = if large.span.is_some() { (large, small) } else { (small, large) };
    let Some(span) = primary.span.clone() else { return };
    let diagnostic = Diagnostic::new(span, message).label(primary.label());
    let hint = format!("{}; raise `{}` or lower `{}`", other.label(), large.key, small.key);
    let diagnostic = diagnostic.hint(hint);
    out.push(match &other.span {
        Some(span) => diagnostic.related(span.clone(), other.label()),
        None => diagnostic,
    });
}
