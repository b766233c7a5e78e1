//! Orders, the overview, commands by name, copying, and writing counts back.

use driver::view::{ChangeKind, Edit, FileView, NodeView, RunView};
use tui::console::{
    link::Reply,
    message::{Cmd, Key, Msg},
    model::RowId,
    options::Options,
};

use crate::console_fixture::{Console, group, node, options, plan, run_view};

fn text(console: &Console) -> String {
    console.screen(120, 36).backend().to_string()
}

/// The slots of the fleet from top to bottom.
fn slots(console: &Console) -> Vec<String> {
    let screen = text(console);
    let names = screen.lines().filter_map(|line| {
        let fleet = line.split("||").nth(1)?;
        let word = fleet.trim_start_matches(['>', ' ']).split(' ').next()?;
        word.rsplit_once('-').filter(|(_, n)| n.parse::<u32>().is_ok())?;
        Some(word.to_owned())
    });
    names.take_while(|name| !name.contains(':')).collect()
}

#[test]
fn an_order_moves_the_rows_and_never_the_selection() {
    let mut console = Console::new(120, 36);
    console.type_in("jjjj");
    let chosen = console.model.selected().cloned();
    assert_eq!(chosen, Some(RowId::Node("db-replica-0".parse().unwrap())));
    let by_slot = slots(&console);
    console.type_in("s");
    assert_eq!(console.model.selected(), chosen.as_ref());
    assert!(text(&console).contains("by stage"));
    assert_ne!(slots(&console), by_slot);
    console.type_in("s");
    assert!(text(&console).contains("by age"));
    assert_eq!(slots(&console).first().map(String::as_str), Some("gpu-workers-10"));
    console.type_in("S");
    assert!(text(&console).contains("by age, reversed"));
    assert_eq!(slots(&console).last().map(String::as_str), Some("gpu-workers-10"));
    console.type_in("s");
    assert_eq!(slots(&console).last().map(String::as_str), Some("db-replica-0"));
    console.type_in("S");
    assert_eq!(slots(&console).first().map(String::as_str), Some("db-replica-0"));
    assert_eq!(console.model.selected(), chosen.as_ref());
    console.type_in("s");
    assert_eq!(slots(&console), by_slot, "around the end the groups are back");
}

fn wide(n: u32) -> RunView {
    let nodes: Vec<NodeView> = (0..n).map(|at| node(&format!("web-{at}"))).collect();
    RunView { groups: vec![group("api", 0, 0, &[]), group("web", n, n, &[])], nodes, ..run_view() }
}

#[test]
fn the_overview_shows_every_node_and_the_worst_where_there_is_no_room() {
    let mut view = wide(10_000);
    view.nodes[7_777].hold = Some(reconciler_core::hold::HoldCode::CrashLoop);
    let mut console = Console::with(options(), 120, 36, view);
    console.type_in("oj");
    let shown = text(&console);
    assert!(shown.contains("10000 nodes; a letter is the worst of"), "{shown}");
    let map = shown.lines().skip_while(|line| !line.contains("10000 nodes")).collect::<String>();
    assert_eq!(map.split("[4] Events").next().unwrap().matches('?').count(), 1, "{shown}");
    console.key(Key::Enter);
    assert!(text(&console).contains("web-0"), "Enter goes into the group");
    assert_eq!(console.model.selected(), Some(&RowId::Group("web".parse().unwrap())));
}

/// Every verb of the command line is known behind the colon: done here, or given out as it is typed in a shell.
#[test]
fn every_verb_is_known_behind_the_colon() {
    let help = std::process::Command::new(env!("CARGO_BIN_EXE_levelhead")).arg("--help").output();
    let help = String::from_utf8(help.unwrap().stdout).unwrap();
    let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let verbs = verbs.map_while(|line| line.strip_prefix("  "));
    let verbs: Vec<&str> =
        verbs.filter(|line| !line.starts_with(' ')).filter_map(|it| it.split(' ').next()).collect();
    assert!(verbs.contains(&"logs") && verbs.contains(&"stop"), "{help}");
    for verb in verbs {
        let mut console = Console::new(120, 36);
        drop(command(&mut console, verb));
        assert!(!text(&console).contains("there is no command"), "{verb}");
    }
}

#[test]
fn what_a_shell_does_is_given_out_as_it_is_typed_there() {
    let mut console = Console::new(120, 36);
    command(&mut console, "go gpu-workers-9");
    let line = "levelhead logs gpu-workers-9 --file cluster.toml";
    assert_eq!(command(&mut console, "logs"), [Cmd::Copy(line.to_owned())]);
    assert!(text(&console).contains(line));
}

/// What is asked for by a verb is planned and confirmed like a draft, which stays what it is.
#[test]
fn a_verb_leads_to_a_plan_and_leaves_the_draft() {
    let mut console = Console::new(120, 36);
    command(&mut console, "scale cpu-batch 5");
    let asked = command(&mut console, "stop cpu-batch-0");
    let [Cmd::Plan { id, edit: Edit::Stop { subjects } }] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    assert_eq!(subjects, &["cpu-batch-0"]);
    let stops = plan(&[("cpu-batch", 2, 2, &[("cpu-batch-0", ChangeKind::Stop, true)])]);
    console.msg(Msg::Reply(Reply::Plan(*id, Ok(stops.into()))));
    let shown = text(&console);
    assert!(shown.contains("Apply plan?  stop cpu-batch-0"), "{shown}");
    assert!(shown.contains("Stops 1; leases stay."), "{shown}");
    assert!(console.key(Key::Enter).is_empty(), "what serves is stopped by its name alone");
    let again = console.key(Key::Ctrl('r'));
    assert!(
        matches!(again.as_slice(), [Cmd::Plan { edit: Edit::Stop { .. }, .. }]),
        "it is planned again as it was: {again:?}"
    );
    console.key(Key::Esc);
    assert!(text(&console).contains("2>5*"));
    for (line, told) in [("update cpu-batch x", "update GROUP pause|"), ("rm", "rm GROUP")] {
        assert!(command(&mut console, line).is_empty());
        assert!(text(&console).contains(told), "{line}");
    }
    command(&mut console, "explain gpu-workers-9");
    assert!(console.model.has_popup());
}

