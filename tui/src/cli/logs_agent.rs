//! The output of a node as its agent tells it to the driver: where its provider keeps none, it is what there is.

use std::time::Duration;

use driver::{Link, api::CallError, view::RefusalKind};
use reconciler_core::id::LogicalNodeId;

use super::{context::Context, exit::Failure, logs_elsewhere::Wish, logs_shown::show, out};

/// Time between two looks; agents tell of something new no more often than this.
const PERIOD: Duration = Duration::from_secs(1);

/// Prints what the agent of `slot` told last, and goes on with what it tells if that is wished for; true if there is
/// such an agent.
pub(super) async fn run(
    context: &Context,
    slot: &LogicalNodeId,
    wish: Wish,
) -> Result<bool, Failure> {
    let Some(link) = context.attached().await? else { return Ok(false) };
    let Some(mut known) = told(&link, slot).await? else { return Ok(false) };
    let name = format!("agent of {slot}");
    let last = known.iter().skip(known.len().saturating_sub(wish.lines));
    show(context, name.as_ref(), &text(last), true);
    while wish.follow && !out::nobody_reads() {
        tokio::time::sleep(PERIOD).await;
        // One that is not heard now may come back, and so may its driver's next attempt.
        let Some(lines) = told(&link, slot).await? else { continue };
        show(context, name.as_ref(), &text(lines.iter().skip(overlap(&known, &lines))), false);
        known = lines;
    }
    Ok(true)
}

async fn told(link: &Link, slot: &LogicalNodeId) -> Result<Option<Vec<String>>, Failure> {
    match link.output(slot).await {
        Ok(output) => Ok(Some(output.lines)),
        Err(CallError::Refused(refusal)) if refusal.kind == RefusalKind::Invalid => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn text<'a>(lines: impl Iterator<Item = &'a String>) -> String {
    lines.flat_map(|line| [line.as_str(), "\n"]).collect()
}

/// How many lines at the end of `known` are those at the beginning of `lines`.
fn overlap(known: &[String], lines: &[String]) -> usize {
    let most = known.len().min(lines.len());
    let is_same = |n: &usize| known.ends_with(lines.get(..*n).unwrap_or_default());
    (0..=most).rev().find(is_same).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was printed is not printed again; what is quite new is printed whole.
    #[test]
    fn what_was_printed_is_not_printed_again() {
        let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (known, now, same) in [
            ("a b c", "a b c", 3),
            ("a b c", "b c d", 2),
            ("a b c", "x y", 0),
            ("a a", "a a a", 2),
            ("c", "a b c", 0),
        ] {
            assert_eq!(overlap(&lines(known), &lines(now)), same, "{known} then {now}");
        }
        assert_eq!(overlap(&[], &lines("a")), 0);
    }
}
