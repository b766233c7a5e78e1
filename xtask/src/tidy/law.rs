//! What may stand only in certain places: the part of the law that Cargo cannot see.
//!
//! One table of bans; the rules that need more than a table are `seal.rs` and `strict.rs`.

use super::lex::{find, lex, without_tests};
use super::tree::{File, Tree};
use super::uses::flattened;
use crate::finding::Finding;
use std::collections::BTreeSet;

const RULE: &str = "law";

/// The only file that may hold unsafe code.
pub(crate) const UNSAFE_HOME: &str = "executor/src/provider/process/spawn.rs";

/// Patterns that are banned below some folders.
struct Ban {
    /// Folders that it holds for; an empty string is everywhere.
    within: &'static [&'static str],
    /// Files, or folders with a closing slash, that it does not hold for.
    except: &'static [&'static str],
    /// Whether it holds for test code as well.
    tests_too: bool,
    /// Rust text, see `lex::find`.
    patterns: &'static [&'static str],
    /// Why, in the finding's words.
    why: &'static str,
}

const BANS: [Ban; 8] = [
    Ban {
        within: &["reconciler-core/src/"],
        except: &[],
        tests_too: false,
        patterns: &["extern crate std", "static", "thread_local!"],
        why: "core decides from its arguments: no std, nothing that outlives a call",
    },
    Ban {
        within: &["reconciler-core/src/"],
        except: &[],
        tests_too: false,
        patterns: &[
            "AtomicBool",
            "AtomicI*",
            "AtomicPtr",
            "AtomicU*",
            "Cell<",
            "LazyCell",
            "Mutex",
            "OnceCell",
            "RefCell",
            "RwLock",
            "UnsafeCell",
            "core::cell",
            "core::sync",
        ],
        why: "a value in core does not change behind a shared reference",
    },
    Ban {
        within: &["reconciler-core/src/"],
        except: &[],
        tests_too: true,
        patterns: &["async fn", "async move", "async {", ".await"],
        why: "a decision never waits",
    },
    Ban {
        within: &[""],
        except: &[UNSAFE_HOME],
        tests_too: true,
        patterns: &["unsafe", "expect(unsafe_code", "allow(unsafe_code"],
        why: "unsafe code stands in executor/src/provider/process/spawn.rs and nowhere else",
    },
    Ban {
        within: &["driver/src/"],
        except: &["driver/src/api/", "driver/src/run.rs", "driver/src/sim/"],
        tests_too: false,
        patterns: &["tokio::spawn", "task::spawn", "select!", "tokio::select"],
        why: "the loop waits and spawns in run.rs only",
    },
    Ban {
        within: &["tui/src/"],
        except: &["tui/src/cli/"],
        tests_too: false,
        patterns: &["print!", "println!", "eprint!", "eprintln!"],
        why: "only the command line prints; the console owns its screen",
    },
    Ban {
        within: &["driver/src/", "tui/src/"],
        except: &["tui/src/main.rs", "tui/src/providers.rs"],
        tests_too: false,
        patterns: &["executor::provider"],
        why: "adapters are named in the composition root only",
    },
    Ban {
        within: &[""],
        except: &[],
        tests_too: true,
        patterns: &["#[ignore", "#[should_panic"],
        why: "a test runs, and says what it expects",
    },
];

/// Holds every Rust file against the table.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().flat_map(|file| BANS.iter().flat_map(|ban| broken(file, ban))).collect()
}

