//! Laws of `GET /v1/watch`: the changes lead from snapshot to snapshot, a gap is said, and nobody is delayed.

use std::{io::Write as _, os::unix::net::UnixStream, sync::Arc, time::Instant};

use driver::{
    Begin, Link,
    api::Seen,
    view::{Difference, Edit, NodeView, PassView, RunState, RunView, WatchLine, diff},
};
use reconciler_core::time::Timestamp;
use serde_json::Value;

use crate::{
    http::Lines,
    stand::{Run, Stand, counts},
    world::BOUND,
};

/// What a plain client makes of the lines.
struct Watcher {
    lines: Lines,
    cursor: String,
    view: Option<RunView>,
    gaps: usize,
    snapshots: usize,
}

impl Watcher {
    fn new(stand: &Stand, query: &str) -> Self {
        let lines = Lines::get(&stand.paths().socket(), &format!("/v1/watch{query}"));
        Self { lines, cursor: String::new(), view: None, gaps: 0, snapshots: 0 }
    }

    /// Takes one line; false once the watch is over.
    fn step(&mut self) -> bool {
        let Some(line) = self.lines.next() else { return false };
        match serde_json::from_value(line).unwrap() {
            WatchLine::Snapshot { cursor, view } => {
                (self.cursor, self.view) = (cursor, Some(*view));
                self.snapshots += 1;
            }
            WatchLine::Delta { cursor, delta } => {
                self.cursor = cursor;
                delta.apply(self.view.as_mut().expect("a delta follows a snapshot"));
            }
            WatchLine::Gap { .. } => {
                self.gaps += 1;
                self.view = None;
            }
            WatchLine::Alive { .. } => {}
            WatchLine::End { .. } => return false,
        }
        true
    }

    fn until(&mut self, so: impl Fn(&RunView) -> bool) {
        let deadline = Instant::now() + BOUND;
        while !self.view.as_ref().is_some_and(&so) {
            assert!(Instant::now() < deadline && self.step(), "{:#?}", self.view);
        }
    }
}

/// What is the same in two views of one state, whenever they were made.
fn timeless(view: &RunView) -> RunView {
    RunView { at: Timestamp::default(), ..view.clone() }
}

fn settled(run: &Run, ready: u32) -> impl Fn(&RunView) -> bool {
    run.converged();
    let pass = run.view().pass;
    move |view| view.ready == ready && view.state == RunState::Converged && view.pass >= pass
}

/// A watch shows what a snapshot shows: whatever changed, the lines lead there.
#[test]
fn the_lines_of_a_watch_lead_to_what_a_snapshot_shows() {
    let stand = Stand::new(8);
    let run = stand.up(&[("api", 1), ("web", 2)]);
    let mut watcher = Watcher::new(&stand, "");
    let mut follow = |edit: &Edit| {
        run.edit(edit);
        run.converged();
        watcher.until(|view| timeless(view) == timeless(&run.view()));
    };
    for (group, n) in [("web", 6), ("web", 1), ("api", 0), ("api", 3)] {
        follow(&counts(&[(group, n)]));
    }
    follow(&Edit::Remove { groups: vec!["api".parse().unwrap()] });
    assert_eq!((watcher.snapshots, watcher.gaps), (1, 0));
    run.stop();
    stand.world.lawful();
}