fn command(console: &mut Console, line: &str) -> Vec<Cmd> {
    console.key(Key::Char(':'));
    console.type_in(line);
    console.key(Key::Enter)
}

#[test]
fn a_command_does_what_its_key_does() {
    let mut console = Console::new(120, 36);
    command(&mut console, "scale cpu-batch 5");
    assert!(text(&console).contains("2>5*"));
    assert!(matches!(command(&mut console, "plan").as_slice(), [Cmd::Plan { .. }]));
    console.key(Key::Esc);
    command(&mut console, "undo");
    assert!(!text(&console).contains("2>5*"));
    command(&mut console, "go gpu-workers-9");
    assert_eq!(console.model.selected(), Some(&RowId::Node("gpu-workers-9".parse().unwrap())));
    command(&mut console, "filter stage:F");
    assert!(text(&console).contains("filter:stage:F"));
    command(&mut console, "go cpu-batch-1");
    assert_eq!(console.model.selected(), Some(&RowId::Node("cpu-batch-1".parse().unwrap())));
    command(&mut console, "nonsense");
    assert!(text(&console).contains("there is no command nonsense"));
    command(&mut console, "scale nowhere 3");
    assert!(text(&console).contains("there is no group nowhere"));
    console.key(Key::Char(':'));
    console.type_in("go");
    assert!(text(&console).contains(":go_"), "what is typed is seen, whatever was told before");
    assert!(!text(&console).contains("there is no group"));
    console.key(Key::Esc);
    assert!(matches!(command(&mut console, "q").as_slice(), [Cmd::Quit(_)]));
}

#[test]
fn a_command_is_completed_as_far_as_it_can_only_be_one() {
    let mut console = Console::new(120, 36);
    console.type_in(":sc");
    console.key(Key::Tab);
    assert!(text(&console).contains(":scale _"), "{}", text(&console));
    console.type_in("gpu");
    console.key(Key::Tab);
    assert!(text(&console).contains(":scale gpu-workers _"), "{}", text(&console));
    console.type_in("7");
    console.key(Key::Enter);
    assert!(text(&console).contains("4>7*"));
}

#[test]
fn what_is_selected_is_copied_and_of_a_hold_its_command() {
    let copied = |cmds: Vec<Cmd>| match cmds.as_slice() {
        [Cmd::Copy(text)] => text.clone(),
        other => panic!("{other:?}"),
    };
    let mut console = Console::new(120, 36);
    console.type_in("j");
    assert_eq!(copied(console.type_in("c")), "cpu-batch-0");
    let way_out = "levelhead release db-replica-0 --file cluster.toml";
    assert_eq!(copied(console.type_in("5c")), way_out);
    let (id, _) = console.ask("2+");
    let shown = crate::console_fixture::plan(&[(
        "cpu-batch",
        2,
        3,
        &[("cpu-batch-2", driver::view::ChangeKind::Create, false)],
    )]);
    let hash = shown.hash.to_string();
    console.msg(Msg::Reply(Reply::Plan(id, Ok(shown.into()))));
    assert_eq!(copied(console.type_in("c")), hash, "of a plan, its whole hash");
}

fn followed() -> RunView {
    let file = FileView {
        path: "cluster.toml".to_owned(),
        problem: None,
        differs: vec![("cpu-batch".parse().unwrap(), 1, 2)],
        off_differs: Vec::new(),
        revised: Vec::new(),
    };
    RunView { file: Some(file), ..run_view() }
}

/// D14: the file is written with the live counts only after they were shown and a yes.
#[test]
fn live_counts_are_written_back_once_they_were_shown() {
    let mut console = Console::with(options(), 120, 36, followed());
    assert!(console.type_in("W").is_empty());
    assert!(text(&console).contains("cpu-batch  count = 1 -> 2"));
    let ordered = console.type_in("y");
    let [Cmd::WriteBack { id, counts }] = ordered.as_slice() else { panic!("{ordered:?}") };
    assert_eq!(counts, &[("cpu-batch".parse().unwrap(), 2)].into_iter().collect());
    console.msg(Msg::Reply(Reply::Written(*id, Ok("cluster.toml".to_owned()))));
    assert!(text(&console).contains("wrote the live counts into cluster.toml"));
    console.type_in("W");
    assert!(console.key(Key::Esc).is_empty() && !console.model.has_popup());

    let mut console = Console::new(120, 36);
    assert!(console.type_in("W").is_empty() && text(&console).contains("no file is followed"));
    let read_only = Options { read_only: true, ..options() };
    let mut console = Console::with(read_only, 120, 36, followed());
    assert!(console.type_in("Wy").is_empty() && !console.model.has_popup());
}

/// Blue and yellow stand where green and red do.
#[test]
fn the_palette_for_the_colour_blind_has_neither_red_nor_green() {
    use ratatui::style::Color as Ansi;
    let blind = Options { color: tui::console::options::Color::Blind, ..options() };
    let console = Console::with(blind, 120, 36, run_view());
    let terminal = console.screen(120, 36);
    let cells = terminal.backend().buffer().content();
    assert!(cells.iter().all(|cell| !matches!(cell.fg, Ansi::Red | Ansi::Green)));
    assert!(cells.iter().any(|cell| cell.fg == Ansi::Yellow));
}
