//! A record of everything that reached a console, and a console that it is played to again.
//!
//! The console is a fold of its messages, so the same messages show the same screens. A record holds what the screen
//! may show and nothing else: what is secret never reaches a console.

use std::{
    fs::File,
    io::{self, BufRead, BufWriter, Write as _},
    sync::Arc,
};

use driver::view::{Difference, RunDelta, RunView, diff};
use serde::{Deserialize, Serialize};

use super::{
    keymap::{Keymap, Remap},
    message::Msg,
    model::Model,
    options::Options,
    update::update,
};

/// The version of the form; a record of another one is refused.
pub const TAPE_VERSION: u32 = 1;

/// One line of a record.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
enum Line {
    /// The first.
    Begin {
        /// The version of the form.
        version: u32,
        /// Columns of the screen.
        width: u16,
        /// Its rows.
        height: u16,
        /// True if the driver lived in the console's process.
        embedded: bool,
        /// True if the console refused every edit.
        read_only: bool,
        /// Keys that meant something else than usual.
        #[serde(default)]
        keys: Vec<Remap>,
    },
    /// A message.
    Msg {
        /// It.
        msg: Msg,
    },
    /// A snapshot, as what changed since the one before.
    Delta {
        /// The change.
        delta: Box<RunDelta>,
    },
}

/// Why a record cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum TapeError {
    /// It cannot be read.
    #[error("the record cannot be read")]
    Read(#[from] io::Error),
    /// A line makes no sense.
    #[error("line {line} of the record makes no sense")]
    Line {
        /// Which, from 1.
        line: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// It begins otherwise than a record does.
    #[error("this is no record of a console, or one of another version")]
    Unknown,
}

/// Writes a record.
#[derive(Debug)]
pub struct Recorder {
    file: BufWriter<File>,
    last: Option<Arc<RunView>>,
}

impl Recorder {
    /// Begins a record of a console that was started so, on a screen of that size.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(file: File, options: &Options, (width, height): (u16, u16)) -> io::Result<Self> {
        let mut recorder = Self { file: BufWriter::new(file), last: None };
        let Options { embedded, read_only, .. } = *options;
        let (version, keys) = (TAPE_VERSION, options.keys.remaps().to_vec());
        recorder.write(&Line::Begin { version, width, height, embedded, read_only, keys })?;
        Ok(recorder)
    }

    /// Notes a message. Costs as much as its difference to the snapshot before.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note(&mut self, msg: &Msg) -> io::Result<()> {
        let line = if let Msg::Snapshot(view) = msg {
            let Some(line) = self.difference(view) else { return Ok(()) };
            line
        } else {
            Line::Msg { msg: msg.clone() }
        };
        self.write(&line)
    }

    fn difference(&mut self, view: &Arc<RunView>) -> Option<Line> {
        let whole = || Some(Line::Msg { msg: Msg::Snapshot(Arc::clone(view)) });
        let last = self.last.replace(Arc::clone(view));
        match last.map(|last| diff((*last).clone(), view)) {
            None | Some(Difference::Unrelated) => whole(),
            Some(Difference::Still) => None,
            Some(Difference::Changed(delta)) => Some(Line::Delta { delta }),
        }
    }

    /// Each line is on its way to the disk when this returns, so that a console that dies has its record.
    fn write(&mut self, line: &Line) -> io::Result<()> {
        serde_json::to_writer(&mut self.file, line)?;
        self.file.write_all(b"\n")?;
        self.file.flush()
    }
}

/// A record that is played.
#[derive(Debug)]
pub struct Player {
    lines: Vec<Line>,
    options: Options,
    screen: (u16, u16),
    at: usize,
    /// True if the last line was cut off, as by a console that was killed.
    cut: bool,
    last: Option<RunView>,
    model: Model,
}

