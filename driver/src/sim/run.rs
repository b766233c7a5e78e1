//! Playing a story: inputs at their times, a new driver after each death, then the fair tail.

use tokio::sync::mpsc::unbounded_channel;

use super::{cast::Cast, event::Broken, scene::Stage, story::Story, tail};

/// How a story went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What happened, a line per event.
    pub trace: String,
    /// The first law that broke.
    pub broken: Option<Broken>,
}

/// Plays a story. The same story gives the same outcome, byte for byte.
///
/// # Panics
/// If the machine has no timer to build a runtime on.
pub fn run(story: &Story) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without threads and input needs nothing");
    let scene = runtime.block_on(async {
        let (tell_ended, ended) = unbounded_channel();
        let stage = Stage::new(story, tell_ended);
        let mut cast = Cast::begin(&stage, story, ended);
        if cast.play(story).await {
            tail::play(&mut cast).await;
        }
        stage
    });
    // Effects of dead drivers end with the runtime; what they would still do is not part of the story.
    drop(runtime);
    scene.with(|scene| Outcome {
        trace: std::mem::take(&mut scene.trace),
        broken: scene.broken.take(),
    })
}
