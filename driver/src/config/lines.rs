//! Where the lines of a text start, so that each of many offsets finds its line without reading the text again.

/// The line starts of one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    /// Finds the lines of `text`.
    pub(super) fn of(text: &str) -> Self {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { starts: std::iter::once(0).chain(starts).collect() }
    }

    /// The line that holds `offset`, from 0.
    pub(super) fn number(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// Where the line that holds `offset` starts.
    pub(super) fn start(&self, offset: usize) -> usize {
        self.starts.get(self.number(offset)).copied().unwrap_or_default()
    }
}
