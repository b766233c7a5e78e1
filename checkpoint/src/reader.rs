//! Looks at a journal without owning it: beside a live driver, or when none lives. Writes nothing.

use std::path::Path;

use reconciler_core::{
    id::{OperationId, PlanHash},
    redact::Redacted,
};
use rusqlite::{Connection, Params, Row};

use crate::{
    event::{EventRow, PassRow},
    lease::{self, LeaseRow},
    operation::{OpenOperation, OperationRow},
    operation_scan,
    owner::{OwnerRecord, RunLock},
    ownership::{self, Owned},
    paths::StatePaths,
    scan::{self, Recovered},
    schema,
    step::StepRow,
    store::{Beside, OpenError, open_reading},
    unreadable::Unreadable,
};

/// A journal, open for reading.
#[derive(Debug)]
pub struct Reader {
    conn: Connection,
    paths: StatePaths,
    beside: Beside,
}

impl Reader {
    /// Opens the journal in `dir`.
    ///
    /// # Errors
    /// Says so if there is none, if its schema is not the present one, if it is damaged, a link or somebody
    /// else's, and if it cannot be read.
    pub fn open(dir: &Path) -> Result<Self, OpenError> {
        let paths = StatePaths::new(dir);
        let beside = Beside::note(&paths.journal());
        let opened = open_reading(&paths).and_then(|conn| {
            schema::check(&conn).map_err(|error| OpenError::schema(&paths.journal(), error))?;
            Ok(conn)
        });
        let conn = opened.map_err(|error| beside.after_look(&paths, error))?;
        Ok(Self { conn, paths, beside })
    }

    fn named(&self, error: rusqlite::Error) -> OpenError {
        self.beside.after_look(&self.paths, OpenError::sql(&self.paths.journal(), error))
    }

    /// Everything that a driver would start from, of one moment.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read; single bad rows are reported inside.
    pub fn recovered(&mut self) -> Result<Recovered, OpenError> {
        let mut read = || scan::scan(&*self.conn.transaction()?);
        read().map_err(|error| self.named(error))
    }

    /// Events in the order of their numbers: those after `after`, or the newest if that is not given; at most
    /// `limit`. A repeat raises the count of a row that keeps its number.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read.
    pub fn events(&self, after: Option<u64>, limit: u32) -> Result<Vec<EventRow>, OpenError> {
        let columns = EventRow::COLUMNS;
        let Some(after) = after else {
            let sql = format!("SELECT {columns} FROM event ORDER BY seq DESC LIMIT ?1");
            let mut newest = self.rows(&sql, [limit], EventRow::read)?;
            newest.reverse();
            return Ok(newest);
        };
        let sql = format!("SELECT {columns} FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2");
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        self.rows(&sql, (after, limit), EventRow::read)
    }

    /// The newest passes, the newest first.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read.
    pub fn passes(&self, limit: u32) -> Result<Vec<PassRow>, OpenError> {
        let columns = PassRow::COLUMNS;
        let sql = format!("SELECT {columns} FROM pass ORDER BY number DESC LIMIT ?1");
        self.rows(&sql, [limit], PassRow::read)
    }

    /// The newest operations, open and closed, the newest first.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read.
    pub fn operations(&self, limit: u32) -> Result<Vec<OperationRow>, OpenError> {
        let columns = OperationRow::COLUMNS;
        let sql = format!("SELECT {columns} FROM operation ORDER BY id DESC LIMIT ?1");
        self.rows(&sql, [limit], OperationRow::read)
    }

    /// One operation, open or closed, with those of its steps that can be read; nothing if it cannot be read itself, or
    /// if history does not reach it. [`unreadable`](Self::unreadable) has the rest.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read.
    pub fn operation(&self, id: OperationId) -> Result<Option<OpenOperation>, OpenError> {
        let mut bad = Vec::new();
        let mut read = || -> rusqlite::Result<Option<OpenOperation>> {
            let Some(row) = operation_scan::operation(&self.conn, id, &mut bad)? else {
                return Ok(None);
            };
            Ok(Some(OpenOperation {
                row,
                steps: operation_scan::steps_of(&self.conn, id, &mut bad)?,
            }))
        };
        read().map_err(|error| self.named(error))
    }

