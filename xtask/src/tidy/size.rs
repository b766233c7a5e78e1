//! Files stay small enough to be read in one sitting.
//!
//! The bound is hard and holds for tests as well; median and p95 are printed on each run, so
//! that drift is seen long before the bound is.

use super::tree::Tree;
use crate::finding::Finding;

const RULE: &str = "size";

/// Longest Rust file, in lines.
const LINES_MAX: usize = 400;

/// Finds Rust files that are too long.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let sized = tree.rust().map(|file| (file, file.text.lines().count()));
    let long = sized.filter(|(_, n_lines)| *n_lines > LINES_MAX);
    let message =
        |n_lines| format!("{n_lines} lines, at most {LINES_MAX}: split it by what it decides");
    long.map(|(file, n_lines)| Finding::whole(RULE, &file.path, message(n_lines))).collect()
}

/// One line about how long files are.
pub(crate) fn statistics(tree: &Tree) -> String {
    let mut sizes: Vec<usize> = tree.rust().map(|file| file.text.lines().count()).collect();
    sizes.sort_unstable();
    let [median, p95, most] = [50, 95, 100].map(|percent| percentile(&sizes, percent));
    format!("size: {} Rust files; median {median}, p95 {p95}, longest {most} lines", sizes.len())
}

/// The smallest size that at least so many of a hundred files do not exceed.
fn percentile(sorted: &[usize], percent: usize) -> usize {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::{places, tree};
    use super::{check, statistics};

    #[test]
    fn a_file_may_have_the_bound_and_not_one_line_more() {
        let (good, bad) = ("\n".repeat(400), "\n".repeat(401));
        let tree = tree(&[("a.rs", &good), ("tests/b.rs", &bad), ("c.md", &bad)]);
        assert_eq!(places(&check(&tree)), ["tests/b.rs"]);
    }

    #[test]
    fn the_statistics_are_ranks_of_the_sorted_sizes() {
        let texts: Vec<String> = (1..=20).map(|n_lines| "\n".repeat(n_lines)).collect();
        let files: Vec<(&str, &str)> = texts.iter().map(|text| ("a.rs", text.as_str())).collect();
        let want = "size: 20 Rust files; median 10, p95 19, longest 20 lines";
        assert_eq!(statistics(&tree(&files)), want);
        let want = "size: 0 Rust files; median 0, p95 0, longest 0 lines";
        assert_eq!(statistics(&tree(&[])), want);
    }
}
