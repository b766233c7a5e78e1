//! Figures, medians, and how they are printed.

use std::io::{self, Write};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// One figure, and the bar that it is held against.
struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    floor: Option<f64>,
    must: Option<f64>,
}

/// All figures of a run.
#[derive(Default)]
pub(crate) struct Report {
    figures: Vec<Figure>,
}

impl Report {
    /// A time in nanoseconds per node beside its floor; the ratio must not exceed `must`.
    pub(crate) fn against(&mut self, name: &str, value: f64, floor: f64, must: Option<f64>) {
        let (name, floor) = (name.to_owned(), Some(floor));
        self.figures.push(Figure { name, value, unit: "ns", floor, must });
    }

    /// A count, a growth factor or a ratio that must not exceed `must`.
    pub(crate) fn plain(&mut self, name: &str, value: f64, unit: &'static str, must: Option<f64>) {
        self.figures.push(Figure { name: name.to_owned(), value, unit, floor: None, must });
    }

    /// Writes a line of JSON per figure to `json`, and a table for people to `table`.
    pub(crate) fn write(&self, json: &mut dyn Write, table: &mut dyn Write) -> io::Result<()> {
        writeln!(
            table,
            "{:<44} {:>14} {:>12} {:>8} {:>8}",
            "figure", "value", "floor", "ratio", "must"
        )?;
        for figure in &self.figures {
            figure.write_row(table)?;
            figure.write_json(json)?;
        }
        Ok(())
    }
}

impl Figure {
    fn ratio(&self) -> Option<f64> {
        self.floor.map(|floor| self.value / floor)
    }

    fn write_row(&self, out: &mut dyn Write) -> io::Result<()> {
        let value = format!("{:.1} {}", self.value, self.unit);
        let floor = self.floor.map(|floor| format!("{floor:.1} ns")).unwrap_or_default();
        let ratio = self.ratio().map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        let must = self.must.map(|must| format!("<= {must:.1}")).unwrap_or_default();
        let missed = self.must.is_some_and(|must| self.ratio().unwrap_or(self.value) > must);
        let mark = if missed { "  missed" } else { "" };
        writeln!(out, "{:<44} {value:>14} {floor:>12} {ratio:>8} {must:>8}{mark}", self.name)
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let number = |n: Option<f64>| n.map_or("null".to_owned(), |n| format!("{n:.3}"));
        writeln!(
            out,
            "{{\"what\":\"{}\",\"unit\":\"{}\",\"value\":{:.3},\"floor\":{},\"ratio\":{},\"must\":{}}}",
            self.name,
            self.unit,
            self.value,
            number(self.floor),
            number(self.ratio()),
            number(self.must),
        )
    }
}

/// The median of `rounds` runs after one that does not count.
pub(crate) fn median(rounds: usize, mut run: impl FnMut() -> f64) -> f64 {
    run();
    middle((0..rounds).map(|_| run()).collect())
}

/// The middle of these.
pub(crate) fn middle(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}

/// How much of a processor `run` takes, in nanoseconds: what others do on the machine does not count.
pub(crate) fn timed<T>(run: impl FnOnce() -> T) -> f64 {
    let start = processor_time();
    let out = run();
    let taken = processor_time() - start;
    drop(std::hint::black_box(out));
    taken
}

/// What this thread has taken of a processor so far, in nanoseconds.
fn processor_time() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(now).map_or(f64::NAN, |now| now.as_secs_f64() * 1e9)
}

/// The name of a size.
pub(crate) fn size(n: u32) -> String {
    if n >= 1_000_000 { format!("{}M", n / 1_000_000) } else { format!("{}k", n / 1_000) }
}
