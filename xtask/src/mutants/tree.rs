//! One source tree that holds every mutant: a copy of the workspace in which a number chooses what a place does.
//!
//! It is built once. A mutant that cannot be built is found by what the compiler says about its place, and left out.
//! Functions that are also evaluated at build time ask the same question; there no mutant is chosen. Only that needs
//! a feature of the compiler that is not stable, in the copy alone.

use super::{
    edits,
    listed::Mutant,
    splice::{Id, Spliced},
};
use crate::shell::{Plain, Shell};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Where the copy stands, and what is built of it.
const TREE: &str = "target/mutants/tree";
const BUILT: &str = "target/mutants/built";
const ROOT: &str = "reconciler-core/src/lib.rs";

/// The variable that holds the number of the chosen mutant.
pub(crate) const VARIABLE: &str = "LEVELHEAD_MUTANT";

/// What the copy's core is asked at each place.
const SWITCH: &str = "
/// Which mutant is chosen.
pub mod mutants_switch {
    extern crate std as on_a_host;
    use on_a_host::{env, sync::LazyLock};

    static CHOSEN: LazyLock<usize> =
        LazyLock::new(|| env::var(\"LEVELHEAD_MUTANT\").map_or(0, |id| id.parse().expect(\"a number\")));

    pub const fn on(id: usize) -> bool {
        core::intrinsics::const_eval_select((id,), at_build_time, at_run_time)
    }

    const fn at_build_time(_id: usize) -> bool {
        false
    }

    fn at_run_time(id: usize) -> bool {
        *CHOSEN == id
    }
}
";
const FEATURES: &str = "#![feature(core_intrinsics, const_eval_select)]\n";

/// The most rounds of leaving out what cannot be built: the compiler looks in stages, and tells one at a time.
const ROUNDS: usize = 24;

/// What was built.
pub(crate) struct Built {
    /// The test binaries.
    pub(crate) binaries: Vec<PathBuf>,
    /// Where they run.
    pub(crate) folder: PathBuf,
    /// The mutants that are none: with them nothing can be built.
    pub(crate) left_out: BTreeSet<Id>,
}

/// Copies, puts `mutants` in, and builds; the number of a mutant is its place in the list, from 1.
pub(crate) fn build(shell: &Shell, mutants: &[Mutant]) -> Result<Built> {
    copy(shell)?;
    let mut by_file: BTreeMap<&str, Vec<(Id, &Mutant)>> = BTreeMap::new();
    for (index, mutant) in mutants.iter().enumerate() {
        by_file.entry(&mutant.file).or_default().push((index + 1, mutant));
    }
    by_file.entry(ROOT).or_default();
    // Read once: the tree may be edited while this runs.
    let sources = by_file.keys().map(|file| Ok((*file, read(shell.root(), file)?)));
    let sources: BTreeMap<&str, String> = sources.collect::<Result<_>>()?;
    let mut left_out = BTreeSet::new();
    for _ in 0..ROUNDS {
        let spliced = put_in(shell.root(), &sources, &by_file, &left_out)?;
        let check = cargo(&["check", "--package", "reconciler-core", "--features", "fixture"]);
        let (is_built, told) = shell.told(&check)?;
        if is_built {
            let in_text: BTreeSet<Id> = spliced.values().flat_map(Spliced::ids).collect();
            left_out.extend((1..=mutants.len()).filter(|id| !in_text.contains(id)));
            let folder = shell.root().join(TREE).join("reconciler-core");
            return Ok(Built { binaries: binaries(shell)?, folder, left_out });
        }
        let blamed = blamed(&told, &spliced)?;
        Shell::say(&format!("{} mutants cannot be built; again without them", blamed.len()))?;
        left_out.extend(blamed);
    }
    bail!("after {ROUNDS} rounds there is still something that cannot be built in {TREE}")
}

/// Copies what git knows or would add.
fn copy(shell: &Shell) -> Result<()> {
    let listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"];
    for file in shell.read(&Plain::new(&listed))?.lines() {
        // A file that is deleted and not yet committed is listed too.
        if let Ok(bytes) = fs::read(shell.root().join(file)) {
            write(&shell.root().join(TREE).join(file), &bytes)?;
        }
    }
    Ok(())
}

/// Writes a file unless it is so already: what did not change is not built again.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|known| known == bytes) {
        return Ok(());
    }
    let folder = path.parent().context("a file stands in a folder")?;
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, bytes));
    written.with_context(|| format!("cannot write {}", path.display()))
}

fn read(root: &Path, file: &str) -> Result<String> {
    fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {file}"))
}

type Texts<'a> = BTreeMap<&'a str, Spliced>;

