//! A backup, or an empty journal, in the place of the present one, which is set aside and never deleted.
//!
//! Whatever the new journal knows, its fence is above every fence that is known to have been given out, so that a
//! driver that is still about stays fenced (C16). What it does not know, the next driver finds at the providers and
//! reports as owned without record; it destroys none of it (C4).

use std::path::{Path, PathBuf};

use reconciler_core::{
    id::{Fence, IdError, PlanHash, RunName, Uuid},
    redact::Redacted,
    time::Timestamp,
};
use rusqlite::{Connection, params, types::Type};
use serde::Serialize;

use super::{
    backup::{self, BackupError},
    finding::Integrity,
    manifest::Manifest,
    part::{Part, PartError},
    succeed, verify, vouched,
};
use crate::{
    codec::{misread, time},
    owner::{OwnerRecord, RunLock},
    paths::StatePaths,
    schema::{self, SchemaError},
    store::{Beside, OpenError, lock, make_dir, open_file, open_reading},
};

/// Why nothing took the journal's place.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceError {
    /// The journal cannot be used, or a driver has the run.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// The backup cannot be used.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// The new journal cannot be written.
    #[error(transparent)]
    File(#[from] PartError),
    /// What was confirmed is not what would be done now.
    #[error("what would be done is {now}, not {confirmed}", now = .now.short(), confirmed = .confirmed.short())]
    Stale {
        /// What was confirmed.
        confirmed: PlanHash,
        /// What it would be now.
        now: PlanHash,
    },
    /// Neither the journal, nor the lock, nor the caller says which run it is.
    #[error("it is not known which run {} keeps", .0.display())]
    UnknownRun(PathBuf),
}

/// What takes the journal's place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Source {
    /// The backup in this file.
    Backup(PathBuf),
    /// A journal that knows nothing but its fence.
    Nothing,
}

/// What is to be done, and where.
#[derive(Clone, Debug)]
pub struct Replacement<'a> {
    /// The state directory.
    pub dir: &'a Path,
    /// What takes the journal's place.
    pub source: Source,
    /// The run that it must be, if the caller knows.
    pub run: Option<Uuid>,
    /// The highest fence that the providers have seen.
    pub seen: Fence,
    /// The time.
    pub now: Timestamp,
}

/// What a replacement does, to be shown before it is confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Preview {
    /// The hash that confirms exactly this.
    pub hash: PlanHash,
    /// The run.
    pub run: Uuid,
    /// What is wrong with the present journal; nothing if there is none.
    pub present: Option<Integrity>,
    /// What the present journal holds, as far as it can be read.
    pub present_is: Option<Manifest>,
    /// What the backup holds.
    pub backup: Option<Manifest>,
    /// The fence of the new journal.
    pub fence: Fence,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Replaced {
    /// What was confirmed.
    pub preview: Preview,
    /// Where the old journal went; nothing if there was none.
    pub aside: Option<PathBuf>,
}

