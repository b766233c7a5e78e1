//! What the driver says of a slot in full, as names and values: the command line and the console tell the same.

use driver::view::{ExplainView, FactValue};
use reconciler_core::time::Timestamp;

/// The rung that held and every fact that it read; `time` tells a point in time.
pub(crate) fn facts(view: &ExplainView, time: impl Fn(Timestamp) -> String) -> Vec<(&str, String)> {
    let value = |value: &FactValue| match value {
        FactValue::Text(text) => text.clone(),
        FactValue::Count(count) => count.to_string(),
        FactValue::At(at) => time(*at),
    };
    let rung = std::iter::once(("rung", view.rung.clone()));
    rung.chain(view.facts.iter().map(|fact| (fact.name.as_str(), value(&fact.value)))).collect()
}

/// What stands in the way, with the way out, and what is not as it should be.
pub(crate) fn obstacles(view: &ExplainView) -> Vec<(&str, String)> {
    let blockers = view.blockers.iter().map(|blocker| match &blocker.way_out {
        Some(command) => ("waits for", format!("{}; {command}", blocker.what)),
        None => ("waits for", blocker.what.clone()),
    });
    blockers.chain(view.drift.iter().map(|drift| ("drift", drift.line()))).collect()
}
