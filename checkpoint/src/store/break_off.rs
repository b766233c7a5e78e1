//! Breaking operations off where they stand, also those that nobody can read: closed, they are history, and what of
//! them could not be read is brought to a form that says no more than is known.
//!
//! What a row is by (its number, group, plan and fence; a step's slot, attempt and key) is never made up: where that
//! cannot be read, the row stays as it is until compaction drops it.

use reconciler_core::{
    checkpoint::{Direction, OperationCheckpoint, StepCheckpoint, StepMark},
    effect::CommandKind,
    id::{GroupId, LogicalNodeId, OperationId},
    time::Timestamp,
};
use rusqlite::{OptionalExtension, Row, params};

use super::apply::{Applied, Apply, Fault};
use crate::{
    codec::{direction, num, number, parsed_if_any, time},
    operation::{OperationRow, OperationStatus, Outcome, compensation},
    step::StepRow,
};

impl Apply<'_> {
    /// Breaks off whatever is open of a group.
    pub(super) fn abandon(&mut self, group: &GroupId, at: Timestamp) -> Applied {
        let sql = "SELECT id FROM operation \
                   WHERE node_group = ?1 AND (status = 'active' OR closed_at IS NULL)";
        let open: Vec<u64> = self
            .prepare(sql)?
            .query_map([group.as_str()], |row| number(row, "id"))?
            .collect::<Result<_, _>>()?;
        open.into_iter().try_for_each(|id| self.break_off(OperationId::new(id), at))
    }

    /// Breaks one operation off; nothing is done to one that is closed.
    pub(super) fn break_off(&mut self, id: OperationId, at: Timestamp) -> Applied {
        let sql = "UPDATE operation SET status = ?2, updated_at = ?3, closed_at = ?3 \
                   WHERE id = ?1 AND (status = 'active' OR closed_at IS NULL)";
        let status = OperationStatus::Closed(Outcome::Interrupted).as_str();
        if self.run(sql, params![num(id.get()), status, time(at)])? == 0 {
            return Ok(());
        }
        self.broken.push(id);
        self.run("DELETE FROM operation_lease WHERE operation = ?1", [num(id.get())])?;
        self.mend_steps(id)?;
        self.mend_operation(id)
    }

    fn mend_steps(&mut self, id: OperationId) -> Applied {
        let sql = format!("SELECT {} FROM step WHERE operation = ?1", StepRow::COLUMNS);
        let mended = |row: &Row<'_>| -> rusqlite::Result<Option<MendedStep>> {
            let read = StepRow::read(row);
            let whole = read.as_ref().is_ok_and(|step| step.checkpoint.is_ok());
            if whole { Ok(None) } else { MendedStep::of(row).map(Some) }
        };
        let found: Vec<Option<MendedStep>> =
            self.prepare(&sql)?.query_map([num(id.get())], mended)?.collect::<Result<_, _>>()?;
        for step in found.into_iter().flatten() {
            let sql = "UPDATE step SET checkpoint = coalesce(?2, checkpoint), direction = ?3, \
                       inverse = ?4, result = coalesce(?5, result), \
                       rank = CASE WHEN rank IS NULL THEN NULL ELSE ?6 END WHERE id = ?1";
            let MendedStep { id, checkpoint, direction, inverse, result } = step;
            let rank = checkpoint.as_ref().map(|stands| stands.class().rank());
            let checkpoint = checkpoint.map(|stands| stands.to_string());
            let inverse = inverse.map(CommandKind::as_str);
            self.run(sql, params![id, checkpoint, direction.as_str(), inverse, result, rank])?;
        }
        Ok(())
    }

    fn mend_operation(&mut self, id: OperationId) -> Applied {
        let sql = format!("SELECT {} FROM operation WHERE id = ?1", OperationRow::COLUMNS);
        let read = |row: &Row<'_>| {
            let read = OperationRow::read(row);
            let whole = read.as_ref().is_ok_and(|operation| operation.checkpoint.is_ok());
            let back = compensation(row).is_ok();
            let turned = parsed_if_any::<reconciler_core::id::PlanHash>(row, "rollback_plan");
            let stands: Result<OperationCheckpoint, _> =
                row.get_ref("checkpoint")?.as_str().unwrap_or_default().parse();
            Ok((whole, direction(row).unwrap_or_default(), back, turned.is_ok(), stands.is_ok()))
        };
        let (whole, direction, back, turned, stands) =
            self.prepare(&sql)?.query_row([num(id.get())], read)?;
        if whole {
            return Ok(());
        }
        let top = self.derived(id)?.filter(|_| !stands);
        let stands = (!stands)
            .then(|| top.unwrap_or_else(|| OperationCheckpoint::IntentPersisted.to_string()));
        let sql = "UPDATE operation SET direction = ?2, checkpoint = coalesce(?3, checkpoint), \
                   compensation = CASE WHEN ?4 THEN compensation END, \
                   sum = CASE WHEN ?4 THEN sum END, \
                   rollback_plan = CASE WHEN ?5 THEN rollback_plan END WHERE id = ?1";
        let values = params![num(id.get()), Direction::as_str(direction), stands, back, turned];
        self.run(sql, values).map(drop)
    }

    /// What the steps of an operation come to, of those that can be read.
    fn derived(&self, id: OperationId) -> Result<Option<String>, Fault> {
        let sql = "SELECT checkpoint FROM step WHERE operation = ?1 AND rank IS NOT NULL \
                   ORDER BY rank DESC, id DESC LIMIT 1";
        let text: Option<String> =
            self.prepare(sql)?.query_row([num(id.get())], |row| row.get(0)).optional()?;
        Ok(text.filter(|text| text.parse::<StepCheckpoint>().is_ok()))
    }
}

/// What of a step that could not be read can be said all the same.
struct MendedStep {
    id: i64,
    /// Nothing where it can be read, or where its slot cannot.
    checkpoint: Option<StepCheckpoint>,
    direction: Direction,
    inverse: Option<CommandKind>,
    /// An empty text in the place of one that is none.
    result: Option<&'static str>,
}

impl MendedStep {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        let text = |column| row.get_ref(column).map(|value| value.as_str().unwrap_or_default());
        let slot: Option<LogicalNodeId> = text("slot")?.parse().ok();
        let unknown = text("checkpoint")?.parse::<StepCheckpoint>().is_err();
        // Nobody can say any more what became of it, and that is what the mark says.
        let doubt = |slot| StepCheckpoint::new(slot, StepMark::AmbiguousEffect);
        Ok(Self {
            id: row.get("id")?,
            checkpoint: slot.filter(|_| unknown).map(doubt),
            direction: Direction::from_name(text("direction")?).unwrap_or_default(),
            inverse: CommandKind::from_name(text("inverse")?),
            result: row.get_ref("result")?.as_str().is_err().then_some(""),
        })
    }
}
