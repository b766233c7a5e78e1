//! The console's own work, in this process: a snapshot folded, a frame drawn and coded, a filter typed.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
    time::Instant,
};

use driver::view::{Difference, WatchLine, diff};
use ratatui::{Terminal, TerminalOptions, Viewport, backend::CrosstermBackend, layout::Rect};
use reconciler_core::time::{Millis, Timestamp};
use tui::{
    console::{
        keymap::Keymap,
        message::{Key, Moment, Msg},
        model::Model,
        options::{Color, Options},
        update::update,
        view,
    },
    place::Place,
};

use crate::{
    fleet::{moved, steady},
    tell::{figure, ms, share, tell},
};

const WIDTH: u16 = 120;
const HEIGHT: u16 = 36;
const SNAPSHOTS: usize = 30;
const FRAMES: usize = 400;

/// What was written to a terminal that is none.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<usize>>);

impl Sink {
    /// The bytes since the last call.
    fn take(&self) -> usize {
        let mut written = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        std::mem::take(&mut written)
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Bench {
    model: Model,
    terminal: Terminal<CrosstermBackend<Sink>>,
    sink: Sink,
    at: u64,
}

impl Bench {
    fn new() -> io::Result<Self> {
        let options = Options {
            ascii: true,
            color: Color::Sixteen,
            read_only: false,
            embedded: false,
            offset: 0,
            who: "op:bench".to_owned(),
            place: Place::new("cluster.toml".as_ref(), None),
            keys: Keymap::default(),
            sync: true,
        };
        let sink = Sink::default();
        let area = Rect::new(0, 0, WIDTH, HEIGHT);
        let fixed = TerminalOptions { viewport: Viewport::Fixed(area) };
        let terminal = Terminal::with_options(CrosstermBackend::new(sink.clone()), fixed)?;
        Ok(Self { model: Model::new(options, WIDTH, HEIGHT), terminal, sink, at: 1_000 })
    }

    fn fold(&mut self, msg: Msg) -> f64 {
        let begun = Instant::now();
        drop(update(&mut self.model, msg));
        ms(begun.elapsed())
    }

    fn key(&mut self, key: Key) -> f64 {
        self.at += 20;
        let wall = Timestamp::from_millis(1_795_953_600_000 + self.at);
        self.fold(Msg::Key(key, Moment { wall, mono: Millis::new(self.at) }))
    }

    fn draw(&mut self) -> io::Result<f64> {
        let begun = Instant::now();
        let model = &self.model;
        self.terminal.draw(|frame| view::draw(model, frame))?;
        Ok(ms(begun.elapsed()))
    }
}

/// Snapshots in which every node moved, frames between them, and frames while a list is walked.
pub(crate) fn measure(nodes: usize) -> io::Result<()> {
    let mut bench = Bench::new()?;
    let mut view = steady(nodes)?;
    bench.fold(Msg::Snapshot(Arc::new(view.clone())));
    bench.draw()?;
    let full = bench.sink.take();
    let (mut folds, mut frames, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..SNAPSHOTS {
        view = moved(&view, 0, 1);
        folds.push(bench.fold(Msg::Snapshot(Arc::new(view.clone()))));
        frames.push(bench.draw()?);
        bytes.push(figure(bench.sink.take()));
    }
    let mut scrolls = Vec::new();
    for _ in 0..FRAMES {
        bench.key(Key::Char('j'));
        scrolls.push(bench.draw()?);
        bench.sink.take();
    }
    bench.draw()?;
    let still = bench.sink.take();
    let mut typed = Vec::new();
    for _ in 0..10 {
        for c in "/web003-7".chars() {
            typed.push(bench.key(Key::Char(c)) + bench.draw()?);
        }
        bench.key(Key::Esc);
    }
    let huge = nodes > 10_000;
    let case = |what: &str| format!("{what}, {nodes} nodes");
    scrolls.append(&mut frames);
    tell(&case("frame at 120x36, p50"), share(&mut scrolls, 50), "ms", None)?;
    tell(&case("frame at 120x36, p99"), share(&mut scrolls, 99), "ms", Some(2.0))?;
    let gate = if huge { 40.0 } else { 5.0 };
    tell(&case("snapshot folded, all changed, p99"), share(&mut folds, 99), "ms", Some(gate))?;
    let gate = if huge { 60.0 } else { 16.0 };
    tell(&case("filter keystroke to frame, p99"), share(&mut typed, 99), "ms", Some(gate))?;
    if !huge {
        tell("bytes of a whole frame", figure(full), "B", Some(8_192.0))?;
        tell("bytes of a frame after a pass, all rows moved", share(&mut bytes, 50), "B", None)?;
        tell("bytes of a frame in which nothing changed", figure(still), "B", Some(64.0))?;
    }
    Ok(())
}

/// What goes to each watcher when one node of many moves.
pub(crate) fn one_changed_node() -> io::Result<()> {
    let before = steady(10_000)?;
    let after = moved(&before, 5_000, 10_000);
    let Difference::Changed(delta) = diff(before, &after) else {
        return Err(io::Error::other("nothing changed"));
    };
    let line = WatchLine::Delta { cursor: "1f-18c2a.12345".to_owned(), delta };
    let text = serde_json::to_string(&line).map_err(io::Error::other)?;
    tell("bytes of a delta, one node of 10000 moved", figure(text.len()), "B", Some(1_024.0))
}
