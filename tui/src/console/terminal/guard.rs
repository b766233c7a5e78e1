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
        atomic::{AtomicBool, Ordering},
    },
};

use crossterm::{
    cursor::{Hide, Show},
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
static HOOK: Once = Once::new();

thread_local! {
    static IN_CONSOLE: Cell<bool> = const { Cell::new(false) };
}

/// The terminal while the console has it.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal, if there is one that can move its cursor.
    pub(crate) fn take() -> io::Result<Self> {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        if dumb || !io::stdout().is_terminal() {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        HOOK.call_once(install_hook);
        // The palette alone decides on colours; left to itself the library resets reverse video under NO_COLOR.
        force_color_output(true);
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        let mut screen = Self { terminal };
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

    /// Gives the terminal back; does nothing if that was done.
    pub(crate) fn leave() -> io::Result<()> {
        restore()
    }

    /// The size in columns and rows.
    pub(crate) fn size() -> io::Result<(u16, u16)> {
        size()
    }

    /// Forgets what was painted, so that the next frame is whole. The library's own way asks the terminal for
    /// its cursor and waits for the answer, which the thread that reads keys would take away from it.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        execute!(io::stdout(), Clear(ClearType::All))?;
        self.terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
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
        queue!(io::stdout(), BeginSynchronizedUpdate)?;
        let painted = self.terminal.draw(draw).map(|_frame| ());
        queue!(io::stdout(), EndSynchronizedUpdate)?;
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
    let shown = execute!(io::stdout(), EndSynchronizedUpdate, LeaveAlternateScreen, Show);
    disable_raw_mode().and(shown)
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
