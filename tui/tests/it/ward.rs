//! Ends what a run started when the test program itself is ended by a signal: then no guard is dropped, and nodes
//! outlive their driver on purpose.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, Once, PoisonError},
    thread,
};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
    low_level::emulate_default_handler,
};

use crate::census::kill_all;

/// The runs that are under way: UUID and state directory.
static RUNS: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());

fn runs() -> MutexGuard<'static, BTreeMap<String, PathBuf>> {
    RUNS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a run into care until it is released.
pub(crate) fn guard(uuid: &str, state: &Path) {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).unwrap();
        thread::spawn(move || {
            if let Some(signal) = signals.forever().next() {
                runs().iter().for_each(|(uuid, state)| end(uuid, state));
                emulate_default_handler(signal).unwrap();
            }
        });
    });
    runs().insert(uuid.to_owned(), state.to_owned());
}

/// Forgets a run that has ended.
pub(crate) fn release(uuid: &str) {
    runs().remove(uuid);
}

/// Ends the drivers of a state directory first, so that nothing is started again, and then the nodes.
fn end(uuid: &str, state: &Path) {
    for pid in drivers(state).into_iter().filter_map(Pid::from_raw) {
        // One that ended meanwhile is as gone.
        kill_process(pid, Signal::KILL).unwrap_or_default();
    }
    kill_all(uuid);
}

/// The processes that were given the state directory on their command line.
fn drivers(state: &Path) -> Vec<i32> {
    let state = state.display().to_string();
    let named = |pid: &i32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|word| word == state.as_bytes())
    };
    let all = fs::read_dir("/proc").unwrap();
    all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter(named).collect()
}
