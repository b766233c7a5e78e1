//! `cargo xtask diagram`: draws the law table into the documents that carry its markers.
//!
//! The picture stacks the crates: each may name everything on the shelves below its own.
//! A test here holds the law to that, so the picture cannot lie.

use crate::law::{CRATES, CrateLaw};
use crate::shell::Shell;
use anyhow::{Context, Result, bail};

/// Where the generated block begins.
pub(crate) const BEGIN: &str = "<!-- generated: crate law -->";
/// Where it ends.
pub(crate) const END: &str = "<!-- end -->";
/// The document that must carry the block.
pub(crate) const HOME: &str = "ARCHITECTURE.md";
/// Documents that carry the block when they have its markers.
pub(crate) const GUESTS: [&str; 1] = ["README.md"];

/// Inner width of the picture.
const WIDTH: usize = 70;

/// Rewrites the block in every document that carries it, or only compares.
pub(crate) fn run(shell: &Shell, check: bool) -> Result<()> {
    let mut carried = false;
    for name in std::iter::once(HOME).chain(GUESTS) {
        let path = shell.root().join(name);
        if !path.try_exists().with_context(|| format!("could not look for {name}"))? {
            continue;
        }
        let text = std::fs::read_to_string(&path);
        let text = text.with_context(|| format!("could not read {name}"))?;
        let Some(wanted) = redrawn(&text) else {
            Shell::say(&format!("{name}: no `{BEGIN}` … `{END}` markers"))?;
            continue;
        };
        carried = true;
        if wanted == text {
            Shell::say(&format!("{name}: up to date"))?;
        } else if check {
            bail!("{name}: the crate diagram is stale; run `cargo xtask diagram`");
        } else {
            std::fs::write(&path, wanted).with_context(|| format!("could not write {name}"))?;
            Shell::say(&format!("{name}: rewritten"))?;
        }
    }
    if !carried {
        Shell::print(block().trim_end())?;
    }
    Ok(())
}

/// The document with a fresh block; `None` where it has no markers.
pub(crate) fn redrawn(text: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{}{END}{after}", block()))
}

/// The fenced picture, as it stands between the markers.
fn block() -> String {
    let shelves = shelves();
    let mut lines = vec!["```text".to_owned()];
    let mut above: Option<usize> = None;
    for shelf in &shelves {
        lines.push(rule(above, Some(shelf.len())));
        lines.push(row(&shelf.iter().map(|law| law.name).collect::<Vec<_>>()));
        lines.push(row(&shelf.iter().map(|law| law.does).collect::<Vec<_>>()));
        above = Some(shelf.len());
    }
    lines.push(rule(above, None));
    lines.push("A crate may name those on the shelves below it, never one beside or above.".into());
    let alone = CRATES.iter().filter(|law| stands_alone(law));
    lines.extend(
        alone.map(|law| format!("Apart, and naming none of them: {} ({}).", law.name, law.does)),
    );
    lines.push("```\n".to_owned());
    lines.join("\n")
}

/// The crates from the top shelf to the bottom one; those that stand alone are left out.
fn shelves() -> Vec<Vec<&'static CrateLaw>> {
    let stacked: Vec<&CrateLaw> = CRATES.iter().filter(|law| !stands_alone(law)).collect();
    let top = stacked.iter().map(|law| height(law)).max().unwrap_or_default();
    let shelf = |at| stacked.iter().copied().filter(|law| height(law) == at).collect();
    (0..=top).rev().map(shelf).collect()
}

fn stands_alone(law: &CrateLaw) -> bool {
    law.may_name.is_empty() && !CRATES.iter().any(|other| other.may_name.contains(&law.name))
}

fn height(law: &CrateLaw) -> usize {
    let below = CRATES.iter().filter(|other| law.may_name.contains(&other.name));
    below.map(|other| height(other) + 1).max().unwrap_or_default()
}

/// The column of each wall between `n_boxes` boxes that fill the width.
fn walls(n_boxes: usize) -> Vec<usize> {
    (1..n_boxes).map(|index| index * (WIDTH + 1) / n_boxes).collect()
}

/// A horizontal line between two shelves, or above the first, or below the last.
fn rule(above: Option<usize>, below: Option<usize>) -> String {
    let up = above.map(walls).unwrap_or_default();
    let down = below.map(walls).unwrap_or_default();
    let (left, right) = match (above, below) {
        (None, _) => ('┌', '┐'),
        (Some(_), None) => ('└', '┘'),
        (Some(_), Some(_)) => ('├', '┤'),
    };
    let joint = |column: usize| match (up.contains(&column), down.contains(&column)) {
        (true, true) => '┼',
        (true, false) => '┴',
        (false, true) => '┬',
        (false, false) => '─',
    };
    let middle: String = (1..=WIDTH).map(joint).collect();
    format!("{left}{middle}{right}")
}

fn row(cells: &[&str]) -> String {
    let ends = walls(cells.len()).into_iter().chain([WIDTH + 1]);
    let starts = std::iter::once(0).chain(walls(cells.len()));
    let boxed = cells.iter().zip(starts.zip(ends)).map(|(cell, (start, end))| {
        let width = end - start - 2;
        format!(" {cell:<width$}│")
    });
    std::iter::once("│".to_owned()).chain(boxed).collect()
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, block, redrawn, shelves};

    #[test]
    fn the_law_is_as_layered_as_its_picture() {
        let shelves = shelves();
        for (index, shelf) in shelves.iter().enumerate() {
            let mut below: Vec<&str> =
                shelves.iter().skip(index + 1).flatten().map(|law| law.name).collect();
            below.sort_unstable();
            for law in shelf {
                let mut named = law.may_name.to_vec();
                named.sort_unstable();
                assert_eq!(named, below, "{}", law.name);
            }
        }
    }

    #[test]
    fn every_line_of_the_picture_is_equally_wide() {
        let picture = block();
        let boxed: Vec<&str> =
            picture.lines().filter(|l| l.starts_with(['│', '┌', '├', '└'])).collect();
        assert!(boxed.len() > 8);
        assert!(boxed.iter().all(|line| line.chars().count() == 72), "{picture}");
    }

    #[test]
    fn redrawing_keeps_the_rest_and_settles() {
        let text = format!("# A\n\n{BEGIN}\nold\n{END}\n\ntail\n");
        let once = redrawn(&text).expect("has markers");
        assert!(once.starts_with("# A\n") && once.ends_with(&format!("{END}\n\ntail\n")));
        assert!(!once.contains("old"));
        assert_eq!(redrawn(&once), Some(once));
        assert_eq!(redrawn("no markers"), None);
    }
}
