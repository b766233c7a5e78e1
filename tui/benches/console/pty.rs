//! A program on a pseudo-terminal: keys in, bytes out, and what stands on its screen.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    num::NonZero,
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

/// How long anything that is waited for may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program and its terminal.
pub(crate) struct Pty {
    child: Child,
    keys: File,
    bytes: Receiver<(Instant, Vec<u8>)>,
    parser: vt100::Parser,
}

impl Pty {
    /// Starts `command` on a terminal of `width` by `height`.
    pub(crate) fn start(mut command: Command, width: u16, height: u16) -> io::Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let size = Winsize { ws_row: height, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size)?;
        let name = ptsname(&master, Vec::new())?;
        let slave = File::options()
            .read(true)
            .write(true)
            .open(name.to_str().map_err(io::Error::other)?)?;
        let end = || slave.try_clone().map(Stdio::from);
        command.stdin(end()?).stdout(end()?).stderr(Stdio::null()).env("TERM", "xterm");
        let child = command.spawn()?;
        let master: OwnedFd = master;
        let mut output = File::from(master.try_clone()?);
        let (sender, bytes) = channel();
        thread::spawn(move || {
            let mut buffer = vec![0_u8; 1 << 16];
            while let Ok(n) = output.read(&mut buffer) {
                let read = buffer.get(..n).unwrap_or_default().to_vec();
                if n == 0 || sender.send((Instant::now(), read)).is_err() {
                    return;
                }
            }
        });
        let (rows, columns) = (NonZero::new(height), NonZero::new(width));
        let none = || io::Error::other("a screen of no size");
        let parser = vt100::Parser::new(rows.ok_or_else(none)?, columns.ok_or_else(none)?, 0);
        Ok(Self { child, keys: File::from(master), bytes, parser })
    }

    /// The program's process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str) -> io::Result<()> {
        self.keys.write_all(key.as_bytes())
    }

    /// What stands on the screen.
    pub(crate) fn screen(&self) -> String {
        self.parser.screen().contents()
    }

    /// Waits until the screen is as asked; says when the bytes came that made it so.
    pub(crate) fn until(&mut self, asked: impl Fn(&str) -> bool) -> io::Result<Instant> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.bytes.recv_timeout(left) {
                Ok((at, bytes)) => {
                    self.parser.process(&bytes);
                    if asked(&self.screen()) {
                        return Ok(at);
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other(format!("in vain waited on\n{}", self.screen())));
                }
            }
        }
    }

    /// The bytes and the number of writes that come within a time.
    pub(crate) fn within(&mut self, time: Duration) -> (usize, usize) {
        let deadline = Instant::now() + time;
        let (mut sum, mut writes) = (0, 0);
        while let Ok((_, bytes)) =
            self.bytes.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            self.parser.process(&bytes);
            sum += bytes.len();
            writes += 1;
        }
        (sum, writes)
    }

    /// Leaves the program, which must end by itself.
    pub(crate) fn leave(mut self) -> io::Result<()> {
        self.press("q")?;
        self.child.wait().map(drop)
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // One that ended by itself is as dead.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Seconds of processor time that a process has used.
pub(crate) fn processor(pid: u32) -> io::Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let rest = text.rsplit(')').next().unwrap_or_default();
    let times = rest.split_ascii_whitespace().skip(11).take(2);
    let ticks: f64 = times.filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    Ok(ticks / 100.0)
}

/// How often the threads of a process were woken.
pub(crate) fn wakings(pid: u32) -> io::Result<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let status = fs::read_to_string(thread?.path().join("status"))?;
        let line = status.lines().find_map(|it| it.strip_prefix("voluntary_ctxt_switches:"));
        sum += line.and_then(|n| n.trim().parse::<u64>().ok()).unwrap_or_default();
    }
    Ok(sum)
}

/// MiB of memory that a process has in use.
pub(crate) fn resident(pid: u32) -> io::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.map(|kib| kib / 1_024.0).ok_or_else(|| io::Error::other("no VmRSS in status"))
}