impl Player {
    /// Reads a record, to be shown on a screen of that size. One that ends in the middle of a line is played as far as
    /// it is whole.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub fn read(
        mut record: impl BufRead,
        options: Options,
        screen: (u16, u16),
    ) -> Result<Self, TapeError> {
        let (mut lines, mut cut) = (Vec::new(), false);
        let mut text = Vec::new();
        while record.read_until(b'\n', &mut text)? > 0 {
            match serde_json::from_slice(&text) {
                Ok(line) => lines.push(line),
                Err(_) if lines.is_empty() => return Err(TapeError::Unknown),
                Err(_) if !text.ends_with(b"\n") => cut = true,
                Err(source) => {
                    return Err(TapeError::Line { line: lines.len().saturating_add(1), source });
                }
            }
            text.clear();
        }
        let Some(Line::Begin { version: TAPE_VERSION, embedded, read_only, keys, .. }) =
            lines.first()
        else {
            return Err(TapeError::Unknown);
        };
        let keys = Keymap::with(keys).map_err(|_foreign| TapeError::Unknown)?;
        // What a key did depends on how the console was started.
        let options = Options { embedded: *embedded, read_only: *read_only, keys, ..options };
        let model = Model::new(options.clone(), screen.0, screen.1);
        Ok(Self { lines, options, screen, at: 1, cut, last: None, model })
    }

    /// The console as it was.
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// True if its frames are wrapped so that a terminal shows each at once.
    pub const fn syncs(&self) -> bool {
        self.options.sync
    }

    /// How far it is played, and how long it is.
    pub const fn place(&self) -> (usize, usize) {
        (self.at, self.lines.len())
    }

    /// True if the record ends in the middle of a line, which is not played.
    pub const fn is_cut(&self) -> bool {
        self.cut
    }

    /// The screen has another size.
    pub fn resize(&mut self, width: u16, height: u16) {
        self.screen = (width, height);
        self.fold(Msg::Resize { width, height });
    }

    /// Plays one line; false at the end.
    pub fn forward(&mut self) -> bool {
        let Some(line) = self.lines.get(self.at).cloned() else { return false };
        self.at = self.at.saturating_add(1);
        match line {
            // The screen is that of who looks, and began with the record.
            Line::Begin { .. } | Line::Msg { msg: Msg::Resize { .. } } => {}
            Line::Msg { msg: Msg::Snapshot(view) } => {
                self.last = Some((*view).clone());
                self.fold(Msg::Snapshot(view));
            }
            Line::Msg { msg } => self.fold(msg),
            Line::Delta { delta } => {
                if let Some(mut view) = self.last.take() {
                    delta.apply(&mut view);
                    self.last = Some(view.clone());
                    self.fold(Msg::Snapshot(Arc::new(view)));
                }
            }
        }
        true
    }

    /// Plays to the next thing that happened: what is no passing of time.
    pub fn advance(&mut self) -> bool {
        let before = self.at;
        while self.forward() {
            if self.at.checked_sub(1).and_then(|at| self.lines.get(at)).is_some_and(is_event) {
                return true;
            }
        }
        self.at > before
    }

    /// Plays anew from the beginning to the thing that happened before the present one.
    pub fn back(&mut self) {
        let played = self.lines.get(..self.at.saturating_sub(1)).unwrap_or_default();
        let to = played.iter().rposition(is_event).map_or(1, |at| at.saturating_add(1));
        self.seek(to);
    }

    /// Plays anew up to a place.
    pub fn seek(&mut self, to: usize) {
        if to < self.at {
            self.at = 1;
            self.last = None;
            self.model = Model::new(self.options.clone(), self.screen.0, self.screen.1);
        }
        while self.at < to && self.forward() {}
    }

    /// What was ordered then is not done again.
    fn fold(&mut self, msg: Msg) {
        drop(update(&mut self.model, msg));
    }

    /// What happened last, in a word.
    pub fn told(&self) -> String {
        match self.at.checked_sub(1).and_then(|at| self.lines.get(at)) {
            Some(Line::Msg { msg: Msg::Key(key, _) }) => format!("key {key}"),
            Some(Line::Msg { msg: Msg::Snapshot(_) } | Line::Delta { .. }) => "snapshot".to_owned(),
            Some(Line::Msg { msg: Msg::Reply(_) }) => "reply".to_owned(),
            Some(Line::Msg { msg: Msg::LinkLost(_) }) => "link lost".to_owned(),
            Some(Line::Msg { msg: Msg::Lagging(_) }) => "link lags".to_owned(),
            Some(Line::Msg { .. } | Line::Begin { .. }) | None => String::new(),
        }
    }
}

const fn is_event(line: &Line) -> bool {
    match line {
        Line::Begin { .. } => false,
        Line::Delta { .. } => true,
        Line::Msg { msg } => !matches!(
            msg,
            Msg::Tick(_) | Msg::Painted(_) | Msg::Perf(_) | Msg::Resize { .. } | Msg::Connecting
        ),
    }
}
