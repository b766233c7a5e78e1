//! Where a list stands: selected by id, so that moving rows never move the selection to another thing.

/// The selection and the scroll position of one list.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<Id> {
    selected: Option<Id>,
    at: usize,
    top: usize,
    follows: bool,
}

/// What a list is made of at present.
pub(crate) struct Items<Find, Name> {
    /// How many there are.
    pub(crate) len: usize,
    /// How many fit on the screen.
    pub(crate) height: usize,
    /// Where an id stands.
    pub(crate) find: Find,
    /// Which id stands at a place.
    pub(crate) name: Name,
}

impl<Id: Clone + PartialEq> Cursor<Id> {
    /// A cursor that selects the first thing there is, and stays with it.
    pub(crate) const fn new() -> Self {
        Self { selected: None, at: 0, top: 0, follows: false }
    }

    /// A cursor that stays with whatever comes first until it is moved away from there.
    pub(crate) const fn following() -> Self {
        Self { selected: None, at: 0, top: 0, follows: true }
    }

    /// What is selected; nothing while the list is empty or the first is followed.
    pub(crate) const fn selected(&self) -> Option<&Id> {
        self.selected.as_ref()
    }

    /// The place of the selection.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    /// The first place that is shown.
    pub(crate) const fn top(&self) -> usize {
        self.top
    }

    /// True while the newest is followed.
    pub(crate) const fn is_following(&self) -> bool {
        self.follows && self.selected.is_none()
    }

    /// Looks its id up again in a list that changed; if it is gone, its neighbour takes over.
    pub(crate) fn settle<F, N>(&mut self, items: &Items<F, N>)
    where
        F: Fn(&Id) -> Option<usize>,
        N: Fn(usize) -> Option<Id>,
    {
        match self.selected.as_ref().and_then(&items.find) {
            Some(at) => self.at = at,
            None if self.is_following() => self.at = 0,
            None => {
                self.at = self.at.min(items.len.saturating_sub(1));
                self.selected = (items.name)(self.at);
            }
        }
        self.scroll(items.len, items.height);
    }

    /// Selects the place `to`, or the last one.
    pub(crate) fn go<F, N>(&mut self, to: usize, items: &Items<F, N>)
    where
        F: Fn(&Id) -> Option<usize>,
        N: Fn(usize) -> Option<Id>,
    {
        self.at = to.min(items.len.saturating_sub(1));
        self.selected = if self.follows && self.at == 0 { None } else { (items.name)(self.at) };
        self.scroll(items.len, items.height);
    }

    /// Selects `id` wherever it will be.
    pub(crate) fn pick(&mut self, id: Id) {
        self.selected = Some(id);
    }

    fn scroll(&mut self, len: usize, height: usize) {
        let height = height.max(1);
        self.top = self.top.min(self.at).min(len.saturating_sub(height));
        let below = self.at.saturating_add(1).saturating_sub(height);
        self.top = self.top.max(below);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settle(cursor: &mut Cursor<u32>, list: &[u32]) {
        cursor.settle(&Items {
            len: list.len(),
            height: 3,
            find: |id: &u32| list.iter().position(|other| other == id),
            name: |at: usize| list.get(at).copied(),
        });
    }

    #[test]
    fn the_selection_moves_with_its_row() {
        let mut cursor = Cursor::new();
        settle(&mut cursor, &[1, 2, 3]);
        cursor.pick(3);
        settle(&mut cursor, &[9, 8, 7, 6, 3]);
        assert_eq!((cursor.selected(), cursor.at(), cursor.top()), (Some(&3), 4, 2));
    }

    #[test]
    fn the_neighbour_takes_over_from_what_is_gone() {
        let mut cursor = Cursor::new();
        cursor.pick(2);
        settle(&mut cursor, &[1, 2, 3]);
        settle(&mut cursor, &[1, 3]);
        assert_eq!(cursor.selected(), Some(&3));
        settle(&mut cursor, &[1]);
        assert_eq!(cursor.selected(), Some(&1));
        settle(&mut cursor, &[]);
        assert_eq!((cursor.selected(), cursor.at(), cursor.top()), (None, 0, 0));
    }

    #[test]
    fn a_following_cursor_stays_with_the_newest() {
        let mut cursor = Cursor::following();
        settle(&mut cursor, &[1]);
        settle(&mut cursor, &[2, 1]);
        assert!(cursor.is_following());
        assert_eq!(cursor.at(), 0);
    }
}
