//! The console as a program: its first frame, keys while a fleet moves, and what it costs while nothing happens.

use std::{
    io,
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    fleet::steady,
    pty::{Pty, processor, resident, wakings},
    served::Served,
    tell::{figure, ms, share, tell},
};

const WIDTH: u16 = 120;
const HEIGHT: u16 = 36;
const KEYS: usize = 200;
const SPAN: Duration = Duration::from_secs(5);

/// The row that is selected, as the screen shows it.
fn selected(screen: &str) -> Option<&str> {
    screen.lines().find(|line| line.contains("||> ") || line.contains("||>v"))
}

/// Measures a console that is attached to `nodes` made-up nodes.
pub(crate) fn measure(nodes: usize) -> io::Result<()> {
    let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let served = Served::begin(home.path(), steady(nodes)?)?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_levelhead"));
    command.args(["console", "--ascii", "--attach"]).arg(&served.socket);
    command.current_dir(home.path()).env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR");
    let begun = Instant::now();
    let mut pty = Pty::start(command, WIDTH, HEIGHT)?;
    let first = pty.until(|screen| screen.contains("levelhead"))?;
    tell("start to the first frame, attached", ms(first - begun), "ms", Some(100.0))?;
    pty.until(|screen| screen.contains("CONVERGED"))?;
    let case = |what: &str| format!("{what}, {nodes} nodes");
    tell(&case("resident memory"), resident(pty.pid())?, "MiB", Some(64.0))?;
    idle(&mut pty)?;
    served.moves(100);
    pty.within(Duration::from_secs(1));
    let mut waits = keys(&mut pty)?;
    tell(&case("key to bytes at 10 passes/s, p50"), share(&mut waits, 50), "ms", Some(5.0))?;
    tell(&case("key to bytes at 10 passes/s, p99"), share(&mut waits, 99), "ms", Some(33.0))?;
    let spent = processor(pty.pid())?;
    let (bytes, writes) = pty.within(SPAN);
    let used = (processor(pty.pid())? - spent) / SPAN.as_secs_f64() * 100.0;
    tell(&case("SU1 of a core, 10 passes/s of 1 % of the rows"), used, "%", Some(5.0))?;
    tell("bytes a second at that", figure(bytes) / SPAN.as_secs_f64(), "B", None)?;
    tell("frames a second at that", figure(writes) / SPAN.as_secs_f64(), "", Some(60.0))?;
    pty.leave()
}

/// SU2: nothing happens, and so nothing is done. Ages change once a minute; the list is scrolled to where none is due.
fn idle(pty: &mut Pty) -> io::Result<()> {
    pty.press("5")?;
    pty.within(Duration::from_secs(2));
    let (spent, woken) = (processor(pty.pid())?, wakings(pty.pid())?);
    let (bytes, _) = pty.within(SPAN);
    let used = (processor(pty.pid())? - spent) / SPAN.as_secs_f64() * 100.0;
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let woken = (wakings(pty.pid())? - woken) as f64;
    tell("SU2 processor time while idle, of a core", used, "%", Some(0.1))?;
    tell("SU2 wake-ups in 5 s while idle", woken, "", Some(3.0))?;
    tell("SU2 bytes in 5 s while idle", figure(bytes), "B", Some(0.0))?;
    pty.press("2")
}

/// From a key to the bytes that show what it did.
fn keys(pty: &mut Pty) -> io::Result<Vec<f64>> {
    let mut waits = Vec::with_capacity(KEYS);
    for n in 0..KEYS {
        let before = selected(&pty.screen()).map(name).unwrap_or_default();
        let begun = Instant::now();
        pty.press(if n % 20 < 10 { "j" } else { "k" })?;
        let moved =
            pty.until(|screen| selected(screen).map(name).is_some_and(|it| it != before))?;
        waits.push(ms(moved - begun));
        pty.within(Duration::from_millis(7));
    }
    Ok(waits)
}

fn name(row: &str) -> String {
    let fleet = row.split("||>").nth(1).unwrap_or_default();
    fleet.split_whitespace().take(2).collect()
}
