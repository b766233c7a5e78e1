//! Keys that an operator bound otherwise, filters that count ages, and what a frame cost.

use driver::view::{ChangeKind, DemandView};
use ratatui::{Terminal, backend::TestBackend};
use tui::console::{
    keymap::{Keymap, Remap},
    link::{Ask, Reply},
    message::{Cmd, Key, Msg, Perf},
    options::Options,
    tape::{Player, Recorder},
    view,
};

use crate::console_fixture::{Console, options, plan, run_view};

fn remapped() -> Console {
    let remap = |scope: &str, action: &str, key| Remap {
        scope: scope.to_owned(),
        action: action.to_owned(),
        keys: vec![key],
    };
    let keys = Keymap::with(&[
        remap("panes", "problems", Key::Char('z')),
        remap("panes", "plan", Key::Ctrl('p')),
        remap("reading", "leave", Key::Char('.')),
    ]);
    let options = Options { keys: keys.unwrap(), ..options() };
    Console::with(options, 120, 36, run_view())
}

fn shown(console: &Console) -> String {
    console.screen(120, 36).backend().to_string()
}

#[test]
fn another_key_does_it_and_the_old_one_does_nothing() {
    let mut console = remapped();
    console.key(Key::Char('x'));
    assert!(!shown(&console).contains("problems  2/9"), "the old key is free");
    console.key(Key::Char('z'));
    assert!(shown(&console).contains("problems  2/9"), "{}", shown(&console));
    assert!(console.key(Key::Char('p')).is_empty());
    assert!(matches!(console.key(Key::Ctrl('p')).as_slice(), [Cmd::Plan { .. }]));
}

#[test]
fn footer_help_and_boxes_tell_the_keys_as_they_are_bound() {
    let mut console = remapped();
    let footer = shown(&console);
    assert!(footer.contains("Ctrl-P plan") && footer.contains("z problems"), "{footer}");
    console.key(Key::Char('+'));
    assert!(shown(&console).contains("until you plan (Ctrl-P)"), "{}", shown(&console));
    console.key(Key::Char('?'));
    let help = shown(&console);
    assert!(help.contains("z             only what is wrong"), "{help}");
    assert!(help.contains(". close"), "the foot of the box as well: {help}");
    console.key(Key::Esc);
    assert!(console.model.has_popup(), "Esc closes it no more");
    console.key(Key::Char('.'));
    assert!(!console.model.has_popup());
}

/// A record shows what its keys did then, whoever plays it.
#[test]
fn a_record_keeps_what_its_keys_meant() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("record");
    let console = remapped();
    let file = std::fs::File::create(&path).unwrap();
    let keys = Keymap::with(&[Remap {
        scope: "panes".to_owned(),
        action: "problems".to_owned(),
        keys: vec![Key::Char('z')],
    }]);
    let made = Options { keys: keys.unwrap(), ..options() };
    let mut recorder = Recorder::begin(file, &made, (120, 36)).unwrap();
    for msg in [
        Msg::Tick(console.now()),
        Msg::Snapshot(std::sync::Arc::new(run_view())),
        Msg::Key(Key::Char('z'), console.now()),
    ] {
        recorder.note(&msg).unwrap();
    }
    let read = std::fs::read(&path).unwrap();
    let mut player = Player::read(read.as_slice(), options(), (120, 36)).unwrap();
    while player.forward() {}
    let mut terminal = Terminal::new(TestBackend::new(120, 36)).unwrap();
    terminal.draw(|frame| view::draw(player.model(), frame)).unwrap();
    assert!(terminal.backend().to_string().contains("problems  2/9"));
}

/// A guardrail raises what must be said, shows why, and what was said goes to the driver.
#[test]
fn a_plan_under_a_guardrail_asks_for_its_name_and_tells_its_reason() {
    let mut shown_plan =
        plan(&[("cpu-batch", 1, 2, &[("cpu-batch-1", ChangeKind::Create, false)])]);
    shown_plan.demand = Some(DemandView {
        confirm: "name".to_owned(),
        name: "prod".to_owned(),
        reasons: vec!["it holds the accounts".to_owned()],
    });
    let mut console = Console::new(120, 36);
    let (id, _) = console.ask("");
    console.msg(Msg::Reply(Reply::Plan(id, Ok(Box::new(shown_plan)))));
    console.paint();
    assert!(shown(&console).contains("guardrail: it holds the accounts"), "{}", shown(&console));
    console.type_in("a");
    assert!(console.key(Key::Enter).is_empty(), "a name is wanted, not a key");
    console.key(Key::Backspace);
    console.type_in("prod");
    let cmds = console.key(Key::Enter);
    let [Cmd::Apply(confirmed)] = cmds.as_slice() else { panic!("{cmds:?}") };
    let ask = confirmed.clone().into_request().ask;
    assert!(matches!(ask, Ask::Apply { typed: Some(typed), .. } if typed == "prod"));
}

/// What time alone lets through comes by itself, and what has no sense is told where it is typed.
#[test]
fn a_filter_is_told_as_wrong_where_it_is_typed() {
    let mut console = Console::new(120, 36);
    console.type_in("/re:(");
    let text = shown(&console);
    assert!(text.contains("re:( is no pattern: unclosed group"), "{text}");
    assert!(text.contains("Fleet 9"), "nothing is hidden: {text}");
    console.key(Key::Enter);
    assert!(shown(&console).contains("/re:(_"), "it stays to be mended");
    console.key(Key::Esc);
    console.type_in(":filter stag:boot");
    console.key(Key::Enter);
    assert!(shown(&console).contains("there is no stag: here"), "{}", shown(&console));
}

/// What a frame cost is shown with the next one: it never asks for a frame of its own.
#[test]
fn what_a_frame_cost_is_shown_and_asks_for_no_frame() {
    let mut console = Console::new(120, 36);
    console.type_in(":perf");
    console.key(Key::Enter);
    console.model.take_dirty();
    console.msg(Msg::Perf(Perf { micros: 1_234, bytes: 567, keys: 1, replies: 2 }));
    assert!(!console.model.take_dirty());
    let text = shown(&console);
    assert!(text.contains("frame 1.234 ms  567 bytes  0 passes unseen"), "{text}");
    let mut later = run_view();
    later.pass = reconciler_core::id::PassNumber::new(later.pass.get() + 4);
    console.msg(Msg::Snapshot(std::sync::Arc::new(later)));
    assert!(shown(&console).contains("3 passes unseen"), "{}", shown(&console));
    console.type_in(":perf");
    console.key(Key::Enter);
    assert!(!shown(&console).contains("passes unseen"));
}
