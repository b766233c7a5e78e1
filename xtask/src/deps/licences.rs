//! Licences of everything that is resolved, against the allow list.
//!
//! Reads the SPDX subset that manifests use: names, `WITH`, `AND`, `OR`, parentheses, and the
//! older `/` for `OR`. What cannot be read is a finding, never a pass.

use crate::finding::Finding;
use crate::law::LICENCES;
use crate::metadata::{Metadata, Package};

const RULE: &str = "licences";

/// Checks every package.
pub(crate) fn check(metadata: &Metadata) -> Vec<Finding> {
    metadata.packages.iter().filter_map(check_package).collect()
}

fn check_package(package: &Package) -> Option<Finding> {
    let Some(expression) = &package.license else {
        return Some(Finding::whole(RULE, &package.name, "names no licence"));
    };
    match allowed(expression) {
        Some(true) => None,
        Some(false) => {
            let message = format!("`{expression}` is not on the allow list");
            Some(Finding::whole(RULE, &package.name, message))
        }
        None => {
            let message = format!("`{expression}` cannot be read as a licence");
            Some(Finding::whole(RULE, &package.name, message))
        }
    }
}

/// Whether the expression can be met with allowed licences; `None` if it makes no sense.
fn allowed(expression: &str) -> Option<bool> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words };
    let verdict = reader.any_of()?;
    reader.words.is_empty().then_some(verdict)
}

struct Reader<'a> {
    words: &'a [&'a str],
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    fn takes(&mut self, word: &str) -> bool {
        let there = self.words.first() == Some(&word);
        if there {
            self.words = self.words.get(1..).unwrap_or_default();
        }
        there
    }

    fn any_of(&mut self) -> Option<bool> {
        let mut verdict = self.all_of()?;
        while self.takes("OR") {
            verdict |= self.all_of()?;
        }
        Some(verdict)
    }

    fn all_of(&mut self) -> Option<bool> {
        let mut verdict = self.one()?;
        while self.takes("AND") {
            verdict &= self.one()?;
        }
        Some(verdict)
    }

    fn one(&mut self) -> Option<bool> {
        let name = self.next()?;
        if name == "(" {
            let verdict = self.any_of()?;
            return self.takes(")").then_some(verdict);
        }
        if [")", "AND", "OR", "WITH"].contains(&name) {
            return None;
        }
        if self.takes("WITH") {
            let whole = format!("{name} WITH {}", self.next()?);
            return Some(LICENCES.contains(&whole.as_str()));
        }
        Some(LICENCES.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::{allowed, check};
    use crate::metadata::tests::graph;

    #[test]
    fn expressions_are_met_or_not() {
        let rows = [
            ("MIT", Some(true)),
            ("GPL-3.0", Some(false)),
            ("GPL-3.0 OR MIT", Some(true)),
            ("MIT AND GPL-3.0", Some(false)),
            ("MIT/Apache-2.0", Some(true)),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", Some(true)),
            ("(MIT OR Apache-2.0) AND OpenSSL", Some(false)),
            ("MIT OR Apache-2.0 AND GPL-3.0", Some(true)),
            ("Apache-2.0 WITH LLVM-exception", Some(true)),
            ("GPL-2.0 WITH Classpath-exception-2.0", Some(false)),
            ("MPL-2.0", Some(false)),
            ("", None),
            ("MIT OR", None),
            ("(MIT", None),
            ("MIT Apache-2.0", None),
            ("AND MIT", None),
        ];
        for (expression, want) in rows {
            assert_eq!(allowed(expression), want, "{expression}");
        }
    }

    #[test]
    fn a_package_without_a_good_licence_is_found() {
        let mut metadata = graph(&[("good", &[]), ("bad", &[]), ("silent", &[])]);
        metadata.packages[1].license = Some("SSPL-1.0".to_owned());
        metadata.packages[2].license = None;
        let found: Vec<String> = check(&metadata).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "bad: licences: `SSPL-1.0` is not on the allow list",
                "silent: licences: names no licence",
            ]
        );
    }
}
