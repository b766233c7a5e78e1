//! What nodes on this machine cost: up, restart, mass loss, memory, idleness, takeover, down (SP1 to SP10, SM3).
//!
//! The real binary is driven by its command line and its socket; every start is told by the node's own stamp, not
//! by who watches. A floor stands beside each figure, taken in the same process right before and after: plain
//! spawns of the same program, without supervision, journal or record. A line of JSON per figure goes to standard
//! output, the table to standard error. Run with `cargo bench -p tui --bench processes`.

mod cases;
mod floor;
mod proc;
mod report;
mod rig;
mod stub;

use std::io;

use report::Report;
use stub::Stub;

fn main() -> io::Result<()> {
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let stub = Stub::build(home.path())?;
    let mut report = Report::default();
    report.note(format!("stub: {}", stub.what));
    report.note(format!("load: {}", proc::load()?));
    report.note(format!("state: {}", floor::medium(home.path())?));
    report.note(format!("append 256 B + fdatasync, before: {}", floor::sync_text(home.path())?));
    cases::empty(&mut report, home.path(), &stub)?;
    cases::hundred(&mut report, home.path(), &stub)?;
    cases::thousand(&mut report, home.path(), &stub)?;
    report.note(format!("append 256 B + fdatasync, after: {}", floor::sync_text(home.path())?));
    report.note(format!("load: {}", proc::load()?));
    report.write(&mut io::stdout().lock(), &mut io::stderr().lock())
}
