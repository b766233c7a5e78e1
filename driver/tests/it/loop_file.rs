//! Laws of following a file in the real loop: applied when its content is new, never merely because it is there
//! (D14), and never when it makes no sense (R188).

use std::{fs, path::PathBuf, sync::Arc};

use driver::{Begin, Content, Followed, Load, view::RunView};

use crate::stand::{Run, Stand, counts};

/// A stand that follows a file of one line: `count N`, `manual N` for the same to be confirmed by an operator, or
/// `other N` for the same with another provider.
fn following(most: usize) -> (Stand, PathBuf) {
    let mut stand = Stand::new(most);
    let path = stand.beside("cluster.toml");
    let shapes: Vec<_> = (0..10).map(|count| stand.shape(&[("web", count)])).collect();
    let (providers, file) = (stand.providers(), path.clone());
    let load: Load = Arc::new(move || {
        let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
        let nonsense = || format!("line 1: `{}` is not a count", text.trim());
        let (word, count) = text.trim().split_once(' ').ok_or_else(nonsense)?;
        let count: usize = count.parse().map_err(|_not_a_number| nonsense())?;
        let shape = shapes.get(count).cloned().ok_or_else(nonsense)?;
        let mut providers = providers.clone();
        if word == "other" {
            let other = providers.values().next().cloned().unwrap();
            providers.insert("another".parse().unwrap(), other);
        }
        let auto = word != "manual";
        Ok(Content { shape, providers, digest: text, auto })
    });
    stand.follow = Some(Followed { path: path.clone(), load });
    (stand, path)
}

/// Replaces the file in one step, as an editor does.
fn write(path: &PathBuf, text: &str) {
    let beside = path.with_extension("new");
    fs::write(&beside, text).unwrap();
    fs::rename(&beside, path).unwrap();
}

fn problem(view: &RunView) -> Option<&str> {
    view.file.as_ref().and_then(|file| file.problem.as_deref())
}

fn wants(run: &Run, count: u32) {
    run.until("the count is taken over", |view| view.want == count);
    run.converged();
}

fn told(run: &Run) -> Vec<(String, u64)> {
    let events = run.view().events.into_iter().filter(|event| event.kind == "file");
    events.map(|event| (event.text, event.count)).collect()
}

/// R183, D14: the file is applied at the start, and each time that its content is new.
#[test]
fn a_changed_file_is_applied() {
    let (stand, path) = following(3);
    write(&path, "count 2");
    let run = stand.drive(Begin::Driving);
    wants(&run, 2);
    write(&path, "count 3");
    wants(&run, 3);
    fs::write(&path, "count 1").unwrap();
    wants(&run, 1);
    assert_eq!(told(&run), []);
    run.stop();
    stand.world.lawful();
}

/// R188: a content that makes no sense leaves the last good shape, and is one event however often it is written.
#[test]
fn an_invalid_file_keeps_the_last_good_shape() {
    let (stand, path) = following(2);
    write(&path, "count 2");
    let run = stand.drive(Begin::Driving);
    wants(&run, 2);
    let generation = run.view().generation;
    for _ in 0..5 {
        write(&path, "count many");
        run.until("the problem is shown", |view| problem(view).is_some());
    }
    write(&path, "nonsense");
    let second = |view: &RunView| problem(view).is_some_and(|text| text.contains("nonsense"));
    run.until("the second problem is shown", second);
    let told = told(&run);
    assert_eq!(told.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [1, 1], "{told:?}");
    assert_eq!((run.view().generation, run.view().ready), (generation, 2));
    write(&path, "count 1");
    wants(&run, 1);
    assert_eq!(problem(&run.view()), None);
    run.stop();
    stand.world.lawful();
}

/// D14: a live edit outlives a restart beside a file that did not change; the difference is shown. A change of
/// the file wins over it.
#[test]
fn an_unchanged_file_does_not_undo_a_live_edit() {
    let (stand, path) = following(4);
    write(&path, "count 2");
    let run = stand.drive(Begin::Driving);
    wants(&run, 2);
    run.edit(&counts(&[("web", 4)]));
    run.converged();
    run.stop();

    let run = stand.drive(Begin::Driving);
    let differs = |view: &RunView| view.file.as_ref().is_some_and(|file| !file.differs.is_empty());
    run.until("the difference is shown", differs);
    let view = run.view();
    assert_eq!(view.file.unwrap().differs, [("web".parse().unwrap(), 2, 4)]);
    assert_eq!(view.want, 4);
    write(&path, "count 2");
    write(&path, "count 3");
    wants(&run, 3);
    run.stop();
    stand.world.lawful();
}

/// R88: providers are taken over at a start alone; a file that changes them says so and changes nothing.
#[test]
fn a_file_with_other_providers_is_refused() {
    let (stand, path) = following(2);
    write(&path, "count 2");
    let run = stand.drive(Begin::Driving);
    wants(&run, 2);
    let generation = run.view().generation;
    write(&path, "other 1");
    let shown = |view: &RunView| problem(view).is_some_and(|text| text.contains("providers"));
    run.until("the refusal is shown", shown);
    assert_eq!((run.view().generation, run.view().ready), (generation, 2));
    assert_eq!(told(&run).len(), 1);
    run.stop();
    stand.world.lawful();
}

/// Clarification 9: where changes wait for an operator, a new content says so and is not applied.
#[test]
fn a_changed_file_waits_where_an_operator_confirms() {
    let (stand, path) = following(3);
    write(&path, "manual 2");
    let run = stand.drive(Begin::Driving);
    run.edit(&stand.declare(&[("web", 2)]));
    run.converged();
    for _ in 0..5 {
        write(&path, "manual 3");
        let waits = |view: &RunView| problem(view).is_some_and(|text| text.contains("waits"));
        run.until("it waits", waits);
        let listings = stand.world.with(|land| land.listings);
        stand.world.until("it is listed", |land| land.listings >= listings + 2);
    }
    assert_eq!(told(&run), [], "what waits is no fault");
    assert_eq!(run.view().want, 2);
    run.stop();
    stand.world.lawful();
}

/// Clarification 9: the content that is to be applied decides about itself, not the one before it.
#[test]
fn a_file_that_asks_for_an_operator_waits_for_one_at_once() {
    let (stand, path) = following(4);
    write(&path, "count 2");
    let run = stand.drive(Begin::Driving);
    wants(&run, 2);
    write(&path, "manual 1");
    let waits = |view: &RunView| problem(view).is_some_and(|text| text.contains("waits"));
    run.until("it waits", waits);
    assert_eq!((run.view().want, run.view().ready), (2, 2));
    write(&path, "count 4");
    wants(&run, 4);
    assert_eq!(problem(&run.view()), None);
    run.stop();
    stand.world.lawful();
}
