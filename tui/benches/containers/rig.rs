//! The real binary with a driver over one group of containers.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{engine::IMAGE, millis};

/// Effects and calls at once, on both sides.
pub(crate) const PARALLELISM: usize = 32;
/// How long the driver is watched while nothing happens.
const IDLE: Duration = Duration::from_secs(20);

/// One run.
pub(crate) struct Rig {
    dir: PathBuf,
    pub(crate) run: String,
    driver: Option<Child>,
}

impl Rig {
    /// Writes the file; nothing runs yet.
    pub(crate) fn new(home: &Path) -> io::Result<Self> {
        let run = uuid::Uuid::new_v4().to_string();
        let text = format!(
            "version = 1\nrun = \"bench\"\nuuid = \"{run}\"\nparallelism = {PARALLELISM}\n\
             [provider.box]\nkind = \"docker\"\nnetworks = [\"host\"]\ninit = true\n\
             [group.n]\ncount = 0\nprovider = \"box\"\n\
             [group.n.shape]\nimage = \"{IMAGE}\"\n\
             [group.n.boot]\ncommand = [\"sleep\", \"3600\"]\nsettle = \"0ms\"\nstop_grace = \"2s\"\n\
             [group.n.policy]\nstable = \"1s\"\n"
        );
        fs::write(home.join("cluster.toml"), text)?;
        Ok(Self { dir: home.to_owned(), run, driver: None })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_levelhead"));
        command.current_dir(&self.dir).arg("--state-dir").arg(self.dir.join("state")).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Starts the driver and waits until it answers.
    pub(crate) fn drive(&mut self) -> io::Result<()> {
        self.driver = Some(self.command(&["driver", "cluster.toml"]).spawn()?);
        let begun = Instant::now();
        while begun.elapsed().as_secs() < 30 {
            let mut status = self.command(&["status", "cluster.toml", "--json"]);
            let said = status.stdout(Stdio::piped()).output()?.stdout;
            if String::from_utf8_lossy(&said).contains("\"driver\":{") {
                return Ok(());
            }
        }
        Err(io::Error::other("the driver does not answer"))
    }

    /// Scales and waits until it is so; gives the milliseconds.
    pub(crate) fn scale(&self, n: usize) -> io::Result<f64> {
        let begun = Instant::now();
        let wanted = format!("n={n}");
        let done = self
            .command(&["scale", &wanted, "--file", "cluster.toml", "--yes", "--timeout", "5m"])
            .status()?;
        if done.success() {
            Ok(millis(begun))
        } else {
            Err(io::Error::other("it did not converge"))
        }
    }

    /// The driver's share of a processor in percent and its memory in MiB, while nothing happens.
    pub(crate) fn idle(&self) -> io::Result<(f64, f64)> {
        let driver = self.driver.as_ref().ok_or_else(|| io::Error::other("no driver runs"))?;
        // The nodes become stable first, which is the last thing that happens.
        thread::sleep(Duration::from_secs(3));
        let before = ticks(driver.id())?;
        thread::sleep(IDLE);
        let ticks = ticks(driver.id())? - before;
        let share = ticks / 100.0 / IDLE.as_secs_f64() * 100.0;
        let status = fs::read_to_string(format!("/proc/{}/status", driver.id()))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib =
            resident.and_then(|text| text.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
        Ok((share, kib.unwrap_or(f64::NAN) / 1_024.0))
    }
}

/// Hundredths of a second that a process has run.
fn ticks(pid: u32) -> io::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let rest = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    let fields = rest.split_whitespace().skip(11).take(2);
    Ok(fields.filter_map(|field| field.parse::<f64>().ok()).sum())
}

impl Drop for Rig {
    fn drop(&mut self) {
        let down = self.command(&["down", "cluster.toml", "--yes"]).status();
        if let Some(mut driver) = self.driver.take() {
            // It may have ended by itself; either way it is gone afterwards.
            drop(driver.kill());
            drop(driver.wait());
        }
        drop(down);
    }
}