fn put_in<'a>(
    root: &Path,
    sources: &BTreeMap<&'a str, String>,
    by_file: &BTreeMap<&'a str, Vec<(Id, &Mutant)>>,
    left_out: &BTreeSet<Id>,
) -> Result<Texts<'a>> {
    let mut texts = Texts::new();
    for (file, source) in sources {
        let mutants = by_file.get(file).map_or(&[][..], Vec::as_slice);
        let left: Vec<_> =
            mutants.iter().copied().filter(|(id, _)| !left_out.contains(id)).collect();
        let edits = edits::of(source, &left).with_context(|| format!("in {file}"))?;
        let spliced = Spliced::of(source, edits);
        let text = match *file {
            ROOT => {
                spliced.text.replacen("#![no_std]", &format!("#![no_std]\n{FEATURES}"), 1) + SWITCH
            }
            _ => spliced.text.clone(),
        };
        write(&root.join(TREE).join(file), text.as_bytes())?;
        texts.insert(*file, spliced);
    }
    Ok(texts)
}

fn cargo(words: &[&str]) -> Plain {
    let manifest = format!("{TREE}/Cargo.toml");
    let fixed = ["--manifest-path", &manifest, "--target-dir", BUILT, "--profile", "mutants"];
    let said = ["--message-format", "json", "--quiet"];
    let words: Vec<&str> =
        ["cargo"].iter().chain(words).chain(&fixed).chain(&said).copied().collect();
    Plain::new(&words)
        .env("RUSTC_BOOTSTRAP", "reconciler_core")
        .env("RUSTFLAGS", "--cap-lints=allow")
}

fn binaries(shell: &Shell) -> Result<Vec<PathBuf>> {
    let build = ["test", "--no-run", "--package", "reconciler-core", "--test", "it"];
    let (is_built, told) = shell.told(&cargo(&build))?;
    let messages = messages(&told)?;
    if !is_built {
        let said = messages.into_iter().filter_map(|message| message.message?.rendered);
        bail!("the tests cannot be built:\n{}", said.collect::<String>());
    }
    Ok(messages.into_iter().filter_map(|message| message.executable).collect())
}

#[derive(Deserialize)]
struct Message {
    message: Option<Said>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Said {
    level: String,
    rendered: Option<String>,
    spans: Vec<Place>,
}

#[derive(Deserialize)]
struct Place {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
}

fn messages(told: &str) -> Result<Vec<Message>> {
    let read =
        |line: &str| serde_json::from_str(line).context("cargo says something in another form");
    told.lines().map(read).collect()
}

/// The mutants that the compiler speaks of: at the places that it means, or else at those that it shows.
fn blamed(told: &str, texts: &Texts<'_>) -> Result<BTreeSet<Id>> {
    let mut blamed = BTreeSet::new();
    for said in messages(told)?.into_iter().filter_map(|message| message.message) {
        if said.level != "error" || said.spans.is_empty() {
            continue;
        }
        let at = |is_primary: bool| -> Vec<Id> {
            let spans = said.spans.iter().filter(|span| span.is_primary || !is_primary);
            let ids = spans.flat_map(|span| {
                let text = texts.get(span.file_name.as_str());
                let place = shifted(span);
                text.map(|text| text.at(&place)).unwrap_or_default()
            });
            ids.collect()
        };
        let meant = at(true);
        let ids = if meant.is_empty() { at(false) } else { meant };
        if ids.is_empty() {
            bail!("no mutant is to blame for this:\n{}", said.rendered.unwrap_or_default());
        }
        blamed.extend(ids);
    }
    if blamed.is_empty() {
        bail!("the copy in {TREE} cannot be built, and the compiler names no place");
    }
    Ok(blamed)
}

/// A place of the copy as one of the text that was spliced: the root begins with what asks for features.
fn shifted(span: &Place) -> std::ops::Range<usize> {
    let more = if span.file_name == ROOT { FEATURES.len() + 1 } else { 0 };
    span.byte_start.saturating_sub(more)..span.byte_end.saturating_sub(more)
}

#[cfg(test)]
mod tests {
    use super::{SWITCH, Texts, VARIABLE, blamed};
    use crate::mutants::splice::{Edit, Part, Spliced};

    #[test]
    fn the_copy_asks_for_the_variable_that_is_set() {
        assert!(SWITCH.contains(VARIABLE));
    }

    #[test]
    fn a_mutant_is_blamed_by_its_place() {
        let text = |id| Part::Text("{x}".to_owned(), vec![id]);
        let edits = [1, 2].map(|id| Edit { range: id..id + 1, parts: vec![text(id)] });
        let texts = Texts::from([("a.rs", Spliced::of("01234", edits.to_vec()))]);
        let said = |start: usize| {
            format!(
                r#"{{"reason":"compiler-message","message":{{"level":"error","rendered":"no","spans":[
                {{"file_name":"a.rs","byte_start":{start},"byte_end":{},"is_primary":true}}]}}}}"#,
                start + 1
            )
            .replace('\n', "")
        };
        assert_eq!(blamed(&said(2), &texts).expect("one").into_iter().collect::<Vec<_>>(), [1]);
        assert_eq!(blamed(&said(5), &texts).expect("one").into_iter().collect::<Vec<_>>(), [2]);
        assert!(blamed(&said(0), &texts).is_err(), "nothing was changed there");
        assert!(blamed("", &texts).is_err());
    }
}
