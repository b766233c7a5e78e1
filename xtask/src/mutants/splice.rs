//! Puts edits into a text: edits may stand in each other, and it is remembered what of the outcome is whose.

use std::{cmp::Reverse, ops::Range};

/// A number of a mutant, from 1.
pub(crate) type Id = usize;

/// What stands in the place of an edit, piece by piece.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// A text that stands there for all mutants, or for these.
    Text(String, Vec<Id>),
    /// What stood at this place, with the edits inside of it.
    Kept(Range<usize>),
    /// The same, where these mutants are to blame for what the compiler says of it and of nothing inside.
    Blamed(Range<usize>, Vec<Id>),
}

/// A place of the text, and what stands there instead.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) range: Range<usize>,
    pub(crate) parts: Vec<Part>,
}

/// A text with its edits.
#[derive(Debug, Default)]
pub(crate) struct Spliced {
    pub(crate) text: String,
    /// Which places of it stand there for which mutants.
    regions: Regions,
    /// Which mutants are to blame for a place where nothing stands for any.
    blamed: Regions,
}

type Regions = Vec<(Range<usize>, Vec<Id>)>;

impl Spliced {
    /// The text with `edits`, of which each two stand in each other or apart; of two at one place the first is the
    /// outer one.
    pub(crate) fn of(source: &str, mut edits: Vec<Edit>) -> Self {
        edits.sort_by_key(|edit| (edit.range.start, Reverse(edit.range.end)));
        let mut spliced = Self::default();
        spliced.put(source, 0..source.len(), &edits.iter().collect::<Vec<_>>());
        spliced
    }

    fn put(&mut self, source: &str, range: Range<usize>, edits: &[&Edit]) {
        let piece = |range: Range<usize>| source.get(range).unwrap_or_default();
        let mut at = range.start;
        let mut rest = edits;
        while let Some((edit, after)) = rest.split_first() {
            self.text.push_str(piece(at..edit.range.start));
            let inner = after.partition_point(|next| next.range.start < edit.range.end);
            let (inside, beyond) = after.split_at(inner);
            for part in &edit.parts {
                match part {
                    Part::Text(text, ids) => {
                        let from = self.text.len();
                        self.text.push_str(text);
                        self.regions.push((from..self.text.len(), ids.clone()));
                    }
                    Part::Kept(kept) => self.keep(source, kept, inside),
                    Part::Blamed(kept, ids) => {
                        let from = self.text.len();
                        self.keep(source, kept, inside);
                        self.blamed.push((from..self.text.len(), ids.clone()));
                    }
                }
            }
            (at, rest) = (edit.range.end, beyond);
        }
        self.text.push_str(piece(at..range.end));
    }

    fn keep(&mut self, source: &str, kept: &Range<usize>, edits: &[&Edit]) {
        let of_it = |edit: &&Edit| kept.start <= edit.range.start && edit.range.end <= kept.end;
        let of_it: Vec<&Edit> = edits.iter().copied().filter(of_it).collect();
        self.put(source, kept.clone(), &of_it);
    }

    /// The mutants that stand in it.
    pub(crate) fn ids(&self) -> impl Iterator<Item = Id> {
        self.regions.iter().flat_map(|(_, ids)| ids.iter().copied())
    }

    /// The mutants for which something stands at `place` of the outcome, or else that are to blame for it.
    pub(crate) fn at(&self, place: &Range<usize>) -> Vec<Id> {
        let of = |regions: &Regions| -> Vec<Id> {
            let here = |range: &Range<usize>| range.start < place.end && place.start < range.end;
            let regions = regions.iter().filter(|(range, _)| here(range));
            regions.flat_map(|(_, ids)| ids.iter().copied()).collect()
        };
        let standing = of(&self.regions);
        if standing.is_empty() { of(&self.blamed) } else { standing }
    }
}

#[cfg(test)]
mod tests {
    use super::{Edit, Part, Spliced};

    fn text(text: &str, id: usize) -> Part {
        Part::Text(text.to_owned(), vec![id])
    }

    #[test]
    fn an_edit_stands_in_what_another_keeps() {
        let outer = Edit { range: 2..7, parts: vec![text("<", 1), Part::Kept(2..7), text(">", 1)] };
        let inner = Edit { range: 2..3, parts: vec![text("(", 2), Part::Kept(2..3), text(")", 2)] };
        let spliced = Spliced::of("a b c d e", vec![outer, inner]);
        assert_eq!(spliced.text, "a <(b) c d> e");
        assert_eq!(spliced.at(&(2..3)), [1]);
        assert_eq!(spliced.at(&(3..6)), [2, 2]);
        assert_eq!(spliced.at(&(7..9)), [0; 0]);
    }

    #[test]
    fn who_is_to_blame_is_asked_where_nothing_else_stands() {
        let outer = Edit { range: 2..5, parts: vec![Part::Blamed(2..5, vec![1])] };
        let inner = Edit { range: 2..3, parts: vec![text("bb", 2)] };
        let spliced = Spliced::of("a b c d", vec![outer, inner]);
        assert_eq!(spliced.text, "a bb c d");
        assert_eq!((spliced.at(&(3..4)), spliced.at(&(5..6))), (vec![2], vec![1]));
        assert_eq!(spliced.at(&(7..8)), [0; 0]);
    }
}
