//! `levelhead driver`: the headless mode; drives until it is told to stop. In the foreground and under a service manager
//! it is the same loop (R182).

use std::{sync::Arc, time::Duration};

use driver::{
    Begin, Handle, Published,
    api::{Listen, ListenError, ListenFiles},
    start,
};
use tokio::{sync::mpsc, time::Instant};

use super::{
    context::Context,
    exit::{Exit, Failure, Outcome, chain},
    logging,
    notify::{Notifier, Stand},
    signals::{Stops, exit_of},
    values::{Listening, LogFormat},
};

/// How often the status is told, where it is another.
const STATUS_PERIOD: Duration = Duration::from_secs(1);

/// Drives the run and follows its file.
pub(crate) async fn run(
    context: &Context,
    pace: Duration,
    log_format: LogFormat,
    listening: &Listening,
) -> Outcome {
    let _guard = logging::start(&context.paths, Some(log_format))?;
    let mut stops = Stops::listen()?;
    let mut notifier = Notifier::from_env()
        .map_err(|error| Failure::internal("NOTIFY_SOCKET cannot be used", &error))?;
    // Before the run is taken: a listener that is refused leaves no trace.
    let listen = listen(context, listening)?;
    let mut options = context.options(Begin::Driving, pace);
    options.follow = Some(context.followed());
    let mut driver = start(options).map_err(Failure::from)?;
    if let Some(listen) = listen {
        let address = listen.address();
        let address = address.map_or_else(|error| error.to_string(), |at| at.to_string());
        tracing::info!(%address, "the control API is served over TLS");
        driver = driver.listening(listen);
    }
    let handle = driver.handle();
    tracing::info!(run = %context.loaded.shape.run, state = %context.paths.dir().display(), "driving");
    let mut driving = std::pin::pin!(driver.run());
    let mut published = handle.published();
    let period = notifier.period().map_or(STATUS_PERIOD, |period| period.min(STATUS_PERIOD));
    let mut next = Instant::now() + period;
    let mut is_ready = false;
    let (turned, mut turns) = mpsc::channel(1);
    let ended = loop {
        tokio::select! {
            ended = &mut driving => break ended?,
            reason = stops.requested() => {
                tracing::info!(?reason, "stopping at a safe point; the nodes keep running");
                notifier.stopping();
                handle.stop(reason);
            }
            // How the run stands costs as much as a view of it: nobody computes it for nobody, or more often than is read.
            Ok(()) = published.changed(), if !is_ready && notifier.is_active() => {
                let latest = published.borrow_and_update().clone();
                if latest.has_looked() {
                    is_ready = true;
                    notifier.ready(stand(&latest));
                }
            }
            Some(()) = turns.recv() => notifier.alive(),
            () = tokio::time::sleep_until(next), if notifier.is_active() => {
                next = Instant::now() + period;
                ask(handle.clone(), turned.clone());
                if is_ready {
                    notifier.status(stand(&published.borrow().clone()));
                }
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

/// Has the loop itself answer: one that hangs feeds no watchdog.
fn ask(handle: Handle, turned: mpsc::Sender<()>) {
    drop(tokio::spawn(async move {
        if handle.ping().await.is_ok() {
            // One that is waiting to be told says the same.
            turned.try_send(()).unwrap_or_default();
        }
    }));
}

fn stand(published: &Arc<Published>) -> Stand {
    let standing = published.standing();
    Stand {
        state: published.state(),
        counts: (standing.ready, standing.want, standing.held),
        retry: published.retry_in(driver::system_clock()()),
    }
}

/// The address on which the API is served, if one was asked for.
fn listen(context: &Context, listening: &Listening) -> Result<Option<Listen>, Failure> {
    let (Some(address), Some(cert), Some(key)) =
        (listening.listen, listening.tls_cert.clone(), listening.tls_key.clone())
    else {
        return Ok(None);
    };
    let files = ListenFiles { cert, key, client_ca: listening.client_ca.clone() };
    Listen::bind(address, &files, &context.paths).map(Some).map_err(|error| {
        let failure = |exit| Failure::new(exit, chain(&error));
        match &error {
            ListenError::Nobody => failure(Exit::Refused)
                .hint("`levelhead token add NAME` makes a token; or give --client-ca FILE"),
            ListenError::OpenKey { path } => {
                failure(Exit::Refused).hint(format!("chmod 600 {}", path.display()))
            }
            ListenError::Bind { .. } => failure(Exit::Unavailable),
            ListenError::Tokens(_) => failure(Exit::Journal),
            ListenError::Pem { .. } | ListenError::Tls(_) | ListenError::Verifier(_) => {
                failure(Exit::Invalid)
            }
        }
    })
}
