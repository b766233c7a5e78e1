//! `levelhead journal inspect` and `export`: rows as tables for people, and as JSON.

use std::path::Path;

use checkpoint::care::inspect::{self, Kind, Which};
use reconciler_core::{
    id::{IdError, LogicalNodeId},
    time::Timestamp,
};
use serde_json::Value;

use super::{
    super::{
        exit::{Exit, Failure, Outcome},
        out, style,
    },
    place::{Place, of_file},
};

/// Writes every row as a line of JSON.
pub(super) fn export(place: &Place, target: Option<&Path>) -> Outcome {
    let dir = place.paths.dir();
    if let Some(target) = target {
        let rows = inspect::export_to(dir, target)?;
        out::note(format!("wrote {rows} rows to {}", target.display()));
        return Ok(Exit::Done);
    }
    let print = |row: Value| {
        out::line(row.to_string());
        !out::nobody_reads()
    };
    inspect::export(dir, print).map_err(of_file)?;
    Ok(Exit::Done)
}

/// Shows rows.
pub(super) fn run(place: &Place, what: &str, limit: u32) -> Outcome {
    let rows = inspect::rows(place.paths.dir(), &which(what, limit)?).map_err(of_file)?;
    let mut table = "";
    for row in &rows {
        if place.global.json {
            out::json(row)?;
            continue;
        }
        let columns = columns(row["table"].as_str().unwrap_or_default());
        if table != columns.table {
            out::line(columns.head());
            table = columns.table;
        }
        out::line(columns.line(row));
    }
    if rows.is_empty() {
        out::note("there are no such rows");
    }
    Ok(Exit::Done)
}

/// The rows that `what` names: a kind, or a slot.
fn which(what: &str, limit: u32) -> Result<Which, Failure> {
    let kind = match what {
        "operations" => Kind::Operations,
        "steps" => Kind::Steps,
        "events" => Kind::Events,
        "passes" => Kind::Passes,
        "records" => Kind::Records,
        slot => {
            let slot: Result<LogicalNodeId, IdError> = slot.parse();
            let slot = slot.map_err(|error| {
                let message = format!("`{what}` is no kind of row, and no slot: {error}");
                Failure::new(Exit::Invalid, message)
                    .hint("say operations, steps, events, passes, records, or a slot such as web-0")
            })?;
            return Ok(Which::Slot(slot.to_string(), limit));
        }
    };
    Ok(Which::Newest(kind, limit))
}

/// How one kind of row is shown.
struct Columns {
    table: &'static str,
    columns: &'static [Column],
}

/// A column: its head, where its value stands in the row, its width, and how it looks.
type Column = (&'static str, &'static str, usize, Look);

#[derive(Clone, Copy)]
enum Look {
    Plain,
    Time,
    /// The first digits of a hash.
    Short,
}

use Look::{Plain, Short, Time};

const TABLES: [Columns; 5] = [
    Columns {
        table: "operation",
        columns: &[
            ("OPERATION", "/id", 9, Plain),
            ("GROUP", "/node_group", 12, Plain),
            ("STATUS", "/status", 11, Plain),
            ("CHECKPOINT", "/checkpoint", 24, Plain),
            ("FENCE", "/fence", 5, Plain),
            ("PLAN", "/plan", 12, Short),
            ("OPENED", "/opened_at", 24, Time),
            ("CLOSED", "/closed_at", 24, Time),
        ],
    },
    Columns {
        table: "step",
        columns: &[
            ("STEP", "/id", 6, Plain),
            ("OPERATION", "/operation", 9, Plain),
            ("SLOT", "/slot", 12, Plain),
            ("TRY", "/ordinal", 4, Plain),
            ("COMMAND", "/kind", 28, Plain),
            ("CHECKPOINT", "/checkpoint", 28, Plain),
            ("FAILURE", "/failure", 20, Plain),
            ("FENCE", "/fence", 5, Plain),
            ("BEGAN", "/started_at", 24, Time),
            ("ENDED", "/finished_at", 24, Time),
            ("RESULT", "/result", 0, Plain),
        ],
    },
    Columns {
        table: "event",
        columns: &[
            ("EVENT", "/seq", 6, Plain),
            ("LAST", "/at", 24, Time),
            ("PASS", "/pass", 6, Plain),
            ("SUBJECT", "/subject", 16, Plain),
            ("KIND", "/kind", 10, Plain),
            ("TIMES", "/count", 5, Plain),
            ("TEXT", "/text", 0, Plain),
        ],
    },
    Columns {
        table: "pass",
        columns: &[
            ("PASS", "/number", 6, Plain),
            ("AT", "/at", 24, Time),
            ("CAUSE", "/cause", 12, Plain),
            ("FACTS", "/facts", 6, Plain),
            ("MOVES", "/transitions", 6, Plain),
            ("EFFECTS", "/effects", 7, Plain),
            ("FAILURES", "/failures", 8, Plain),
            ("MICROS", "/micros", 8, Plain),
        ],
    },
    Columns {
        table: "record",
        columns: &[
            ("SLOT", "/slot", 16, Plain),
            ("STAGE", "/record/stage/name", 18, Plain),
            ("TRY", "/record/attempt/ordinal", 4, Plain),
            ("SINCE", "/record/since", 24, Time),
            ("STEP", "/record/pending/step", 6, Plain),
            ("FAILURES", "/record/backoff/failures", 8, Plain),
            ("HOLD", "/record/hold/code", 0, Plain),
        ],
    },
];

fn columns(table: &str) -> &'static Columns {
    let [.., last] = &TABLES;
    TABLES.iter().find(|columns| columns.table == table).unwrap_or(last)
}

impl Columns {
    fn head(&self) -> String {
        self.row(|(head, _, _, _)| (*head).to_owned())
    }

    fn line(&self, row: &Value) -> String {
        self.row(|(_, pointer, _, look)| {
            let value = row.pointer(pointer).unwrap_or(&Value::Null);
            match (value, look) {
                (Value::Null, _) => "-".to_owned(),
                (Value::Number(n), Time) => n
                    .as_u64()
                    .map_or_else(String::new, |ms| style::time(Timestamp::from_millis(ms))),
                (Value::String(text), Short) => text.chars().take(12).collect(),
                (Value::String(text), Plain | Time) => text.clone(),
                (value, _) => value.to_string(),
            }
        })
    }

    fn row(&self, cell: impl Fn(&Column) -> String) -> String {
        let cells = self.columns.iter().map(|column| format!("{:<1$}", cell(column), column.2));
        cells.collect::<Vec<_>>().join(" ").trim_end().to_owned()
    }
}
