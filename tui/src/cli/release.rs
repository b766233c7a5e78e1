//! `levelhead release`: the way out of a hold.

use driver::{Begin, StopReason, view::ReleaseView};
use reconciler_core::id::PlanHash;

use super::{
    attach::Session,
    context::Context,
    exit::{Exit, Failure, Outcome},
    logging, out,
};

/// Looks anew at `subject`, and ends its holds if `confirm` is their hash.
pub(crate) async fn run(context: &Context, subject: &str, confirm: Option<PlanHash>) -> Outcome {
    let _guard = logging::start(&context.paths, None)?;
    let mut session = Session::open(context, Begin::Waiting, std::time::Duration::ZERO)?;
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
    let file = context.file.display();
    for hold in &view.holds {
        out::line(format!("hold {hold}"));
    }
    for seen in &view.seen {
        out::line(format!("seen {seen}"));
    }
    if !view.released {
        out::line(format!(
            "next: levelhead release {} --confirm {} --file {file}",
            view.subject, view.hash
        ));
    } else if own {
        out::line(format!("released {}\nnext: levelhead driver {file}", view.subject));
    } else {
        out::line(format!("released {}; the driver goes on with it", view.subject));
    }
}
