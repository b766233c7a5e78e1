//! `levelhead release`: the way out of a hold.

use driver::{Begin, StopReason, view::ReleaseView};
use reconciler_core::id::PlanHash;

use super::{
    attach::Session,
    context::Context,
    exit::{Exit, Failure, Outcome},
    out,
};

/// Looks anew at `subject`, and ends its holds if `confirm` is their hash.
pub(crate) async fn run(context: &Context, subject: &str, confirm: Option<PlanHash>) -> Outcome {
    let _guard = context.log()?;
    let mut session = Session::open(context, Begin::Waiting, std::time::Duration::ZERO).await?;
    let released = tokio::select! {
        released = session.link.release(subject.to_owned(), confirm) => released.map_err(Failure::from),
        failure = session.own.failed() => Err(failure),
    };
    let own = session.is_own();
    let closed = session.close(StopReason::Done).await;
    let view = released?;
    closed?;
    if context.global.json {
        out::json(&view)?;
    } else {
        show(context, &view, own);
    }
    Ok(Exit::Done)
}

fn show(context: &Context, view: &ReleaseView, own: bool) {
    for hold in &view.holds {
        out::line(format!("hold {hold}"));
    }
    for seen in &view.seen {
        out::line(format!("seen {seen}"));
    }
    if !view.released {
        let words = format!("release {} --confirm {}", view.subject, view.hash);
        out::line(format!("next: {}", context.command(&words)));
    } else if own {
        out::line(format!("released {}", view.subject));
        out::line(format!("next: {}", context.command("driver")));
    } else {
        out::line(format!("released {}; the driver goes on with it", view.subject));
    }
}
