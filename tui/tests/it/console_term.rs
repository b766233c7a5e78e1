//! What a console does with its terminal and its link: stopped and continued, copied from, clicked, silent and strange
//! drivers, counts on their way into the file, and what it knows into files.
//!
//! Under tmux, as in `console_tmux`; where that is missing, each test says so and passes.

use std::fs;

use crate::{
    console_far::{Far, snapshot},
    console_tmux::Terminal,
    world::{World, servers, until, until_true},
};

fn driven() -> World {
    driven_by(&servers("web", 2))
}

fn driven_by(text: &str) -> World {
    let mut world = World::new(text);
    world.drive();
    world.until_state("converged");
    world
}

/// A console that looks at the driver behind `far`.
fn attach(terminal: &Terminal, far: &Far) {
    let program = env!("CARGO_BIN_EXE_levelhead");
    let socket = far.socket.display();
    terminal.enter(&format!("{program} console --ascii --attach {socket}; echo ended=$?"));
}

/// Ctrl-Z gives the terminal back as it was, and `fg` goes on where the console stood.
#[test]
fn a_console_is_stopped_and_continued() {
    let world = driven();
    let Some(terminal) = Terminal::open(&world, 100, 30) else { return };
    let (program, state) = (env!("CARGO_BIN_EXE_levelhead"), world.state().display());
    let file = world.file().display().to_string();
    terminal.enter(&format!("{program} --state-dir {state} console {file} --ascii"));
    terminal.shows(&["LIVE", "ready 2/2"]);
    terminal.press(&["+", "C-z"]);
    terminal.shows(&["Stopped", "prompt>"]);
    terminal.is_clean();
    terminal.enter("clear; fg");
    terminal.shows(&["LIVE", "web-1", "draft: web 2->3"]);
    terminal.press(&["U", "q"]);
    until_true("the console has left", || terminal.screen().trim_end().ends_with("prompt>"));
    terminal.is_clean();
}

/// What is copied reaches the clipboard through the terminal (OSC 52).
#[test]
fn a_copy_reaches_the_clipboard_through_the_terminal() {
    let world = driven();
    let Some(terminal) = Terminal::open(&world, 100, 30) else { return };
    terminal.tmux(&["set-option", "-s", "set-clipboard", "on"]);
    terminal.console(&world, "--ascii");
    terminal.shows(&["LIVE", "ready 2/2"]);
    terminal.press(&["G", "c"]);
    terminal.shows(&["copied, if the terminal takes it: web-1"]);
    until_true("the clipboard has it", || {
        String::from_utf8_lossy(&terminal.output(&["show-buffer"]).stdout) == "web-1"
    });
    terminal.press(&["q"]);
    terminal.shows(&["ended=0"]);
}

/// A driver that is there and says nothing any more lags; what it said last stays.
#[test]
fn a_driver_that_falls_silent_is_said_to_lag() {
    let world = World::new(&servers("web", 1));
    let Some(terminal) = Terminal::open(&world, 120, 36) else { return };
    let far = Far::says(world.dir(), snapshot(|_| {}));
    attach(&terminal, &far);
    terminal.shows(&["LIVE", "gpu-workers-9", "[RO]"]);
    terminal.shows(&["LAGGING", "gpu-workers-9"]);
    terminal.press(&["q"]);
    terminal.shows(&["ended=0"]);
}

/// A driver of another version is told apart from one that is not there.
#[test]
fn a_driver_that_cannot_be_understood_is_said_to_be_incompatible() {
    let world = World::new(&servers("web", 1));
    let Some(terminal) = Terminal::open(&world, 120, 36) else { return };
    let far = Far::says(world.dir(), snapshot(|view| view.schema += 1));
    attach(&terminal, &far);
    terminal.shows(&["INCOMPATIBLE", "its views have the form", "(R now)"]);
    terminal.press(&["q"]);
    terminal.shows(&["ended=0"]);
}

