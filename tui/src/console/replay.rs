//! The loop of a replay: a record on the screen, forward and back, at the speed of who looks.

use std::time::Duration;

use tokio::time::sleep;

use super::{
    message::{Key, Msg},
    run::ConsoleError,
    tape::Player,
    terminal::{Caught, Input, KeyEvent, Screen, Signals, guarded},
    view,
};

/// Time between two things while it plays by itself.
const PACE: Duration = Duration::from_millis(150);

/// Plays a record until its reader leaves. `make` reads the record for a screen of the size that there is.
///
/// # Errors
/// There is no terminal, it fails or goes away, a signal asks the process to end, or `make` fails.
pub async fn replay<E>(
    make: impl FnOnce((u16, u16)) -> Result<Player, E>,
) -> Result<Result<(), ConsoleError>, E> {
    let mut player = match Screen::size() {
        Ok(size) => make(size)?,
        Err(error) => return Ok(Err(error.into())),
    };
    Ok(play(&mut player).await)
}

async fn play(player: &mut Player) -> Result<(), ConsoleError> {
    let mut signals = Signals::listen()?;
    let mut screen = Screen::take(player.syncs())?;
    let mut input = Input::start()?;
    player.advance();
    let mut plays = false;
    loop {
        guarded(|| {
            screen.paint(|frame| {
                view::draw(player.model(), frame);
                view::replay_bar(player, plays, frame);
            })
        })?;
        tokio::select! {
            caught = signals.next() => match caught {
                Caught::Told(Msg::Terminate(number)) => return Err(ConsoleError::Signalled(number)),
                Caught::Told(_) => {}
                Caught::Continued => screen.enter()?,
                Caught::Resized => {
                    let (width, height) = Screen::size()?;
                    player.resize(width, height);
                }
            },
            key = input.next() => match key {
                Some(KeyEvent::Key(key, _)) => {
                    if !pressed(player, key, &mut plays) {
                        return Ok(());
                    }
                }
                Some(KeyEvent::Click(..)) => {}
                Some(KeyEvent::Hangup) | None => return Err(ConsoleError::HungUp),
            },
            () = sleep(PACE), if plays => plays = player.advance(),
        }
    }
}

/// Acts on a key; false if it ends the replay.
fn pressed(player: &mut Player, key: Key, plays: &mut bool) -> bool {
    match key {
        Key::Char('q') | Key::Esc | Key::Ctrl('c') => return false,
        Key::Char('l' | 'j' | ' ') | Key::Right | Key::Enter | Key::Down => {
            *plays = false;
            guarded(|| player.advance());
        }
        Key::Char('h' | 'k') | Key::Left | Key::Up => {
            *plays = false;
            guarded(|| player.back());
        }
        Key::Char('g') | Key::Home => guarded(|| player.seek(0)),
        Key::Char('G') | Key::End => guarded(|| player.seek(usize::MAX)),
        Key::Char('p') => *plays = !*plays,
        Key::Char(_)
        | Key::Ctrl(_)
        | Key::Tab
        | Key::BackTab
        | Key::Backspace
        | Key::PageUp
        | Key::PageDown => {}
    }
    true
}