impl Replacement<'_> {
    /// Shows what would be done.
    ///
    /// # Errors
    /// Refuses a run that is driven, a backup that is of another run, newer, or does not verify.
    pub fn preview(&self) -> Result<Preview, ReplaceError> {
        // Where no driver ever was there is nothing to hold.
        let paths = StatePaths::new(self.dir);
        let _lock = paths.lock().exists().then(|| lock(&paths)).transpose()?;
        self.look()
    }

    /// Does what `confirmed` showed, telling of each deed before it is done.
    ///
    /// # Errors
    /// As [`preview`](Self::preview); refuses if something moved since. Nothing is changed then. A process that ends
    /// on the way leaves the journal of before, or of after.
    pub fn confirm(
        &self,
        confirmed: PlanHash,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Replaced, ReplaceError> {
        make_dir(self.dir)?;
        let lock = lock(&StatePaths::new(self.dir))?;
        let preview = self.look()?;
        if preview.hash != confirmed {
            return Err(ReplaceError::Stale { confirmed, now: preview.hash });
        }
        let paths = StatePaths::new(self.dir);
        // One that was broken off after its rename is the present journal, and goes aside like any other.
        succeed::finish(&paths)?;
        tell("begins a new journal");
        let part = Part::begin(&paths.next_journal())?;
        self.fill(&part, &preview, tell)?;
        tell("puts it in the journal's place");
        part.place(&paths.next_journal())?;
        let aside = succeed::finish_watched(&paths, tell)?;
        tell("notes the run");
        let io = |error| OpenError::io(&paths.lock(), error);
        if !lock.was_used().map_err(io)? {
            lock.mark_used(preview.run).map_err(io)?;
        }
        Ok(Replaced { preview, aside })
    }

    fn look(&self) -> Result<Preview, ReplaceError> {
        let paths = StatePaths::new(self.dir);
        let io = |error| OpenError::io(&paths.lock(), error);
        let (present, owner) = present(&paths)?;
        let marked = RunLock::run(&paths.lock()).map_err(io)?;
        let kept = owner.as_ref().map(|owner| owner.run);
        if let (Some(expected), Some(found)) = (self.run, kept)
            && expected != found
        {
            let dir = self.dir.to_owned();
            return Err(OpenError::OtherRun { dir, expected, found }.into());
        }
        let expected = kept.or(self.run).or(marked);
        let backup = match &self.source {
            Source::Backup(file) => Some(sound(file)?),
            Source::Nothing => None,
        };
        if let (Source::Backup(path), Some(manifest), Some(expected)) =
            (&self.source, &backup, expected)
            && manifest.run != expected
        {
            let (path, found) = (path.clone(), manifest.run);
            return Err(BackupError::OtherRun { path, expected, found }.into());
        }
        let run = expected.or(backup.as_ref().map(|manifest| manifest.run));
        let run = run.ok_or_else(|| ReplaceError::UnknownRun(self.dir.to_owned()))?;
        let known = [
            Some(self.seen),
            owner.as_ref().map(|owner| owner.fence),
            backup.as_ref().map(|manifest| manifest.fence),
        ];
        let fence = known.into_iter().flatten().max().unwrap_or_default().next();
        let (present, present_is) =
            present.map_or((None, None), |report| (Some(report.integrity), report.manifest));
        let mut preview =
            Preview { hash: PlanHash::of(&[]), run, present, present_is, backup, fence };
        preview.hash = self.hash(&preview);
        Ok(preview)
    }

    /// A hash of everything that is shown.
    fn hash(&self, preview: &Preview) -> PlanHash {
        let digest = |manifest: &Option<Manifest>| {
            manifest.as_ref().map_or_else(String::new, |manifest| manifest.sha256.clone())
        };
        let present = preview.present.map_or("none", Integrity::as_str);
        let parts = [
            format!("{:?}", self.source),
            preview.run.to_string(),
            present.to_owned(),
            digest(&preview.present_is),
            digest(&preview.backup),
            preview.fence.to_string(),
        ];
        PlanHash::of(parts.join("\n").as_bytes())
    }

    fn fill(
        &self,
        part: &Part,
        preview: &Preview,
        tell: &mut dyn FnMut(&str),
    ) -> Result<(), ReplaceError> {
        let sql = |error| OpenError::sql(part.path(), error);
        let mut conn = backup::open_part(part.path()).map_err(sql)?;
        if let Source::Backup(file) = &self.source {
            tell("copies the backup");
            let (source, _manifest) = vouched::open(file)?;
            backup::copy_all(&source, &mut conn).map_err(sql)?;
        }
        tell("makes it a journal");
        let tx = conn.transaction().map_err(sql)?;
        if matches!(self.source, Source::Backup(_)) {
            Manifest::take_out(&tx).map_err(sql)?;
        }
        schema::bring_up(&tx).map_err(|error| OpenError::schema(part.path(), error))?;
        self.claim(&tx, preview).map_err(sql)?;
        tx.commit().map_err(sql)?;
        conn.close().map_err(|(_conn, error)| sql(error))?;
        tell("checks it");
        let mut conn = open_file(part.path())?;
        let report = verify::check(&mut conn, part.path(), |conn| {
            schema::check(conn).map_err(|error: SchemaError| OpenError::schema(part.path(), error))
        })?;
        match report.integrity {
            Integrity::Healthy | Integrity::Degraded => Ok(()),
            Integrity::Unrecoverable => Err(BackupError::Unsound(Box::new(report)).into()),
        }
    }

    /// Raises the fence above all that are known, and says in the history what happened.
    fn claim(&self, conn: &Connection, preview: &Preview) -> rusqlite::Result<()> {
        let before = OwnerRecord::find(conn)?;
        let owner = match before {
            Some(owner) => OwnerRecord { fence: preview.fence, ..owner },
            None => OwnerRecord {
                run: preview.run,
                name: name(preview)?,
                pid: 0,
                started: self.now,
                host: String::new(),
                fence: preview.fence,
            },
        };
        owner.write(conn)?;
        // Whoever had an operation is fenced now; nobody need wait for the end of its lease.
        conn.execute("UPDATE operation_lease SET until = 0", [])?;
        let (kind, text) = match (&self.source, &preview.backup) {
            (Source::Backup(file), Some(manifest)) => (
                "restored",
                format!(
                    "the journal is a backup of generation {} and fence {} from {}; what happened since is not known",
                    manifest.generation,
                    manifest.fence,
                    file.display()
                ),
            ),
            (Source::Backup(_) | Source::Nothing, _) => (
                "set-aside",
                "the journal was set aside and begins anew; what the providers hold has no record"
                    .to_owned(),
            ),
        };
        conn.execute(
            "INSERT INTO event (first_at, at, pass, subject, kind, text, count) \
             VALUES (?1, ?1, (SELECT coalesce(max(number), 0) FROM pass), 'run', ?2, ?3, 1)",
            params![time(self.now), kind, Redacted::new(&text).as_str()],
        )
        .map(drop)
    }
}

/// The run's name, as far as it can be read: the next driver writes its own.
fn name(preview: &Preview) -> rusqlite::Result<RunName> {
    match &preview.present_is {
        Some(present) => Ok(present.name.clone()),
        None => "unknown".parse().map_err(|error: IdError| misread(Type::Text, error)),
    }
}

/// The present journal's report, and its owner as far as that can be read.
fn present(paths: &StatePaths) -> Result<(Option<verify::Report>, Option<OwnerRecord>), OpenError> {
    let report = match verify::held(paths) {
        Ok(report) => report,
        Err(OpenError::Missing { .. }) => return Ok((None, None)),
        Err(error) => return Err(error),
    };
    // A journal that is bad elsewhere may still say who owned it.
    let file = paths.present_journal().unwrap_or_else(|| paths.journal());
    let beside = Beside::note(&file);
    let owner = open_reading(paths).ok().and_then(|conn| OwnerRecord::find(&conn).ok()).flatten();
    if report.integrity == Integrity::Unrecoverable {
        beside.forget();
    }
    Ok((Some(report), owner))
}

/// The manifest of a backup that a driver would take.
fn sound(file: &Path) -> Result<Manifest, BackupError> {
    let report = verify::backup(file)?;
    match (report.integrity, &report.manifest) {
        (Integrity::Healthy | Integrity::Degraded, Some(_)) => Ok(vouched::open(file)?.1),
        _unsound => Err(BackupError::Unsound(Box::new(report))),
    }
}
