//! The box of a node: what the driver says of it in full, and its lines of the fleet text (P7).

use std::sync::Arc;

use driver::view::{BlockerView, ExplainView, FactValue, FactView, Refusal, RefusalKind};
use tui::console::{
    link::{Lost, Reply},
    message::{Cmd, Key, Msg},
};

use crate::console_fixture::{Console, run_view};

/// A console with the box of db-replica-0 open, and the question that it asked.
fn opened() -> (Console, u64) {
    let mut console = Console::new(120, 36);
    console.type_in("jjjj");
    match console.key(Key::Enter).as_slice() {
        [Cmd::Explain { id, subject }] if subject.to_string() == "db-replica-0" => {
            let id = *id;
            (console, id)
        }
        other => panic!("the box of a node asks for what is said of it, not {other:?}"),
    }
}

fn said() -> Box<ExplainView> {
    let node = run_view().nodes.into_iter().find(|node| node.slot.to_string() == "db-replica-0");
    let fact = |name: &str, value| FactView { name: name.to_owned(), value };
    Box::new(ExplainView {
        node: node.unwrap(),
        rung: "hold".to_owned(),
        facts: vec![
            fact("failures", FactValue::Count(5)),
            fact("last error", FactValue::Text("quota exceeded".to_owned())),
        ],
        blockers: vec![BlockerView {
            what: "it failed 5 times in a row".to_owned(),
            way_out: Some("levelhead release db-replica-0".to_owned()),
        }],
        drift: Vec::new(),
        text: vec!["db-replica-0 attempt=6 stage=destroyed \u{1b}[31mhold=crash-loop".to_owned()],
        driven: true,
    })
}

fn text(console: &Console) -> String {
    console.screen(120, 36).backend().to_string()
}

#[test]
fn the_box_of_a_node_tells_what_decided_it() {
    let (mut console, id) = opened();
    assert!(!text(&console).contains("rung"), "nothing is made up before it is said");
    console.msg(Msg::Reply(Reply::Explained(id, Ok(said()))));
    let shown = text(&console);
    for part in ["rung", "failures", "it failed 5 times in a row; levelhead release db-replica-0"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    console.type_in("d");
    let raw = text(&console);
    assert!(raw.contains("db-replica-0 attempt=6 stage=destroyed [31mhold=crash-loop"), "{raw}");
    assert!(!raw.contains("rung") && raw.contains("d in words"), "{raw}");
    console.type_in("d");
    assert!(text(&console).contains("rung"));
}

/// One question at a time, another one once the node is another, and none of passes that left it alone.
#[test]
fn what_is_said_follows_the_node() {
    let (mut console, id) = opened();
    let mut later = run_view();
    let at = later.nodes.iter().position(|node| node.slot.to_string() == "db-replica-0").unwrap();
    later.nodes[at].failures += 1;
    let news = |view| Msg::Snapshot(Arc::new(view));
    assert!(console.msg(news(later.clone())).is_empty(), "the first answer is still awaited");
    let again = console.msg(Msg::Reply(Reply::Explained(id, Ok(said()))));
    let [Cmd::Explain { id: second, .. }] = again.as_slice() else { panic!("{again:?}") };
    assert_ne!(*second, id);
    console.msg(Msg::Reply(Reply::Explained(*second, Ok(said()))));
    later.nodes[at].ribbon.push('R');
    assert!(console.msg(news(later.clone())).is_empty(), "only a pass went by");
    console.key(Key::Esc);
    later.nodes[at].failures += 1;
    assert!(console.msg(news(later)).is_empty(), "nobody looks");
}

/// A driver that is lost while it is asked is asked again when it is back; what it refuses is told.
#[test]
fn a_question_that_was_lost_is_asked_again() {
    let (mut console, id) = opened();
    console.msg(Msg::LinkLost(Lost::new(reconciler_core::time::Timestamp::ZERO, "gone")));
    let again = console.msg(Msg::Snapshot(Arc::new(run_view())));
    let [Cmd::Explain { id: second, .. }] = again.as_slice() else { panic!("{again:?}") };
    console.msg(Msg::Reply(Reply::Explained(id, Ok(said()))));
    assert!(!text(&console).contains("rung"), "that was an answer to the lost question");
    let refusal = Refusal {
        kind: RefusalKind::Invalid,
        message: "there is no slot or group `db-replica-0`".to_owned(),
        moved: Vec::new(),
        hint: None,
    };
    console.msg(Msg::Reply(Reply::Explained(*second, Err(refusal))));
    assert!(text(&console).contains("there is no slot or group `db-replica-0`"));
}