/// A lost driver is tried again after a while that grows, and at once where `R` asks for it.
#[test]
fn a_lost_driver_is_tried_again_and_at_once_when_asked() {
    let mut world = driven();
    let Some(terminal) = Terminal::open(&world, 120, 36) else { return };
    terminal.console(&world, "--ascii");
    terminal.shows(&["LIVE", "ready 2/2"]);
    world.end_driver(rustix::process::Signal::KILL);
    terminal.shows(&["STALE", "DISCONNECTED", "(R now)"]);
    // By now the next try is seconds away.
    let tries = |screen: &str| {
        let nth = screen.split("retry ").nth(1)?.split(' ').next()?;
        nth.parse::<u32>().ok()
    };
    until("a few tries are over", || tries(&terminal.screen()).filter(|nth| *nth >= 4));
    terminal.press(&["R"]);
    until("it begins to count anew", || tries(&terminal.screen()).filter(|nth| *nth < 4));
    world.drive();
    terminal.press(&["R"]);
    terminal.shows(&["LIVE", "ready 2/2"]);
    terminal.press(&["q"]);
    terminal.shows(&["ended=0"]);
}

/// Live counts go into the file from the console, and its comments stay (D14).
#[test]
fn counts_are_written_into_the_file_from_the_screen() {
    let text = servers("web", 2).replace("count = 2", "count = 2 # as many as the load asks for");
    let world = driven_by(&text);
    let text = fs::read_to_string(world.file()).unwrap();
    world.expect(0, &["scale", "web=3", "--yes", "--detach", "--file", "FILE"]);
    let Some(terminal) = Terminal::open(&world, 120, 36) else { return };
    terminal.console(&world, "--ascii");
    terminal.shows(&["LIVE", "says web 2, live is 3"]);
    terminal.press(&["W"]);
    terminal.shows(&["Write the live counts into the file?", "count = 2 -> 3"]);
    terminal.press(&["y"]);
    terminal.shows(&["wrote the live counts into"]);
    let written = fs::read_to_string(world.file()).unwrap();
    assert_eq!(written, text.replace("count = 2 #", "count = 3 #"));
    terminal.press(&["q"]);
    terminal.shows(&["ended=0"]);
}

/// What is shown goes into new files that are nobody else's.
#[test]
fn what_is_shown_is_written_into_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = driven();
    let Some(terminal) = Terminal::open(&world, 120, 36) else { return };
    terminal.console(&world, "--ascii");
    terminal.shows(&["LIVE", "ready 2/2"]);
    let files = |ending: &str| {
        let all = fs::read_dir(world.dir()).unwrap().map(|file| file.unwrap().path());
        let named = |path: &std::path::PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with("levelhead-it-pass") && name.ends_with(ending)
        };
        all.filter(named).collect::<Vec<_>>()
    };
    terminal.press(&["e"]);
    terminal.shows(&["wrote levelhead-it-pass"]);
    terminal.press(&["e"]);
    until_true("both are there, twice", || files(".json").len() == 2 && files(".txt").len() == 2);
    for path in files(".json").into_iter().chain(files(".txt")) {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("web-1"), "{text}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    terminal.press(&["q"]);
    terminal.shows(&["ended=0"]);
}

/// The mouse is the terminal's until it is asked for; then a click selects, and it is given back at the end.
#[test]
fn a_click_selects_once_the_mouse_is_asked_for() {
    let world = driven();
    let Some(terminal) = Terminal::open(&world, 120, 36) else { return };
    let takes = || {
        let flag = terminal.output(&["display-message", "-p", "#{mouse_any_flag}"]).stdout;
        String::from_utf8_lossy(&flag).trim() == "1"
    };
    terminal.console(&world, "--ascii");
    terminal.shows(&["LIVE", "ready 2/2"]);
    assert!(!takes());
    terminal.press(&["m"]);
    until_true("the mouse is taken", takes);
    terminal.press(&["4"]);
    until_true("events are for the terminal to select", || !takes());
    terminal.press(&["2"]);
    until_true("the mouse is taken again", takes);
    let row = terminal.screen().lines().position(|line| line.contains("web-1")).unwrap();
    // A press of the left button, as terminals code it.
    terminal.type_in(&format!("\u{1b}[<0;60;{}M", row + 1));
    terminal.shows(&["> web-1"]);
    terminal.press(&["q"]);
    terminal.shows(&["ended=0"]);
    assert!(!takes());
}