    /// What of one operation and its steps cannot be read.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read.
    pub fn unreadable(&self, id: OperationId) -> Result<Vec<Unreadable>, OpenError> {
        let mut bad = Vec::new();
        let mut read = || -> rusqlite::Result<()> {
            operation_scan::operation(&self.conn, id, &mut bad)?;
            operation_scan::steps_of(&self.conn, id, &mut bad).map(drop)
        };
        read().map_err(|error| self.named(error))?;
        Ok(bad)
    }

    /// The columns of one operation as they stand, also of one that cannot be read: names and texts, cleaned.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read.
    pub fn operation_as_it_stands(
        &self,
        id: OperationId,
    ) -> Result<Vec<(&'static str, Redacted)>, OpenError> {
        let read = || operation_scan::operation_as_it_stands(&self.conn, id);
        read().map_err(|error| self.named(error))
    }

    /// The newest steps of all operations, the newest first.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read.
    pub fn steps(&self, limit: u32) -> Result<Vec<StepRow>, OpenError> {
        let columns = StepRow::COLUMNS;
        let sql = format!("SELECT {columns} FROM step ORDER BY id DESC LIMIT ?1");
        self.rows(&sql, [limit], StepRow::read)
    }

    /// The leases on open operations.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read.
    pub fn leases(&self) -> Result<Vec<LeaseRow>, OpenError> {
        lease::open(&self.conn).map_err(|error| self.named(error))
    }

    /// What attempts own.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read; single bad rows are reported inside.
    pub fn ownership(&self) -> Result<Owned, OpenError> {
        ownership::all(&self.conn).map_err(|error| self.named(error))
    }

    /// True if a plan with this hash was confirmed.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read.
    pub fn is_used(&self, hash: &PlanHash) -> Result<bool, OpenError> {
        scan::is_used(&self.conn, &hash.to_string()).map_err(|error| self.named(error))
    }

    /// True if a plan was confirmed, opened operations that history still has, and each of them succeeded.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read.
    pub fn has_succeeded(&self, plan: &PlanHash) -> Result<bool, OpenError> {
        let sql = "SELECT count(*), total(status = 'succeeded') = count(*) FROM operation \
                   WHERE plan = ?1";
        let read = || {
            self.conn.query_row(sql, [plan.to_string()], |row| {
                Ok(row.get::<_, i64>(0)? > 0 && row.get::<_, bool>(1)?)
            })
        };
        read().map_err(|error| self.named(error))
    }

    /// Who owns the run, or did last.
    ///
    /// # Errors
    /// Fails if the file is damaged or cannot be read.
    pub fn owner(&self) -> Result<Option<OwnerRecord>, OpenError> {
        OwnerRecord::find(&self.conn).map_err(|error| self.named(error))
    }

    /// True if a driver lives.
    ///
    /// # Errors
    /// Fails if the lock cannot be asked.
    pub fn is_locked(&self) -> Result<bool, OpenError> {
        is_locked(self.paths.dir())
    }

    fn rows<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, OpenError> {
        let all = || -> rusqlite::Result<Vec<T>> {
            self.conn.prepare_cached(sql)?.query_map(values, read)?.collect()
        };
        all().map_err(|error| self.named(error))
    }
}

/// True if a driver lives in the state directory `dir`, whether or not it has a journal yet.
///
/// # Errors
/// Fails if the lock cannot be asked.
pub fn is_locked(dir: &Path) -> Result<bool, OpenError> {
    let path = StatePaths::new(dir).lock();
    RunLock::is_held(&path).map_err(|error| OpenError::Io { path, source: Box::new(error) })
}
