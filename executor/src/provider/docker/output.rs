//! The output of a slot's containers, as `levelhead logs` shows it.

use std::{collections::BTreeSet, time::Duration};

use bollard::query_parameters::LogsOptions;
use futures_util::StreamExt as _;
use reconciler_core::redact::Redacted;

use super::{
    ground::{Ground, Listed},
    labels,
    problem::EngineError,
};
use crate::seam::{OutputAsk, OutputSink};

/// Time between two looks for containers that were not there before.
const PERIOD: Duration = Duration::from_millis(500);

/// Hands on what the containers of a slot wrote, the oldest container first.
pub(super) async fn output(
    ground: &Ground,
    ask: OutputAsk<'_>,
    sink: OutputSink<'_>,
) -> Result<(), Redacted> {
    let told = |error: EngineError| Redacted::new(&error.to_string());
    let mut read = BTreeSet::new();
    loop {
        let slot = [(labels::RUN, ask.run.to_string()), (labels::SLOT, ask.slot.to_string())];
        let mut all = ground.list(slot, Ground::soon()).await.map_err(told)?;
        all.sort_by_key(|one| one.created);
        for one in all.iter().filter(|one| !read.contains(&one.id)) {
            pour(ground, one, ask, sink).await.map_err(told)?;
        }
        if !ask.follow {
            return Ok(());
        }
        read.extend(all.into_iter().map(|one| one.id));
        tokio::time::sleep(PERIOD).await;
    }
}

/// Hands on the output of one container; of one that runs and is followed, until it ends.
async fn pour(
    ground: &Ground,
    one: &Listed,
    ask: OutputAsk<'_>,
    sink: &mut (dyn FnMut(&str, &[u8]) + Send),
) -> Result<(), EngineError> {
    let options = LogsOptions {
        stdout: true,
        stderr: true,
        follow: ask.follow && one.runs,
        tail: ask.lines.to_string(),
        ..LogsOptions::default()
    };
    // One that wrote nothing is there all the same.
    sink(&one.name, &[]);
    let client = ground.engine.client().await?;
    let mut pieces = std::pin::pin!(client.logs(&one.id, Some(options)));
    while let Some(piece) = pieces.next().await {
        match piece {
            Ok(piece) => sink(&one.name, &piece.into_bytes()),
            // One that was removed meanwhile has no output any more, and takes nothing from the others'.
            Err(error) => match EngineError::from(error) {
                gone if gone.is_absence() => return Ok(()),
                error => return Err(error),
            },
        }
    }
    Ok(())
}
