//! One owner for every mode that is set on the terminal; whatever happens, it is given back as it was.
//!
//! A panic in the console's own code restores the screen before it is reported. A panic elsewhere (a provider,
//! a task of the driver) is not the console's end: it goes to the log instead of over the picture.

use std::{
    cell::Cell,
    io::{self, IsTerminal, Stdout, Write},
    panic,
    sync::{
        Once,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use crossterm::{
    cursor::{Hide, Show},
    event::{DisableMouseCapture, EnableMouseCapture},
    execute, queue,
    style::force_color_output,
    terminal::{
        BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
        LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
    },
};
use ratatui::{Frame, Terminal, backend::CrosstermBackend};

use super::clipboard;

static ACTIVE: AtomicBool = AtomicBool::new(false);
static MOUSE: AtomicBool = AtomicBool::new(false);
/// True if frames are wrapped so that the terminal shows each at once.
static SYNCS: AtomicBool = AtomicBool::new(true);
static SENT: AtomicU64 = AtomicU64::new(0);
static HOOK: Once = Once::new();

thread_local! {
    static IN_CONSOLE: Cell<bool> = const { Cell::new(false) };
}

/// Standard output, and how much went there.
struct Counted(Stdout);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.write(bytes)?;
        SENT.fetch_add(u64::try_from(written).unwrap_or(u64::MAX), Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The terminal while the console has it.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Counted>>,
}

impl Screen {
    /// Takes the terminal, if there is one that can move its cursor.
    pub(crate) fn take(syncs: bool) -> io::Result<Self> {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        if dumb || !io::stdout().is_terminal() {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        HOOK.call_once(install_hook);
        // The palette alone decides on colours; left to itself the library resets reverse video under NO_COLOR.
        force_color_output(true);
        let terminal = Terminal::new(CrosstermBackend::new(Counted(io::stdout())))?;
        let mut screen = Self { terminal };
        SYNCS.store(syncs, Ordering::SeqCst);
        screen.enter()?;
        Ok(screen)
    }

    /// Sets the modes, at first and after a stop.
    pub(crate) fn enter(&mut self) -> io::Result<()> {
        ACTIVE.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, Hide)?;
        self.clear()
    }

    /// Takes clicks and the wheel, or leaves them to the terminal.
    pub(crate) fn mouse(takes: bool) -> io::Result<()> {
        match (MOUSE.swap(takes, Ordering::SeqCst), takes) {
            (false, true) => execute!(io::stdout(), EnableMouseCapture),
            (true, false) => execute!(io::stdout(), DisableMouseCapture),
            (true, true) | (false, false) => Ok(()),
        }
    }

    /// Gives the terminal back; does nothing if that was done.
    pub(crate) fn leave() -> io::Result<()> {
        restore()
    }

    /// Bytes of frames so far.
    pub(crate) fn sent() -> u64 {
        SENT.load(Ordering::Relaxed)
    }

    /// The size in columns and rows.
    pub(crate) fn size() -> io::Result<(u16, u16)> {
        size()
    }

    /// Forgets what was painted, so that the next frame is whole. The library's own way asks the terminal for
    /// its cursor and waits for the answer, which the thread that reads keys would take away from it.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        execute!(io::stdout(), Clear(ClearType::All))?;
        self.terminal = Terminal::new(CrosstermBackend::new(Counted(io::stdout())))?;
        Ok(())
    }

    /// Puts a text on the clipboard of who looks, if the terminal does that.
    pub(crate) fn copy(text: &str) -> io::Result<()> {
        let in_tmux = std::env::var_os("TMUX").is_some();
        let mut out = io::stdout();
        out.write_all(clipboard::sequence(text, in_tmux).as_bytes())?;
        out.flush()
    }

    /// Paints one frame; only what changed is sent.
    pub(crate) fn paint(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let syncs = SYNCS.load(Ordering::SeqCst);
        if syncs {
            queue!(io::stdout(), BeginSynchronizedUpdate)?;
        }
        let painted = self.terminal.draw(draw).map(|_frame| ());
        if syncs {
            queue!(io::stdout(), EndSynchronizedUpdate)?;
        }
        io::stdout().flush()?;
        painted
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Err(error) = restore() {
            tracing::warn!(%error, "the terminal could not be given back");
        }
    }
}

fn restore() -> io::Result<()> {
    if !ACTIVE.swap(false, Ordering::SeqCst) {
        return Ok(());
    }
    let mouse = Screen::mouse(false);
    let ended = if SYNCS.load(Ordering::SeqCst) {
        queue!(io::stdout(), EndSynchronizedUpdate)
    } else {
        Ok(())
    };
    let shown = execute!(io::stdout(), LeaveAlternateScreen, Show);
    disable_raw_mode().and(ended).and(shown).and(mouse)
}

/// Runs the console's own code, so that a panic in it gives the terminal back first.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> T {
    struct Mark(bool);
    impl Drop for Mark {
        fn drop(&mut self) {
            IN_CONSOLE.set(self.0);
        }
    }
    let _mark = Mark(IN_CONSOLE.replace(true));
    work()
}

fn install_hook() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let ours = IN_CONSOLE.get();
        if ACTIVE.load(Ordering::SeqCst) && !ours {
            tracing::error!(panic = %info, "a task panicked while the console was up");
            return;
        }
        if let Err(error) = restore() {
            tracing::error!(%error, "the terminal could not be given back");
        }
        report(info);
    }));
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        io::Read as _,
        process::{Command, Stdio},
    };

    use ratatui::widgets::Clear as Blank;
    use rustix::{
        fs::{OFlags, fcntl_setfl},
        pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
        termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
    };

    use super::*;

    const CHILD: &str = "LEVELHEAD_TEST_ON_A_TERMINAL";
    const NAME: &str = "console::terminal::guard::tests::a_panic_on_a_terminal";

    /// The other side of the next test, in a process of its own; in any other process there is nothing to see.
    #[test]
    fn a_panic_on_a_terminal() {
        if std::env::var_os(CHILD).is_none() {
            return;
        }
        let mut screen = Screen::take(true).unwrap();
        Screen::mouse(true).unwrap();
        screen.paint(|frame| frame.render_widget(Blank, frame.area())).unwrap();
        guarded(|| panic!("the console broke"));
    }

    /// Whatever was set is taken back before the report, which stands on the screen that was there before.
    #[test]
    fn a_panic_gives_the_terminal_back_before_it_is_told() {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", NAME, "--nocapture"]).env(CHILD, "1").env("TERM", "xterm");
        let ended = child.stdin(end()).stdout(end()).stderr(end()).status().unwrap();
        assert!(!ended.success());
        let modes = tcgetattr(&slave).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG));
        fcntl_setfl(&master, OFlags::NONBLOCK).unwrap();
        let mut bytes = Vec::new();
        // It ends when there is no more, because this side of the terminal stays open.
        drop(File::from(master).read_to_end(&mut bytes));
        let text = String::from_utf8_lossy(&bytes);
        let told = text.find("the console broke").unwrap();
        for (set, unset) in [
            ("\u{1b}[?1049h", "\u{1b}[?1049l"),
            ("\u{1b}[?25l", "\u{1b}[?25h"),
            ("?1003h", "?1003l"),
        ] {
            let at =
                |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what:?} in {text}"));
            assert!(at(set) < at(unset) && at(unset) < told, "{unset:?}: {text}");
        }
    }
}
