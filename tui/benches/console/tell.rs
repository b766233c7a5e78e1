//! One figure, as a row of a table and as a line of JSON.

use std::{
    io::{self, Write as _},
    time::Duration,
};

/// Tells a figure, and whether it is within its gate.
pub(crate) fn tell(case: &str, value: f64, unit: &str, must: Option<f64>) -> io::Result<()> {
    let (gate, mark) = match must {
        Some(must) if value > must => (format!("<= {must}"), "MISSED"),
        Some(must) => (format!("<= {must}"), "ok"),
        None => (String::new(), ""),
    };
    let figure = format!("{value:.3} {unit}");
    writeln!(io::stderr().lock(), "{case:<60}{figure:>16}{gate:>10}  {mark}")?;
    let must = must.map_or("null".to_owned(), |must| must.to_string());
    writeln!(
        io::stdout().lock(),
        "{{\"case\":\"{case}\",\"unit\":\"{unit}\",\"value\":{value:.3},\"must\":{must}}}"
    )
}

/// The figure below which this share (in hundredths) of all lies.
pub(crate) fn share(all: &mut [f64], hundredths: usize) -> f64 {
    all.sort_by(f64::total_cmp);
    let at = (all.len() * hundredths / 100).min(all.len().saturating_sub(1));
    all.get(at).copied().unwrap_or_default()
}

/// Milliseconds.
pub(crate) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A number of bytes or the like as a figure.
#[expect(clippy::cast_precision_loss, reason = "a figure of a report")]
pub(crate) fn figure(n: usize) -> f64 {
    n as f64
}
