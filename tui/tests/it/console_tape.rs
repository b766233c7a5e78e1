//! A record shows again what was shown: the console is a fold of its messages.

use std::{
    fs::{self, File},
    sync::Arc,
};

use ratatui::{Terminal, backend::TestBackend};
use reconciler_core::{
    id::{Generation, PassNumber},
    time::Timestamp,
};
use tui::console::{
    link::Lost,
    message::{Key, Msg},
    model::Model,
    tape::{Player, Recorder, TapeError},
    update::update,
    view,
};

use crate::console_fixture::{Console, options, run_view};

fn shot(model: &Model) -> String {
    let mut terminal = Terminal::new(TestBackend::new(120, 36)).unwrap();
    terminal.draw(|frame| view::draw(model, frame)).unwrap();
    terminal.backend().to_string()
}

/// What happens to a console, with a moment before each message.
fn story() -> Vec<Msg> {
    let clock = Console::new(120, 36);
    let mut later = run_view();
    later.generation = Generation::new(43);
    later.pass = PassNumber::new(419);
    later.passes.insert(0, driver::view::PassView { pass: later.pass, ..later.passes[0].clone() });
    for (at, node) in later.nodes.iter_mut().enumerate() {
        let last = node.ribbon.pop().unwrap();
        node.ribbon.push(last);
        node.ribbon.push(if at == 0 { 'F' } else { last });
        node.ribbon.remove(0);
    }
    later.nodes[0].ready = false;
    let key = |key| Msg::Key(key, clock.now());
    vec![
        Msg::Tick(clock.now()),
        Msg::Snapshot(Arc::new(run_view())),
        Msg::Painted(clock.now()),
        key(Key::Char('j')),
        key(Key::Char('+')),
        Msg::Snapshot(Arc::new(later.clone())),
        Msg::Snapshot(Arc::new(later)),
        key(Key::Char('[')),
        key(Key::Ctrl('d')),
        Msg::LinkLost(Lost::new(Timestamp::ZERO, "gone")),
        key(Key::Esc),
    ]
}

fn record(dir: &std::path::Path) -> (std::path::PathBuf, Vec<String>) {
    let path = dir.join("record");
    let mut recorder =
        Recorder::begin(File::create(&path).unwrap(), &options(), (120, 36)).unwrap();
    let mut model = Model::new(options(), 120, 36);
    let mut shots = Vec::new();
    for msg in story() {
        recorder.note(&msg).unwrap();
        drop(update(&mut model, msg));
        shots.push(shot(&model));
    }
    (path, shots)
}

fn player(path: &std::path::Path) -> Player {
    let file = std::io::BufReader::new(File::open(path).unwrap());
    Player::read(file, options(), (120, 36)).unwrap()
}

#[test]
fn what_was_recorded_is_shown_again_forward_and_back() {
    let dir = tempfile::tempdir().unwrap();
    let (path, shots) = record(dir.path());
    let mut player = player(&path);
    let mut again = Vec::new();
    while player.forward() {
        again.push(shot(player.model()));
    }
    // The second of two snapshots that are the same is not kept.
    let told: Vec<&String> =
        shots.iter().enumerate().filter(|(at, _)| *at != 6).map(|it| it.1).collect();
    assert_eq!(again.iter().collect::<Vec<_>>(), told);
    player.back();
    player.back();
    player.advance();
    player.advance();
    assert_eq!(shot(player.model()), *shots.last().unwrap(), "back and forward is where it was");
    player.seek(0);
    assert_eq!(shot(player.model()), shot(&Model::new(options(), 120, 36)));
}

#[test]
fn a_snapshot_is_kept_as_its_difference() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = record(dir.path());
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(text.matches("\"schema\"").count(), 1, "one whole snapshot: {text}");
    assert_eq!(text.matches("\"line\":\"delta\"").count(), 1);
}

#[test]
fn what_is_no_record_is_told_so_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = record(dir.path());
    let read = |text: &str| Player::read(text.as_bytes(), options(), (80, 24)).unwrap_err();
    assert!(matches!(read("version = 1"), TapeError::Unknown));
    assert!(matches!(read(""), TapeError::Unknown));
    let text = fs::read_to_string(path).unwrap();
    assert!(matches!(
        read(&text.replacen("\"version\":1", "\"version\":9", 1)),
        TapeError::Unknown
    ));
    let broken = text.replacen("{\"line\":\"delta\"", "{\"line\":\"del", 1);
    let TapeError::Line { line, .. } = read(&broken) else { panic!("a broken line is told") };
    assert_eq!(line, text.lines().position(|line| line.contains("\"delta\"")).unwrap() + 1);
}

/// A console that was killed leaves the middle of a line at most, and everything before it is shown.
#[test]
fn a_record_that_is_cut_off_is_played_as_far_as_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (path, shots) = record(dir.path());
    let whole = fs::read(path).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
    for end in [last + 2, whole.len() - 5, whole.len() - 2] {
        let mut player = Player::read(&whole[..end], options(), (120, 36)).unwrap();
        assert!(player.is_cut());
        player.seek(usize::MAX);
        assert_eq!(shot(player.model()), shots[shots.len() - 2], "all but the last message");
    }
    assert!(!Player::read(&whole[..=last], options(), (120, 36)).unwrap().is_cut());
    assert!(!Player::read(&whole[..], options(), (120, 36)).unwrap().is_cut());
}