fn broken(file: &File, ban: &Ban) -> Vec<Finding> {
    let within = ban.within.iter().any(|folder| file.path.starts_with(folder));
    let excepted = ban.except.iter().any(|place| match place.strip_suffix('/') {
        Some(_) => file.path.starts_with(place),
        None => file.path == *place,
    });
    if !within || excepted || (file.is_test() && !ban.tests_too) {
        return Vec::new();
    }
    let mut tokens = lex(&file.text);
    if !ban.tests_too {
        tokens = without_tests(&tokens);
    }
    let flat = flattened(&tokens);
    let mut hits = BTreeSet::new();
    for pattern in ban.patterns {
        let lines = find(&tokens, pattern).into_iter().chain(find(&flat, pattern));
        hits.extend(lines.map(|line| (line, pattern)));
    }
    let message = |pattern| format!("`{pattern}`: {}", ban.why);
    hits.iter().map(|(line, hit)| Finding::at(RULE, &file.path, *line, message(hit))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::{places, tree};
    use super::{UNSAFE_HOME, check};

    fn caught(path: &str, text: &str) -> bool {
        !check(&tree(&[(path, text)])).is_empty()
    }

    /// Every row: a place where the text is caught, and one where the same text passes.
    #[test]
    fn a_thing_is_banned_in_one_place_and_lawful_in_another() {
        let core = "reconciler-core/src/fold/apply.rs";
        let rows = [
            ("extern crate std;", core, "driver/src/lib.rs"),
            ("static N: u8 = 0;", core, "tui/src/main.rs"),
            ("static mut N: u8 = 0;", core, "tui/src/main.rs"),
            ("use core::{fmt, cell::Cell};", core, "driver/src/state.rs"),
            ("struct A { b: RefCell<u8> }", core, "driver/src/state.rs"),
            ("use core::sync::atomic::AtomicU64;", core, "executor/src/dispatch/run.rs"),
            ("type M = spin::Mutex<u8>;", core, "executor/src/dispatch/run.rs"),
            ("async fn decide_all() {}", core, "driver/src/run.rs"),
            ("fn f() { unsafe { g() } }", "executor/src/provider/process/mod.rs", UNSAFE_HOME),
            ("#[expect(unsafe_code, reason = \"x\")] fn f() {}", core, UNSAFE_HOME),
            ("fn f() { tokio::spawn(g()); }", "driver/src/pass.rs", "driver/src/run.rs"),
            ("use tokio::{time, spawn};", "driver/src/pass.rs", "driver/src/sim/world.rs"),
            ("use tokio::select;", "driver/src/pass.rs", "driver/src/run.rs"),
            ("fn f() { select! { } }", "driver/src/pass.rs", "driver/src/api/server.rs"),
            ("fn f() { println!(); }", "tui/src/console/app.rs", "tui/src/cli/status.rs"),
            ("use executor::provider::exec;", "tui/src/cli/up.rs", "tui/src/providers.rs"),
            ("use executor::{seam, provider::exec};", "driver/src/run.rs", "tui/src/main.rs"),
        ];
        for (text, bad, good) in rows {
            assert!(caught(bad, text), "{bad}: {text}");
            assert!(!caught(good, text), "{good}: {text}");
        }
    }

    #[test]
    fn words_alone_break_no_law() {
        let text = "//! unsafe static Mutex\nfn f(x: &'static str) -> Arc<str> { g(\"unsafe\") }";
        assert!(!caught("reconciler-core/src/id.rs", text));
        assert!(!caught("driver/src/lib.rs", "#![forbid(unsafe_code)]"));
    }

    #[test]
    fn code_of_tests_is_free_where_the_product_is_not() {
        let text = "#[cfg(test)]\nextern crate std;\n#[cfg(test)]\nmod tests { static A: u8 = 0; }";
        assert!(!caught("reconciler-core/src/lib.rs", text));
        assert!(!caught("reconciler-core/src/fold/tests.rs", "use std::cell::RefCell;"));
        assert!(caught("driver/tests/it/main.rs", "fn f() { unsafe { g() } }"));
        assert!(caught("driver/tests/it/main.rs", "#[test]\n#[ignore]\nfn f() {}"));
    }

    #[test]
    fn a_finding_names_the_line() {
        let found = check(&tree(&[("reconciler-core/src/a.rs", "//! A.\n\nstatic A: u8 = 0;\n")]));
        assert_eq!(places(&found), ["reconciler-core/src/a.rs:3"]);
    }
}
