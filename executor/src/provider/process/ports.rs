//! Which ports of this machine belong to which lease.
//!
//! A port is picked by binding it and remembered in the lease's owner file, which is its reservation for as
//! long as the lease stands. Between two binds the port is free to the system: another program may take it
//! then, and the node that cannot listen fails and is replaced on another port.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{Ipv4Addr, TcpListener},
    path::Path,
    sync::{Mutex, PoisonError},
};

use super::{owners::owners, problem::Problem};

/// Picks that may hit a reserved port before the machine counts as full.
const TRIES_MAX: usize = 256;

/// The reserved ports; read from the owner files at first use.
#[derive(Debug, Default)]
pub(super) struct Ports(Mutex<Option<BTreeSet<u16>>>);

impl Ports {
    /// Reserves one port for each name.
    pub(super) fn reserve(
        &self,
        names: &[String],
        state_dir: &Path,
    ) -> Result<BTreeMap<String, u16>, Problem> {
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.is_none() {
            *slot = Some(reserved(state_dir)?);
        }
        let taken = slot.get_or_insert_default();
        let mut picked = BTreeMap::new();
        for name in names {
            match pick(taken) {
                Ok(port) => {
                    taken.insert(port);
                    picked.insert(name.clone(), port);
                }
                Err(problem) => {
                    taken.retain(|port| !picked.values().any(|other| other == port));
                    return Err(problem);
                }
            }
        }
        Ok(picked)
    }

    /// Frees the ports of a lease that is gone.
    pub(super) fn free(&self, ports: &BTreeMap<String, u16>) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = slot.as_mut() {
            taken.retain(|port| !ports.values().any(|other| other == port));
        }
    }
}

fn reserved(state_dir: &Path) -> Result<BTreeSet<u16>, Problem> {
    let found = owners(state_dir)?;
    Ok(found.readable.iter().flat_map(|owner| owner.ports.values().copied()).collect())
}

/// Listeners stay open until one is free, so that the system does not offer a reserved port twice.
fn pick(taken: &BTreeSet<u16>) -> Result<u16, Problem> {
    let mut refused = Vec::new();
    for _ in 0..TRIES_MAX {
        let fails = |error| Problem::io("find a free port on", "127.0.0.1")(error);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(fails)?;
        let port = listener.local_addr().map_err(fails)?.port();
        if !taken.contains(&port) {
            return Ok(port);
        }
        refused.push(listener);
    }
    Err(Problem::io("find a free port on", "127.0.0.1")(std::io::Error::from_raw_os_error(
        libc::EAGAIN,
    )))
}
