//! Whole screens at the sizes that they are drawn for.

use std::{fmt::Write as _, sync::Arc};

use driver::view::{ChangeKind, FileView, Refusal, RefusalKind, RunView};
use insta::assert_snapshot;
use ratatui::style::Modifier;
use reconciler_core::time::Timestamp;
use tui::console::{
    link::{Lost, Reply, Retry},
    message::{Cmd, Key, Msg},
    options::{Color, Options},
};

use crate::{
    console_fixture::{AT, Console, ago, options, plan, run_view},
    console_hold::{look_at_hold, operation, release},
};

const SIZES: [(u16, u16); 5] = [(120, 36), (80, 24), (60, 16), (40, 10), (36, 9)];

fn shoot(name: &str, keys: &str) {
    each(name, |console| {
        for c in keys.chars() {
            console.key(if c == '\n' { Key::Enter } else { Key::Char(c) });
        }
    });
}

/// The text of a screen at every size, and its colours and modifiers in the palette of sixteen.
fn each(name: &str, act: impl Fn(&mut Console)) {
    let mut styles = String::new();
    for (width, height) in SIZES {
        for color in [Color::Mono, Color::Sixteen] {
            let options = Options { color, ..options() };
            let mut console = Console::with(options, width, height, run_view());
            act(&mut console);
            if color == Color::Mono {
                snap(name, &console, width, height);
            } else if height > 9 {
                let look = look(&console, width, height);
                writeln!(styles, "{width}x{height}\n{look}").unwrap();
            }
        }
    }
    assert_snapshot!(format!("{name}_styles"), styles);
}

/// How every cell looks: a dot where it looks like nothing special, else a letter that is explained below.
fn look(console: &Console, width: u16, height: u16) -> String {
    let terminal = console.screen(width, height);
    let buffer = terminal.backend().buffer();
    let mut kinds: Vec<String> = Vec::new();
    let mut out = String::new();
    for y in 0..height {
        let row: String = (0..width)
            .map(|x| {
                let cell = &buffer[(x, y)];
                let kind = format!("{:?} on {:?}, {:?}", cell.fg, cell.bg, cell.modifier);
                if kind == "Reset on Reset, NONE" {
                    return '.';
                }
                let at = kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
                    kinds.push(kind);
                    kinds.len() - 1
                });
                char::from(b'A' + u8::try_from(at).unwrap())
            })
            .collect();
        out += row.trim_end_matches('.');
        out.push('\n');
    }
    for (at, kind) in kinds.iter().enumerate() {
        writeln!(out, "{} = {kind}", char::from(b'A' + u8::try_from(at).unwrap())).unwrap();
    }
    out
}

fn snap(name: &str, console: &Console, width: u16, height: u16) {
    let screen = console.screen(width, height).backend().to_string();
    let trimmed: Vec<&str> = screen.lines().map(|line| line.trim_matches('"').trim_end()).collect();
    assert_snapshot!(format!("{name}_{width}x{height}"), trimmed.join("\n"));
}

#[test]
fn the_fleet() {
    shoot("fleet", "");
}

#[test]
fn the_groups_with_a_draft() {
    shoot("groups", "1jjj++");
}

#[test]
fn the_passes() {
    shoot("passes", "3j");
}

#[test]
fn the_events() {
    shoot("events", "4");
}

#[test]
fn the_holds() {
    shoot("holds", "5");
}

#[test]
fn the_help() {
    shoot("help", "?");
}

#[test]
fn the_detail_of_a_node() {
    shoot("detail", "jjjj\n");
}

#[test]
fn a_plan_to_confirm_by_name() {
    each("plan", |console| {
        let (id, _) = console.ask("-");
        let shown = plan(&[
            ("cpu-batch", 2, 1, &[("cpu-batch-1", ChangeKind::Destroy, true)]),
            (
                "gpu-workers",
                4,
                6,
                &[
                    ("gpu-workers-4", ChangeKind::Create, false),
                    ("gpu-workers-5", ChangeKind::Create, false),
                ],
            ),
        ]);
        console.msg(Msg::Reply(Reply::Plan(id, Ok(shown.into()))));
        console.type_in("cpu-ba");
    });
}

#[test]
fn the_past() {
    shoot("past", "[[");
}

#[test]
fn one_pass() {
    shoot("pass", "3\n");
}

#[test]
fn the_overview() {
    shoot("overview", "ojjj");
}

#[test]
fn the_fleet_by_trouble() {
    shoot("trouble", "sss");
}

#[test]
fn a_command_on_its_way() {
    shoot("command", ":s");
}

#[test]
fn a_hold_to_be_released() {
    each("release", |console| {
        let id = look_at_hold(console);
        console.msg(Msg::Reply(Reply::Release(id, Ok(Box::new(release(false))))));
        console.type_in("db-rep");
    });
}

#[test]
fn open_operations() {
    each("operations", |console| {
        let ordered = console.type_in("5v");
        let [Cmd::Operations { id }] = ordered.as_slice() else { panic!("{ordered:?}") };
        console.msg(Msg::Reply(Reply::Operations(*id, Ok(vec![operation()]))));
        console.key(Key::Down);
    });
}