/// A watch goes on from its cursor without a snapshot; one that nobody knows is told of a gap, and begins anew.
#[test]
fn a_cursor_resumes_and_a_gap_is_said() {
    let stand = Stand::new(4);
    let run = stand.up(&[("web", 1)]);
    let mut first = Watcher::new(&stand, "");
    first.until(|_| true);
    let Watcher { lines, cursor, view, .. } = first;
    drop(lines);
    run.edit(&counts(&[("web", 3)]));
    run.converged();
    let mut second = Watcher { view, ..Watcher::new(&stand, &format!("?cursor={cursor}")) };
    second.until(settled(&run, 3));
    second.until(|view| timeless(view) == timeless(&run.view()));
    assert_eq!((second.snapshots, second.gaps), (0, 0));

    for cursor in ["1-2.3", "nonsense", &format!("{}9", second.cursor)] {
        let mut lost = Watcher::new(&stand, &format!("?cursor={cursor}"));
        lost.until(|view| view.ready == 3);
        assert_eq!((lost.snapshots, lost.gaps), (1, 1), "{cursor}");
    }
    run.stop();
    let run = stand.drive(Begin::Driving);
    run.client();
    let mut later = Watcher::new(&stand, &format!("?cursor={}", second.cursor));
    later.until(|view| view.ready == 3);
    assert_eq!((later.snapshots, later.gaps), (1, 1), "the cursor was another driver's");
    run.stop();
    stand.world.lawful();
}

