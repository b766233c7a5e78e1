//! Words and signs that no file may hold.
//!
//! The words are put together from halves, so that this file does not find itself.

use super::tree::{File, Tree};
use crate::finding::Finding;

const RULE: &str = "words";

/// A marker for work to come; it may stand with an issue's number behind it: `(#12)`.
const MARKER: &str = concat!("TO", "DO");

/// Words that are banned everywhere, each with the reason.
const BANNED: [(&str, &str); 3] = [
    (concat!("FIX", "ME"), "marks what must not be merged"),
    (concat!("db", "g!"), "is for one's own terminal"),
    (concat!("sub", "agent"), "is not a word of this project"),
];

/// Folders of one machine; banned where a path begins, lawful as part of a longer one.
const MACHINE_PATHS: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];

/// Hosts that a reader may never reach; manifests, lock file and licence texts may name them.
const HOSTS: [&str; 2] = [concat!("crates", ".io"), concat!("github", ".com")];

/// Looks through every text file.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let read = tree.files.iter().filter(|file| !is_foreign(file));
    read.flat_map(|file| {
        let lines = file.text.lines().enumerate();
        lines.flat_map(move |(index, line)| check_line(file, index + 1, line))
    })
    .collect()
}

/// Texts that others wrote: licences, and the lock file that cargo writes.
fn is_foreign(file: &File) -> bool {
    file.name() == "Cargo.lock" || file.name().starts_with("LICENSE")
}

fn check_line(file: &File, number: usize, line: &str) -> Vec<Finding> {
    let mut wrong: Vec<String> = Vec::new();
    for (word, reason) in BANNED {
        if line.contains(word) {
            wrong.push(format!("`{word}` {reason}"));
        }
    }
    if line.match_indices(MARKER).any(|(at, _)| is_loose_marker(line, at)) {
        wrong.push(format!("`{MARKER}` needs an issue behind it, as in `{MARKER}(#12)`"));
    }
    for path in MACHINE_PATHS {
        if line.match_indices(path).any(|(at, _)| begins_a_path(line, at)) {
            wrong.push(format!("`{path}` is a folder of one machine"));
        }
    }
    if file.name() != "Cargo.toml" {
        let named = HOSTS.iter().filter(|host| line.contains(**host));
        wrong.extend(named.map(|host| format!("`{host}` is a host that need not be reachable")));
    }
    // A snapshot holds what a screen showed, to the last blank.
    if line.ends_with([' ', '\t']) && !file.has_ending("snap") {
        wrong.push("ends in blanks".to_owned());
    }
    if file.is_rust() && line.contains('\t') {
        wrong.push("holds a tab".to_owned());
    }
    wrong.into_iter().map(|message| Finding::at(RULE, &file.path, number, message)).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether the marker at `at` is a word of its own and has no issue's number behind it.
fn is_loose_marker(line: &str, at: usize) -> bool {
    let (before, behind) = (&line[..at], &line[at + MARKER.len()..]);
    let alone = !before.ends_with(is_word) && !behind.starts_with(is_word);
    let number = behind.strip_prefix("(#").and_then(|rest| rest.split_once(')'));
    let has_issue = number.is_some_and(|(digits, _)| {
        !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
    });
    alone && !has_issue
}

fn begins_a_path(line: &str, at: usize) -> bool {
    !line[..at].ends_with(|c: char| is_word(c) || "/.~-}>".contains(c))
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::{places, tree};
    use super::{BANNED, HOSTS, MACHINE_PATHS, MARKER, check};

    fn n_found(path: &str, text: &str) -> usize {
        check(&tree(&[(path, text)])).len()
    }

    #[test]
    fn banned_words_are_found_in_every_text() {
        for (word, _) in BANNED {
            assert_eq!(n_found("docs/a.md", &format!("so {word} it is")), 1, "{word}");
        }
        assert_eq!(n_found("docs/a.md", "an honest sentence about to-do lists"), 0);
    }

    #[test]
    fn a_marker_needs_an_issue() {
        for (tail, want) in [("", 1), (": later", 1), ("(#)", 1), ("(soon)", 1), ("(#12)", 0)] {
            assert_eq!(n_found("a.rs", &format!("// {MARKER}{tail}")), want, "{tail}");
        }
        assert_eq!(n_found("a.rs", &format!("// MY_{MARKER}_LIST")), 0);
    }

    #[test]
    fn a_path_of_one_machine_is_found_where_it_begins() {
        for path in MACHINE_PATHS {
            assert_eq!(n_found("a.rs", &format!("\"{path}x\"")), 1, "{path}");
            assert_eq!(n_found("a.rs", &format!("/srv{path}x and ~{path}x")), 0, "{path}");
        }
    }

    #[test]
    fn hosts_stand_only_in_manifests_and_licences() {
        for host in HOSTS {
            let text = format!("see {host}/x");
            assert_eq!(n_found("docs/a.md", &text), 1);
            for path in ["Cargo.lock", "tui/Cargo.toml", "LICENSE-APACHE"] {
                assert_eq!(n_found(path, &text), 0, "{path}");
            }
        }
    }

    #[test]
    fn blanks_and_tabs_are_found_where_they_mean_nothing() {
        assert_eq!(n_found("docs/a.md", "line \n"), 1);
        assert_eq!(n_found("tui/tests/snapshots/a.snap", "line \n"), 0);
        assert_eq!(n_found("a.rs", "\tlet x = 1;\n"), 1);
        assert_eq!(n_found("Makefile", "\tcargo build\n"), 0);
        let found = check(&tree(&[("a.rs", "//! A.\nx \n")]));
        assert_eq!(places(&found), ["a.rs:2"]);
    }
}
