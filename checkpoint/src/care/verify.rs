//! Is a journal whole: its pages, its schema, each of its rows, and what they say of each other. Writes nothing.

use std::path::{Path, PathBuf};

use reconciler_core::redact::Redacted;
use rusqlite::Connection;
use serde::Serialize;

use super::{
    finding::{Finding, Integrity},
    links,
    manifest::Manifest,
    rows, vouched,
};
use crate::{
    paths::StatePaths,
    schema,
    store::{Beside, OpenError, open_reading},
};

/// Faults of the pages that are told; after so many the rest is no news.
const PAGE_FAULTS: u32 = 20;

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// How whole it is: the worst of the findings.
    pub integrity: Integrity,
    /// The file that was read.
    pub file: PathBuf,
    /// What it is, as far as it can be read.
    pub manifest: Option<Manifest>,
    /// What is wrong, in the order of the checks.
    pub findings: Vec<Finding>,
}

impl Report {
    fn new(file: &Path, manifest: Option<Manifest>, findings: Vec<Finding>) -> Self {
        let worst = findings.iter().map(|finding| finding.integrity).max();
        let integrity = worst.unwrap_or(Integrity::Healthy);
        Self { integrity, file: file.to_owned(), manifest, findings }
    }
}

/// Checks the journal in `dir`, beside a live driver or without one.
///
/// # Errors
/// Says so if there is none, if its schema is not the present one, and if it cannot be read. Damage is no error here.
pub fn journal(dir: &Path) -> Result<Report, OpenError> {
    let paths = StatePaths::new(dir);
    let (report, beside) = look(&paths)?;
    if report.integrity == Integrity::Unrecoverable {
        beside.forget_undriven(&paths);
    }
    Ok(report)
}

/// As [`journal`], for who holds the run's lock.
pub(super) fn held(paths: &StatePaths) -> Result<Report, OpenError> {
    let (report, beside) = look(paths)?;
    if report.integrity == Integrity::Unrecoverable {
        beside.forget();
    }
    Ok(report)
}

fn look(paths: &StatePaths) -> Result<(Report, Beside), OpenError> {
    let file = paths.present_journal().unwrap_or_else(|| paths.journal());
    let beside = Beside::note(&file);
    let report = match open_reading(paths) {
        Ok(mut conn) => check(&mut conn, &file, |conn| {
            schema::check(conn).map_err(|error| OpenError::schema(&file, error))
        }),
        Err(error) => damaged(&file, error),
    }?;
    Ok((report, beside))
}

/// Checks the backup at `file`, its own digest included.
///
/// # Errors
/// Says so if there is none, if its schema is newer than what is known, and if it cannot be read.
pub fn backup(file: &Path) -> Result<Report, OpenError> {
    match vouched::open(file) {
        Ok((mut conn, _manifest)) => check(&mut conn, file, |_checked| Ok(())),
        Err(error) => damaged(file, error),
    }
}

/// Checks what `conn` is open on, in one transaction and so of one moment.
pub(super) fn check(
    conn: &mut Connection,
    file: &Path,
    is_ours: impl FnOnce(&Connection) -> Result<(), OpenError>,
) -> Result<Report, OpenError> {
    let sql = |error| OpenError::sql(file, error);
    let mut findings = Vec::new();
    let all = || -> Result<Option<Manifest>, OpenError> {
        let tx = conn.transaction().map_err(sql)?;
        is_ours(&tx)?;
        pages(&tx, &mut findings).map_err(sql)?;
        objects(&tx, &mut findings).map_err(|error| OpenError::schema(file, error))?;
        rows::check(&tx, &mut findings).map_err(sql)?;
        links::check(&tx, &mut findings).map_err(sql)?;
        Manifest::of(&tx, reconciler_core::time::Timestamp::default()).map_err(sql)
    };
    match all() {
        Ok(manifest) => Ok(Report::new(file, manifest, findings)),
        Err(error) => {
            let more = damaged(file, error)?;
            findings.extend(more.findings);
            Ok(Report::new(file, None, findings))
        }
    }
}

/// Damage as a report; any other error stays one.
fn damaged(file: &Path, error: OpenError) -> Result<Report, OpenError> {
    let OpenError::Damaged { what, .. } = error else { return Err(error) };
    let finding = Finding {
        integrity: Integrity::Unrecoverable,
        place: "pages",
        key: String::new(),
        what: Redacted::new(&what),
    };
    Ok(Report::new(file, None, vec![finding]))
}

fn pages(conn: &Connection, findings: &mut Vec<Finding>) -> rusqlite::Result<()> {
    let mut statement = conn.prepare(&format!("PRAGMA integrity_check({PAGE_FAULTS})"))?;
    let mut said = statement.query([])?;
    while let Some(row) = said.next()? {
        let what: String = row.get(0)?;
        if what != "ok" {
            findings.push(Finding {
                integrity: Integrity::Unrecoverable,
                place: "pages",
                key: String::new(),
                what: Redacted::new(&what),
            });
        }
    }
    Ok(())
}

/// Compares every table and index with what the migrations make; a backup has one table more.
fn objects(conn: &Connection, findings: &mut Vec<Finding>) -> Result<(), schema::SchemaError> {
    let expected = schema::objects_expected()?;
    let found = schema::objects(conn)?;
    let is_known =
        |name: &str| name == "manifest" || expected.iter().any(|(known, _)| known == name);
    let missing = expected
        .iter()
        .filter(|object| !found.contains(object))
        .map(|(name, _)| (name, "it is missing, or not as the migrations make it"));
    let strange = found.iter().filter(|(name, _)| !is_known(name));
    let strange = strange.map(|(name, _)| (name, "no migration makes it"));
    findings.extend(missing.chain(strange).map(|(name, what)| Finding {
        integrity: Integrity::Unrecoverable,
        place: "schema",
        key: name.clone(),
        what: Redacted::new(what),
    }));
    Ok(())
}
