//! Which ports a node listens on, within its container and at the engine's machine.
//!
//! A port at the machine has to be known before the container is made, because commands name it. So it is derived from
//! the attempt, past those that other nodes of the engine have; one that somebody else has taken meanwhile makes the
//! start fail, and the next attempt has another one.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, TcpListener},
    sync::{Mutex, MutexGuard, PoisonError},
};

use reconciler_core::id::Uuid;
use serde::{Deserialize, Serialize};

use super::{options::Options, problem::Problem};

/// Ports that are tried before the machine counts as full.
const TRIES_MAX: u32 = 512;

/// One port of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PortPair {
    /// Within the container.
    pub(super) inside: u16,
    /// At the engine's machine.
    pub(super) outside: u16,
}

/// The ports of an engine that are given out; `None` until they were read from it.
#[derive(Debug, Default)]
pub(super) struct Ports(Mutex<Option<BTreeSet<u16>>>);

impl Ports {
    /// True if it is not known yet what the engine has given out.
    pub(super) fn are_unread(&self) -> bool {
        self.lock().is_none()
    }

    /// Takes notice of what containers of the engine have.
    pub(super) fn note(&self, taken: impl IntoIterator<Item = u16>) {
        self.lock().get_or_insert_default().extend(taken);
    }

    /// Gives one port for each name; `here` if the engine's machine is this one, where it can be tried.
    pub(super) fn reserve(
        &self,
        names: &[String],
        attempt: Uuid,
        options: &Options,
        here: bool,
    ) -> Result<BTreeMap<String, PortPair>, Problem> {
        let mut taken = self.lock();
        let taken = taken.get_or_insert_default();
        let mut given = BTreeMap::new();
        let mut draws = Draws::new(attempt, options.port_range);
        for name in names {
            let rule = options.ports.get(name).copied();
            let outside = if let Some(fixed) = rule.and_then(|rule| rule.outside) {
                fixed
            } else {
                let free = |port: &u16| {
                    !taken.contains(port) && (!here || is_free(options.publish, *port))
                };
                draws.by_ref().find(free).ok_or_else(|| {
                    let (first, last) = options.port_range;
                    Problem::Full(format!("no port from {first} to {last} was found free"))
                })?
            };
            taken.insert(outside);
            let inside = rule.map_or(outside, |rule| rule.inside);
            given.insert(name.clone(), PortPair { inside, outside });
        }
        Ok(given)
    }

    /// Gives back the ports of a container that is gone.
    pub(super) fn free(&self, ports: &BTreeMap<String, PortPair>) {
        if let Some(taken) = self.lock().as_mut() {
            for pair in ports.values() {
                taken.remove(&pair.outside);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<BTreeSet<u16>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_free(address: IpAddr, port: u16) -> bool {
    TcpListener::bind((address, port)).is_ok()
}

/// Ports of a range in an order of their own for each attempt.
struct Draws {
    seed: u64,
    first: u16,
    count: u64,
    tries: u32,
}

impl Draws {
    fn new(attempt: Uuid, (first, last): (u16, u16)) -> Self {
        let fold = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        let seed = attempt.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, fold);
        Self { seed, first, count: u64::from(last.saturating_sub(first)) + 1, tries: 0 }
    }
}

impl Iterator for Draws {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        if self.tries >= TRIES_MAX {
            return None;
        }
        self.tries += 1;
        let at = self.seed % self.count;
        self.seed = self.seed.wrapping_add(1);
        u16::try_from(at).ok().and_then(|at| self.first.checked_add(at))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::{provider::docker::options, seam::ProviderOptions};

    fn options(range: &str) -> Options {
        let json = |text: &str| Value::from(text);
        let options = ProviderOptions::from([
            ("port_range".to_owned(), json(range)),
            ("ports.http".to_owned(), Value::from(80)),
            ("ports.admin".to_owned(), json("9000:90")),
        ]);
        let (options, problems) = options::read(&options);
        assert_eq!(problems, []);
        options
    }

    /// C2: the same attempt draws the same ports, so that a repeat asks for the same container.
    #[test]
    fn ports_derive_from_the_attempt_and_are_given_once() {
        let options = options("20000-20003");
        let names: Vec<String> = ["http", "raft"].map(String::from).to_vec();
        let attempt = |byte| Uuid::from_bytes([byte; 16]);
        let ports = Ports::default();
        let first = ports.reserve(&names, attempt(1), &options, false).unwrap();
        let second = ports.reserve(&names, attempt(2), &options, false).unwrap();
        let all: BTreeSet<u16> = first.values().chain(second.values()).map(|p| p.outside).collect();
        assert_eq!(all, BTreeSet::from([20_000, 20_001, 20_002, 20_003]));
        assert_eq!(first["http"].inside, 80);
        assert_eq!(first["raft"].inside, first["raft"].outside);
        assert!(ports.reserve(&names, attempt(3), &options, false).is_err());
        ports.free(&first);
        assert_eq!(ports.reserve(&names, attempt(1), &options, false).unwrap(), first);
    }

    #[test]
    fn a_fixed_port_is_as_it_was_written() {
        let admin = ["admin".to_owned()];
        let given = Ports::default().reserve(
            &admin,
            Uuid::from_bytes([1; 16]),
            &options("20000-20003"),
            false,
        );
        assert_eq!(given.unwrap()["admin"], PortPair { inside: 90, outside: 9_000 });
    }
}