/// P4: watchers that take nothing delay neither a pass, nor an answer, nor the end.
#[test]
fn watchers_that_take_nothing_delay_nothing() {
    let stand = Stand::new(6);
    let run = stand.up(&[("web", 1)]);
    run.client();
    let stuck: Vec<UnixStream> = (0..40)
        .map(|_| {
            let mut stream = UnixStream::connect(stand.paths().socket()).unwrap();
            stream.write_all(b"GET /v1/watch HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
            stream
        })
        .collect();
    let mut watcher = Watcher::new(&stand, "");
    run.edit(&counts(&[("web", 6)]));
    watcher.until(settled(&run, 6));
    run.stop();
    while watcher.step() {}
    drop(stuck);
    stand.world.lawful();
}

/// The end of a driver is said, and the watch is over.
#[test]
fn the_end_of_a_driver_is_the_last_line() {
    let stand = Stand::new(2);
    let run = stand.up(&[("web", 1)]);
    run.client();
    let mut lines = Lines::get(&stand.paths().socket(), "/v1/watch");
    assert_eq!(lines.next().unwrap()["type"], "snapshot");
    run.stop();
    let mut last = Value::Null;
    while let Some(line) = lines.next() {
        last = line;
    }
    assert_eq!(last["type"], "end", "{last}");
    stand.world.lawful();
}

/// The driver's own client sees the same as who is in its process, and goes on with the next driver.
#[test]
fn an_onlooker_sees_the_run_wherever_it_is() {
    let stand = Stand::new(4);
    let run = stand.up(&[("web", 2)]);
    let mut near = Link::Embedded(run.handle.clone()).look();
    let mut far = Link::Attached(run.client()).look();
    run.edit(&counts(&[("web", 4)]));
    run.converged();
    for looker in [&mut near, &mut far] {
        let view = run.block(async {
            loop {
                match looker.next().await.unwrap() {
                    Seen::View(view) if view.state == RunState::Converged && view.ready == 4 => {
                        return view;
                    }
                    Seen::View(_) | Seen::Alive => {}
                    Seen::Gap(why) => panic!("{why}"),
                }
            }
        });
        assert_eq!(view.nodes.len(), 4);
    }
    run.stop();
    let run = stand.drive(Begin::Driving);
    run.converged();
    let mut saw = Vec::new();
    run.block(async {
        loop {
            match far.next().await {
                Ok(Seen::View(view)) if view.driver == run.view().driver => break,
                Ok(Seen::Alive) => {}
                Ok(seen) => saw.push(matches!(seen, Seen::Gap(_))),
                Err(_gone) => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
            }
        }
    });
    assert!(saw.contains(&true), "that the driver is another one is said");
    run.stop();
    stand.world.lawful();
}

/// A view of `n` slots.
fn wide(n: u32) -> RunView {
    let stand = Stand::new(2);
    let run = stand.up(&[("web", 1)]);
    let view = run.view();
    run.stop();
    let node = view.nodes[0].clone();
    let slot = |index: u32| format!("web-{index}").parse().unwrap();
    let nodes = (0..n).map(|index| NodeView { slot: slot(index), ..node.clone() }).collect();
    RunView { nodes, ..view }
}

/// Speed gate of the console: one changed node of ten thousand is less than 1 KB on the wire.
#[test]
fn one_changed_node_of_ten_thousand_is_a_kilobyte_at_most() {
    let old = wide(10_000);
    let mut new = old.clone();
    new.pass = new.pass.next();
    new.passes.insert(0, PassView { pass: new.pass, ..old.passes[0].clone() });
    new.passes.truncate(old.passes.len());
    for (index, node) in new.nodes.iter_mut().enumerate() {
        let letter = if index == 5_000 { 'F' } else { node.ribbon.chars().last().unwrap() };
        node.ribbon.push(letter);
        while node.ribbon.len() > new.ribbon_len as usize {
            node.ribbon.remove(0);
        }
    }
    new.nodes[5_000].ready = false;
    new.nodes[5_000].reason = "backs off after failure 2 of 5".to_owned();
    let Difference::Changed(delta) = diff(old.clone(), &new) else { panic!("it changed") };
    let line = WatchLine::Delta { cursor: "1f-18c2a.12345".to_owned(), delta: delta.clone() };
    let text = serde_json::to_string(&line).unwrap();
    assert!(text.len() < 1_024, "{} bytes: {text}", text.len());
    let mut made = old;
    delta.apply(&mut made);
    assert_eq!(made, new);
}

/// A node that moved and came back between two views is sent: its ribbon is not what a reader would make of it.
#[test]
fn a_node_that_moved_and_came_back_is_sent() {
    let old = wide(3);
    let mut new = old.clone();
    for _ in 0..2 {
        new.pass = new.pass.next();
        new.passes.insert(0, PassView { pass: new.pass, ..old.passes[0].clone() });
    }
    for node in &mut new.nodes {
        let last = node.ribbon.chars().last().unwrap();
        let moved = if node.slot.index == 1 { 'F' } else { last };
        node.ribbon = format!("{}{moved}{last}", node.ribbon);
        while node.ribbon.len() > new.ribbon_len as usize {
            node.ribbon.remove(0);
        }
    }
    let Difference::Changed(delta) = diff(old.clone(), &new) else { panic!("it changed") };
    assert_eq!(delta.nodes, new.nodes[1..2]);
    let mut made = old;
    delta.apply(&mut made);
    assert_eq!(made, new);
}

/// The law of changes, for any two views of one driver: applied to the earlier, the difference gives the later.
#[test]
fn a_difference_leads_from_any_view_to_any_later_one() {
    let stand = Stand::new(9);
    let run = stand.up(&[("web", 2)]);
    let mut seen: Vec<Arc<RunView>> = vec![Arc::new(run.view())];
    for (edit, ready) in [
        (counts(&[("web", 5)]), 5),
        (stand.declare(&[("api", 3), ("web", 4)]), 7),
        (Edit::Stop { subjects: vec!["web-1".to_owned()] }, 6),
        (stand.declare(&[("api", 3)]), 3),
    ] {
        run.edit(&edit);
        let mut published = run.handle.published();
        run.block(async {
            loop {
                let latest = published.borrow_and_update().clone();
                let view = latest.view();
                let over = view.state == RunState::Converged && view.ready == ready;
                seen.push(Arc::new(view));
                if over {
                    return;
                }
                published.changed().await.unwrap();
            }
        });
    }
    run.stop();
    for (place, old) in seen.iter().enumerate() {
        for new in &seen[place..] {
            match diff(RunView::clone(old), new) {
                Difference::Changed(delta) => {
                    let text = serde_json::to_string(&delta).unwrap();
                    let read: driver::view::RunDelta = serde_json::from_str(&text).unwrap();
                    assert_eq!(read, *delta);
                    let mut made = RunView::clone(old);
                    delta.apply(&mut made);
                    assert_eq!(made, **new);
                }
                Difference::Still => assert_eq!(timeless(old), timeless(new)),
                Difference::Unrelated => panic!("of one driver"),
            }
        }
    }
    assert!(seen.len() > 10, "{}", seen.len());
    stand.world.lawful();
}
