//! SU1: what consoles and idle clients cost a driver: pass times with none, one and eight consoles, and with eight beside
//! two hundred connections that ask for nothing.

use std::{
    collections::BTreeMap,
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use driver::{
    Link,
    api::{Client, Seen},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    runtime::Runtime,
    task::JoinHandle,
};

use crate::{rig::Rig, tell, us};

const EXITS: u32 = 200;
/// Passes are kept for so many exits; after these they are read.
const BATCH: u32 = 25;
const IDLE: usize = 200;
const PATIENCE: Duration = Duration::from_mins(1);

/// What one of the loads came to.
struct Load {
    passes: Vec<f64>,
    waits: Vec<f64>,
    gaps: u64,
}

/// A console without a screen: what it was shown last, and how much it missed.
struct Console {
    pass: Arc<AtomicU64>,
    gaps: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Drop for Console {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Tells of all loads.
pub(crate) fn consoles(runtime: &Runtime, rig: &Rig) -> io::Result<()> {
    let mut floor = None;
    for (consoles, idle) in [(0, 0), (1, 0), (8, 0), (8, IDLE)] {
        let mut load = runtime.block_on(measure(rig, consoles, idle))?;
        let (pass, wait) = (p99(&mut load.passes), p99(&mut load.waits));
        let beside = if idle > 0 { " and 200 idle clients" } else { "" };
        tell(&format!("SU1 pass p99, {consoles} consoles{beside}"), pass, "us", None)?;
        tell(&format!("SU1 exit to command p99, {consoles} consoles{beside}"), wait, "us", None)?;
        let floor = *floor.get_or_insert(pass);
        if consoles > 0 {
            let case = format!("SU1 pass p99 beside none, {consoles} consoles{beside}");
            tell(&case, pass / floor, "", Some(1.05))?;
            #[expect(clippy::cast_precision_loss, reason = "a handful")]
            let gaps = load.gaps as f64;
            tell(&format!("SU1 gaps told, {consoles} consoles{beside}"), gaps, "", Some(0.0))?;
        }
    }
    Ok(())
}

fn p99(all: &mut [f64]) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() * 99 / 100).copied().unwrap_or_default()
}

async fn measure(rig: &Rig, consoles: usize, idle: usize) -> io::Result<Load> {
    let socket = rig.socket();
    let watching: Vec<Console> = (0..consoles).map(|_| console(&socket)).collect();
    let mut resting = Vec::with_capacity(idle);
    for _ in 0..idle {
        resting.push(rest(&socket).await?);
    }
    shown(&watching, rig.passes()).await?;
    let mut took: BTreeMap<u64, u64> = BTreeMap::new();
    let begun = rig.passes();
    let mut waits = Vec::with_capacity(EXITS as usize);
    for n in 0..EXITS {
        waits.push(us(rig.exit_to_command(n * 7).await?));
        if n % BATCH == BATCH - 1 {
            took.extend(rig.took());
        }
    }
    // Whoever looks has seen all of it in the end.
    shown(&watching, rig.passes()).await?;
    drop(resting);
    let own = took.into_iter().filter(|(pass, _)| *pass > begun);
    #[expect(clippy::cast_precision_loss, reason = "a handful of microseconds")]
    let passes = own.map(|(_, micros)| micros as f64).collect();
    let gaps = watching.iter().map(|one| one.gaps.load(Ordering::Relaxed)).sum();
    Ok(Load { passes, waits, gaps })
}

fn console(socket: &Path) -> Console {
    let link = Link::Attached(Client::new(socket));
    let (pass, gaps) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (seen, missed) = (Arc::clone(&pass), Arc::clone(&gaps));
    let task = tokio::spawn(async move {
        let mut looker = link.look();
        loop {
            match looker.next().await {
                Ok(Seen::View(view)) => seen.store(view.pass.get(), Ordering::Relaxed),
                Ok(Seen::Alive) => {}
                Ok(Seen::Gap(_)) | Err(_) => drop(missed.fetch_add(1, Ordering::Relaxed)),
            }
            // As often as a screen is painted at most.
            tokio::time::sleep(Duration::from_millis(33)).await;
        }
    });
    Console { pass, gaps, task }
}

/// A client that was answered once and asks for nothing more.
async fn rest(socket: &Path) -> io::Result<UnixStream> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(b"GET /v1/health HTTP/1.1\r\nhost: x\r\n\r\n").await?;
    let mut answer = [0_u8; 1_024];
    let read = tokio::time::timeout(PATIENCE, stream.read(&mut answer)).await??;
    if read == 0 {
        return Err(io::Error::other("an idle client is not answered"));
    }
    Ok(stream)
}

/// Waits until every console was shown the pass.
async fn shown(consoles: &[Console], pass: u64) -> io::Result<()> {
    let all = async {
        while !consoles.iter().all(|one| one.pass.load(Ordering::Relaxed) >= pass) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, all).await.map_err(io::Error::other)
}
