//! `levelhead driver`: the headless mode; drives until it is told to stop.

use std::time::Duration;

use driver::{Begin, start};

use super::{
    context::Context,
    exit::{Failure, Outcome},
    signals::{Stops, exit_of},
};

/// Drives the run and follows its file.
pub(crate) async fn run(context: &Context, pace: Duration) -> Outcome {
    let mut stops = Stops::listen()?;
    let mut options = context.options(Begin::Driving, pace);
    options.follow = Some(context.followed());
    let driver = start(options).map_err(Failure::from)?;
    let handle = driver.handle();
    tracing::info!(run = %context.loaded.shape.run, state = %context.paths.dir().display(), "driving");
    let mut driving = std::pin::pin!(driver.run());
    let ended = loop {
        tokio::select! {
            ended = &mut driving => break ended?,
            reason = stops.requested() => {
                tracing::info!(?reason, "stopping at a safe point; the nodes keep running");
                handle.stop(reason);
            }
        }
    };
    if ended.unfinished > 0 {
        tracing::warn!(
            n = ended.unfinished,
            "effects were still under way; the next start looks for them"
        );
    }
    Ok(exit_of(ended.reason))
}
