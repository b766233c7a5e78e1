//! Looks at a run for as long as it is of interest: each state that is new, wherever its driver runs.

use std::sync::Arc;

use tokio::sync::watch;

use crate::{
    api::{CallError, Seen, Watch},
    publish::Published,
    refusing::refuse,
    view::RefusalKind,
};

/// A look at a run that goes on.
#[derive(Debug)]
pub struct Onlooker(Way);

#[derive(Debug)]
enum Way {
    Embedded { published: watch::Receiver<Arc<Published>>, begun: bool },
    Attached(Box<Watch>),
}

impl Onlooker {
    pub(crate) const fn embedded(published: watch::Receiver<Arc<Published>>) -> Self {
        Self(Way::Embedded { published, begun: false })
    }

    pub(crate) fn attached(watch: Watch) -> Self {
        Self(Way::Attached(Box::new(watch)))
    }

    /// The state of the run, at once the first time and then whenever it is new; states that followed fast on each
    /// other are one. After a failure the next call tries again.
    ///
    /// # Errors
    /// Fails if the driver does not answer, or stops.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Seen, CallError> {
        match &mut self.0 {
            Way::Attached(watch) => watch.next().await,
            Way::Embedded { published, begun } => {
                if *begun && published.changed().await.is_err() {
                    return Err(refuse(RefusalKind::Unavailable, "the driver has stopped").into());
                }
                *begun = true;
                let latest = published.borrow_and_update().clone();
                Ok(Seen::View(Arc::new(latest.view())))
            }
        }
    }
}
