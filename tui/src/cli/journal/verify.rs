//! `levelhead journal verify`: how whole a journal or a backup is, and what is wrong with it.

use std::path::Path;

use checkpoint::care::{
    finding::Integrity,
    verify::{self, Report},
};

use super::{
    super::{
        exit::{Exit, Failure, Outcome},
        out,
    },
    place::{Place, of_file, unsound, ways_on},
};

/// Checks the journal.
pub(super) fn journal(place: &Place) -> Outcome {
    let report = verify::journal(place.paths.dir()).map_err(of_file)?;
    show(&report, place.global.json)?;
    match report.integrity {
        Integrity::Healthy => Ok(Exit::Done),
        Integrity::Degraded => {
            out::note("a driver goes on with it: what is bad is held, or was history");
            Ok(Exit::NotConverged)
        }
        Integrity::Unrecoverable => {
            let details = ways_on(&place.paths.journal());
            Err(Failure { details, ..unsound(&report) })
        }
    }
}

/// Checks a backup.
pub(super) fn backup(file: &Path, json: bool) -> Outcome {
    let report = verify::backup(file).map_err(of_file)?;
    show(&report, json)?;
    match report.integrity {
        Integrity::Healthy => Ok(Exit::Done),
        Integrity::Degraded => Ok(Exit::NotConverged),
        Integrity::Unrecoverable => Err(unsound(&report)),
    }
}

fn show(report: &Report, json: bool) -> Result<(), Failure> {
    if json {
        return out::json(report);
    }
    out::line(format!("{} is {}", report.file.display(), report.integrity.as_str()));
    if let Some(manifest) = &report.manifest {
        let rows: Vec<String> =
            manifest.rows.iter().map(|(table, n)| format!("{table} {n}")).collect();
        out::line(format!(
            "run {} ({})  schema {}  fence {}  generation {}",
            manifest.name, manifest.run, manifest.schema, manifest.fence, manifest.generation
        ));
        out::line(format!("rows: {}", rows.join(", ")));
        out::line(format!("sha256 {}", manifest.sha256));
    }
    for found in &report.findings {
        let word = found.integrity.as_str();
        out::line(format!("{word:<14} {:<10} {:<12} {}", found.place, found.key, found.what));
    }
    Ok(())
}
