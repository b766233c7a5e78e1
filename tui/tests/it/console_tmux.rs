//! The console in a real terminal: started, used, resized, suspended and left, under tmux.
//!
//! Where tmux is not installed, each test says so by name and passes; a machine that has it must not skip.

use std::{
    cell::Cell,
    process::{Command, Output},
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;

use crate::world::{LOOK, PATIENCE, World, node, servers, until, until_true};

/// A terminal of its own, on a tmux server of its own.
pub(crate) struct Terminal {
    socket: String,
    typed: Cell<Instant>,
}

/// Keys of a person come further apart than those of a paste, which answer nothing.
const APART: Duration = Duration::from_millis(150);

impl Terminal {
    /// Opens a shell of `width` by `height` in the world's directory; nothing if there is no tmux.
    pub(crate) fn open(world: &World, width: u16, height: u16) -> Option<Self> {
        let socket = format!("levelhead-{}", world.uuid());
        let terminal = Self { socket, typed: Cell::new(Instant::now()) };
        if Command::new("tmux").arg("-V").output().is_err() {
            eprintln!("skipped: tmux is not installed");
            return None;
        }
        let (width, height) = (width.to_string(), height.to_string());
        let dir = world.dir().display().to_string();
        let shell = "env -u NO_COLOR PS1='prompt> ' TERM=screen LC_ALL=C.UTF-8 sh -i";
        terminal.tmux(&["new-session", "-d", "-x", &width, "-y", &height, "-c", &dir, shell]);
        until_true("the shell prompts", || terminal.screen().contains("prompt>"));
        Some(terminal)
    }

    pub(crate) fn output(&self, words: &[&str]) -> Output {
        let mut tmux = Command::new("tmux");
        tmux.args(["-L", &self.socket, "-f", "/dev/null"]).args(words).output().unwrap()
    }

    pub(crate) fn tmux(&self, words: &[&str]) {
        let output = self.output(words);
        assert!(output.status.success(), "tmux {words:?}: {output:?}");
    }

    /// What stands on the screen.
    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.output(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// Presses keys, one after the other, as a person does.
    pub(crate) fn press(&self, keys: &[&str]) {
        for key in keys {
            until_true("the key before is over", || self.typed.get().elapsed() >= APART);
            self.tmux(&["send-keys", key]);
            self.typed.set(Instant::now());
        }
    }

    /// Types a text as it is, all at once.
    pub(crate) fn type_in(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
        self.typed.set(Instant::now());
    }

    /// Types a line.
    pub(crate) fn enter(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.press(&["Enter"]);
    }

    pub(crate) fn resize(&self, width: u16, height: u16) {
        self.tmux(&["resize-window", "-x", &width.to_string(), "-y", &height.to_string()]);
    }

    /// Waits until every one of `texts` stands on the screen, and fails with the screen if they never do.
    pub(crate) fn shows(&self, texts: &[&str]) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if texts.iter().all(|text| screen.contains(text)) {
                return screen;
            }
            assert!(Instant::now() < deadline, "in vain waited for {texts:?} on\n{screen}");
            thread::sleep(LOOK);
        }
    }

    /// Starts the console of `world`, which says how it ended.
    pub(crate) fn console(&self, world: &World, options: &str) {
        let (program, state) = (env!("CARGO_BIN_EXE_levelhead"), world.state().display());
        let file = world.file().display().to_string();
        self.enter(&format!(
            "{program} --state-dir {state} console {file} {options}; echo ended=$?"
        ));
    }

    /// Leaves the console, and checks that the terminal is as it was before.
    pub(crate) fn leave(&self) {
        self.press(&["q"]);
        self.shows(&["y quit"]);
        self.press(&["y"]);
        self.shows(&["ended=0"]);
        self.is_clean();
    }

    pub(crate) fn is_clean(&self) {
        self.enter("clear; stty -a");
        let screen = self.shows(&["icanon", "echo", "isig"]);
        assert!(!screen.contains("-icanon") && !screen.contains("-isig"), "{screen}");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A server that is gone is what is wanted.
        drop(self.output(&["kill-server"]));
    }
}

