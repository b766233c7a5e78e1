//! The signs that the console draws with, once in ASCII and once in Unicode without unsure widths.

use ratatui::symbols::border;

use super::stage::Place;

/// One set of signs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glyphs {
    /// Joins the places of a track.
    pub(crate) joint: char,
    /// The frame of a pane.
    pub(crate) frame: border::Set<'static>,
    /// True if only ASCII may be drawn.
    pub(crate) ascii: bool,
}

const ASCII_FRAME: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

impl Glyphs {
    /// The set for `ascii`.
    pub(crate) const fn new(ascii: bool) -> Self {
        if ascii {
            Self { joint: '-', frame: ASCII_FRAME, ascii }
        } else {
            Self { joint: '\u{2500}', frame: border::PLAIN, ascii }
        }
    }

    /// The sign of one place of a track.
    pub(crate) const fn place(&self, place: Place) -> char {
        match (self.ascii, place) {
            (true, Place::Done) => '#',
            (true, Place::Current) => '@',
            (true, Place::Ahead) => '.',
            (true, Place::Broken) => 'X',
            (false, Place::Done) => '\u{25cf}',
            (false, Place::Current) => '\u{25c9}',
            (false, Place::Ahead) => '\u{25cb}',
            (false, Place::Broken) => '\u{2717}',
            (_, Place::Held) => '?',
        }
    }

    /// A track as text.
    pub(crate) fn track(&self, places: [Place; 5]) -> String {
        let mut out = String::new();
        for (at, place) in places.into_iter().enumerate() {
            if at > 0 {
                out.push(self.joint);
            }
            out.push(self.place(place));
        }
        out
    }
}
