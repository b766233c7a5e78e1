//! Figures with their floors and bars, as a table and as lines of JSON.

use std::io::{self, Write};

/// One figure and what it is held against.
pub(crate) struct Figure {
    /// The case.
    pub(crate) case: String,
    /// What was measured.
    pub(crate) value: f64,
    /// Its unit.
    pub(crate) unit: &'static str,
    /// The floor in the same unit.
    pub(crate) floor: Option<f64>,
    /// What the ratio to the floor, or the figure itself, must not exceed.
    pub(crate) must: Option<f64>,
}

/// All figures of a run.
#[derive(Default)]
pub(crate) struct Report {
    figures: Vec<Figure>,
    notes: Vec<String>,
}

impl Report {
    /// Takes a figure, and shows at once that there is one.
    pub(crate) fn take(&mut self, figure: Figure) {
        self.figures.push(figure);
    }

    /// A time beside its floor; the ratio must not exceed `must`.
    pub(crate) fn against(
        &mut self,
        case: &str,
        value: f64,
        floor: f64,
        must: impl Into<Option<f64>>,
    ) {
        let must = must.into();
        let case = case.to_owned();
        self.take(Figure { case, value, unit: "ms", floor: Some(floor), must });
    }

    /// A figure that is its own measure.
    pub(crate) fn plain(
        &mut self,
        case: &str,
        value: f64,
        unit: &'static str,
        must: impl Into<Option<f64>>,
    ) {
        let case = case.to_owned();
        self.take(Figure { case, value, unit, floor: None, must: must.into() });
    }

    /// Takes a line that stands below the table.
    pub(crate) fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// Writes the lines of JSON and the table.
    pub(crate) fn write(&self, json: &mut dyn Write, table: &mut dyn Write) -> io::Result<()> {
        let head = ["case", "figure", "floor", "ratio", "gate"];
        let [case, figure, floor, ratio, gate] = head;
        writeln!(table, "{case:<52}{figure:>14}{floor:>12}{ratio:>8}{gate:>10}")?;
        for figure in &self.figures {
            figure.write_row(table)?;
            figure.write_json(json)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(table, "{note}"))
    }
}

impl Figure {
    fn ratio(&self) -> Option<f64> {
        self.floor.map(|floor| self.value / floor)
    }

    fn write_row(&self, out: &mut dyn Write) -> io::Result<()> {
        let value = format!("{:.2} {}", self.value, self.unit);
        let floor = self.floor.map(|floor| format!("{floor:.2}")).unwrap_or_default();
        let ratio = self.ratio().map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        let must = self.must.map(|must| format!("<= {must}")).unwrap_or_default();
        let mark = match self.must {
            Some(must) if self.ratio().unwrap_or(self.value) > must => "  MISSED",
            Some(_) => "  ok",
            None => "",
        };
        writeln!(out, "{:<52}{value:>14}{floor:>12}{ratio:>8}{must:>10}{mark}", self.case)
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let number = |n: Option<f64>| n.map_or("null".to_owned(), |n| format!("{n:.3}"));
        writeln!(
            out,
            "{{\"case\":\"{}\",\"unit\":\"{}\",\"value\":{:.3},\"floor\":{},\"ratio\":{},\"must\":{}}}",
            self.case,
            self.unit,
            self.value,
            number(self.floor),
            number(self.ratio()),
            number(self.must),
        )
    }
}

/// The middle of these.
pub(crate) fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or_default()
}