#[test]
fn a_lost_link() {
    each("lost", |console| {
        let retry = Some(Retry { nth: 6, at: Timestamp::from_millis(AT + 4_000) });
        let lost = Lost { retry, ..Lost::new(ago(47), "connection refused") };
        console.msg(Msg::LinkLost(lost));
    });
}

#[test]
fn a_driver_of_another_version() {
    each("incompatible", |console| {
        let lost = Lost { incompatible: true, ..Lost::new(ago(3), "its views have the form 9") };
        console.msg(Msg::LinkLost(lost));
    });
}

#[test]
fn a_driver_that_says_nothing() {
    each("lagging", |console| drop(console.msg(Msg::Lagging(ago(14)))));
}

#[test]
fn leaving_with_a_draft() {
    shoot("quit", "+q");
}

#[test]
fn the_whole_text_of_an_event() {
    shoot("wrapped", "4jw");
}

#[test]
fn what_became_of_a_plan() {
    let refusal = |kind| Refusal {
        kind,
        message: "what the plan was made from has changed".to_owned(),
        moved: vec!["the live generation is 43".to_owned()],
        hint: Some("make the plan again, look at it, and confirm its new hash".to_owned()),
    };
    for (name, kind) in [
        ("stale", RefusalKind::Stale),
        ("refused", RefusalKind::Forbidden),
        ("failed", RefusalKind::Journal),
    ] {
        each(name, |console| {
            let (id, _) = console.ask("+");
            console.msg(Msg::Reply(Reply::Plan(id, Err(refusal(kind)))));
        });
    }
    each("asking", |console| drop(console.ask("+")));
}

#[test]
fn counts_on_their_way_into_the_file() {
    each("write_back", |console| {
        let file = FileView {
            path: "cluster.toml".to_owned(),
            problem: None,
            differs: vec![("cpu-batch".parse().unwrap(), 2, 3)],
            off_differs: Vec::new(),
            revised: Vec::new(),
        };
        console.msg(Msg::Snapshot(Arc::new(RunView { file: Some(file), ..run_view() })));
        console.type_in("W");
    });
}

#[test]
fn the_fleet_in_unicode() {
    let console = Console::with(Options { ascii: false, ..options() }, 120, 36, run_view());
    snap("unicode", &console, 120, 36);
}

/// Mono: no colour at all, and the selected row is reversed over its whole width.
#[test]
fn the_styles_without_colour() {
    let mut console = Console::new(80, 24);
    console.key(Key::Char('j'));
    let terminal = console.screen(80, 24);
    let buffer = terminal.backend().buffer();
    assert!(buffer.content().iter().all(|cell| {
        cell.fg == ratatui::style::Color::Reset && cell.bg == ratatui::style::Color::Reset
    }));
    let mut rows = Vec::new();
    for y in 0..24 {
        let row: String = (0..80)
            .map(|x| {
                let style = buffer[(x, y)].modifier;
                match (
                    style.contains(Modifier::REVERSED),
                    style.contains(Modifier::UNDERLINED),
                    style.contains(Modifier::BOLD),
                ) {
                    (true, _, _) => 'R',
                    (_, true, _) => 'U',
                    (_, _, true) => 'B',
                    (false, false, false) => ' ',
                }
            })
            .collect();
        rows.push(row.trim_end().to_owned());
    }
    assert_snapshot!("mono_styles_80x24", rows.join("\n"));
}

#[test]
fn sixteen_colours_stay_on_the_terminals_own_background() {
    let options = Options { color: Color::Sixteen, ..options() };
    let console = Console::with(options, 120, 36, run_view());
    let terminal = console.screen(120, 36);
    let cells = terminal.backend().buffer().content();
    assert!(cells.iter().all(|cell| cell.bg == ratatui::style::Color::Reset));
    assert!(cells.iter().any(|cell| cell.fg == ratatui::style::Color::Red));
}

#[test]
fn hostile_text_never_reaches_the_screen() {
    let mut view = run_view();
    for node in &mut view.nodes {
        node.reason =
            "\u{1b}[2J\u{202e}evil\u{7} \u{1f468}\u{200d}\u{1f469} 日本語日本語".to_owned();
    }
    for ascii in [true, false] {
        let options = Options { ascii, ..options() };
        let console = Console::with(options, 120, 36, view.clone());
        let terminal = console.screen(120, 36);
        for cell in terminal.backend().buffer().content() {
            assert!(
                cell.symbol()
                    .chars()
                    .all(|c| !c.is_control() && c != '\u{202e}' && c != '\u{200d}')
            );
            assert!(!ascii || cell.symbol().is_ascii());
        }
    }
}

#[test]
fn before_the_first_snapshot_the_screen_says_what_it_waits_for() {
    let model = tui::console::model::Model::new(options(), 80, 24);
    let console = Console { model, ms: 0 };
    let screen = console.screen(80, 24).backend().to_string();
    assert!(screen.contains("CONNECTING"));
    assert!(screen.contains("waiting for the first snapshot"));
}