/// A count is raised, previewed, confirmed, and the tracks advance one step per pass; then the screen is resized
/// and left, the terminal is clean, and the run goes on with the next driver.
#[test]
fn a_count_is_raised_on_the_screen_and_stays() {
    let mut world = World::new(&servers("web", 2));
    let Some(terminal) = Terminal::open(&world, 120, 36) else { return };
    terminal.console(&world, "--ascii --pace 50ms");
    terminal.shows(&["CONVERGED", "ready 2/2", "web-0", "web-1"]);
    terminal.press(&["+"]);
    terminal.shows(&["2>3*"]);
    terminal.press(&["p"]);
    terminal.shows(&["Apply plan?", "create   web-2", "sha256:"]);
    // A key pressed before the plan could be read does not count.
    until_true("the plan is applied", || {
        terminal.press(&["a"]);
        !terminal.screen().contains("[ Apply a ]")
    });
    let screen = terminal.shows(&["ready 3/3", "web-2"]);
    assert!(screen.contains("gen 2"), "{screen}");
    let fresh = until("the ribbon of the new node", || {
        let screen = terminal.screen();
        let line = screen.lines().find(|line| line.contains("web-2") && line.contains('H'));
        line.map(ToOwned::to_owned)
    });
    // One column a pass: no stage is passed by in one step.
    assert!(fresh.contains("NNL") || fresh.contains("NLB"), "{fresh}");
    terminal.resize(80, 24);
    terminal.shows(&["1 Groups", "[2 Fleet]", "web-2"]);
    terminal.resize(120, 36);
    terminal.shows(&["[1] Groups", "[4] Events", "web-2"]);
    terminal.leave();
    assert_eq!(node(&world.status(), "web-2")["ready"], true);
    let before = world.pids();
    world.drive();
    let view = world.until_state("converged");
    assert_eq!(view["want"], 3);
    assert_eq!(world.pids(), before);
    assert_eq!(world.end_driver(Signal::TERM), 143);
}

/// Sizes from the smallest to a large one, in quick succession, and the console is still there.
#[test]
fn no_size_ends_the_console() {
    let world = World::new(&servers("web", 1));
    let Some(terminal) = Terminal::open(&world, 100, 30) else { return };
    terminal.console(&world, "");
    terminal.shows(&["CONVERGED", "ready 1/1"]);
    for (width, height) in
        [(1, 1), (2, 40), (40, 2), (39, 9), (40, 10), (59, 15), (200, 60), (80, 24)]
    {
        terminal.resize(width, height);
    }
    terminal.shows(&["CONVERGED", "web-0"]);
    terminal.leave();
}

/// A termination request leaves a clean terminal and the documented exit code.
#[test]
fn a_terminated_console_cleans_up() {
    let world = World::new(&servers("web", 1));
    let Some(terminal) = Terminal::open(&world, 100, 30) else { return };
    terminal.console(&world, "");
    terminal.shows(&["CONVERGED", "ready 1/1"]);
    let pid = world.status()["driver"]["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
    let pid = rustix::process::Pid::from_raw(pid.unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    terminal.shows(&["ended=143"]);
    terminal.is_clean();
    assert_eq!(world.status()["ready"], 1);
}

/// A console that may only look says so, and has no key that edits.
#[test]
fn a_read_only_console_edits_nothing() {
    let world = World::new(&servers("web", 1));
    let Some(terminal) = Terminal::open(&world, 100, 30) else { return };
    terminal.console(&world, "--read-only");
    terminal.shows(&["CONVERGED", "ready 1/1", "[RO]"]);
    terminal.press(&["+", "p"]);
    terminal.shows(&["read-only"]);
    terminal.leave();
    assert_eq!(world.status()["generation"], 1);
}
