//! The dependency law, as data: who may name whom, which licences, which duplicates.
//!
//! `deps` compares it with `cargo metadata`, `diagram` draws it; nothing else states it.
//! Changing it is a decision: add a page to `docs/adr/`.

/// What one crate of the workspace may be built upon.
#[derive(Debug)]
pub(crate) struct CrateLaw {
    /// The crate's name, which is its folder's.
    pub(crate) name: &'static str,
    /// What it decides or does, in the diagram's few words.
    pub(crate) does: &'static str,
    /// Crates of this workspace that it may name, also in its tests.
    pub(crate) may_name: &'static [&'static str],
    /// The crates from elsewhere that it may ship with.
    pub(crate) outside: Outside,
}

/// Which crates from elsewhere a crate may ship with; dev-dependencies are free.
#[derive(Debug)]
pub(crate) enum Outside {
    /// These, without their default features, and nothing else.
    Only(&'static [&'static str]),
    /// Anything but these, declared by itself.
    Not(&'static [&'static str]),
    /// Anything but these, however they would come in.
    NotEvenThrough(&'static [&'static str]),
}

/// The law, in the order in which the diagram lists it.
pub(crate) const CRATES: [CrateLaw; 6] = [
    CrateLaw {
        name: "tui",
        does: "front end, composition root",
        may_name: &["driver", "checkpoint", "executor", "reconciler-core"],
        outside: Outside::Not(&["rusqlite"]),
    },
    CrateLaw {
        name: "driver",
        does: "the loop, config, control API",
        may_name: &["checkpoint", "executor", "reconciler-core"],
        outside: Outside::Not(&["anyhow", "clap", "crossterm", "ratatui", "rusqlite"]),
    },
    CrateLaw {
        name: "checkpoint",
        does: "the journal",
        may_name: &["reconciler-core"],
        outside: Outside::NotEvenThrough(&["anyhow", "axum", "clap", "ratatui", "tokio"]),
    },
    CrateLaw {
        name: "executor",
        does: "seams and providers",
        may_name: &["reconciler-core"],
        outside: Outside::Not(&["anyhow", "clap", "crossterm", "ratatui", "rusqlite"]),
    },
    CrateLaw {
        name: "reconciler-core",
        does: "every decision; no clock, no I/O",
        may_name: &[],
        outside: Outside::Only(&["serde", "sha2", "thiserror"]),
    },
    CrateLaw {
        name: "xtask",
        does: "development verbs",
        may_name: &[],
        outside: Outside::NotEvenThrough(&["ratatui", "rusqlite", "tokio"]),
    },
];

/// The law of one crate.
pub(crate) fn of(name: &str) -> Option<&'static CrateLaw> {
    CRATES.iter().find(|law| law.name == name)
}

/// Licences that may stand in what we ship: all permissive, none that reaches into our own code.
pub(crate) const LICENCES: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// A crate that is tolerated at several versions, and why. This list should shrink.
#[derive(Debug)]
pub(crate) struct Tolerated {
    pub(crate) name: &'static str,
    pub(crate) reason: &'static str,
}

/// The duplicates of the present lock file; a new one fails, and so does a row nobody needs.
pub(crate) const DUPLICATES: [Tolerated; 10] = [
    Tolerated { name: "base64", reason: "pem, below rcgen, is ahead of bollard" },
    Tolerated { name: "getrandom", reason: "ring, below rustls, still asks for 0.2" },
    Tolerated { name: "hashbrown", reason: "tests only: dashmap, below stateright, asks for 0.14" },
    Tolerated { name: "rand", reason: "tests only: stateright still asks for 0.9" },
    Tolerated { name: "rand_core", reason: "tests only: the core of rand 0.9" },
    Tolerated { name: "signal-hook", reason: "crossterm still asks for 0.3" },
    Tolerated { name: "syn", reason: "build only: macro crates are half way from 2 to 3" },
    Tolerated { name: "synstructure", reason: "build only: the helper of macros, for either syn" },
    Tolerated { name: "thiserror", reason: "filedescriptor, below crossterm, still asks for 1" },
    Tolerated { name: "thiserror-impl", reason: "the macro half of thiserror" },
];

#[cfg(test)]
mod tests {
    use super::{CRATES, of};

    /// The order of the table is a proof that the law has no cycle.
    #[test]
    fn a_crate_names_only_crates_further_down() {
        for (index, law) in CRATES.iter().enumerate() {
            for named in law.may_name {
                let below = CRATES.iter().skip(index + 1).any(|other| other.name == *named);
                assert!(below, "{} names {named}, which is not below it", law.name);
            }
        }
    }

    #[test]
    fn nobody_names_the_house() {
        assert!(CRATES.iter().all(|law| !law.may_name.contains(&"xtask")));
        assert!(of("xtask").is_some_and(|law| law.may_name.is_empty()));
    }
}
