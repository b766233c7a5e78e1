//! What the engine says of one container, in the words of the seam.

use bollard::models::{
    ContainerInspectResponse, ContainerState, ContainerStateStatusEnum as Status,
};
use reconciler_core::{
    effect::{ExitStatus, HandleFacts},
    observed::Handle,
};

/// The fact of a handle that tells one run of a container from the next.
const STARTED: &str = "started";
/// What an engine writes where nothing has happened yet.
const NEVER: &str = "0001-01-01T00:00:00Z";
/// Beyond this, an exit status says by which signal a process was ended.
const SIGNAL_BASE: i64 = 128;
/// The last signal there is.
const SIGNAL_MAX: i64 = 64;

/// How far what runs in a container has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Run {
    /// Nothing was started.
    Never,
    /// It runs since then.
    Running { started: String },
    /// It ended.
    Ended { started: String, status: ExitStatus, why: Option<String> },
    /// The engine is about to start it anew, or says nothing that is understood.
    Unclear,
}

impl Run {
    /// Reads the state of a container.
    pub(super) fn of(container: &ContainerInspectResponse) -> Self {
        container.state.as_ref().map_or(Self::Unclear, Self::of_state)
    }

    fn of_state(state: &ContainerState) -> Self {
        let started = state.started_at.clone().filter(|at| !at.is_empty() && at != NEVER);
        match (state.status, started) {
            (Some(Status::RUNNING | Status::PAUSED | Status::STOPPING), Some(started)) => {
                Self::Running { started }
            }
            (Some(Status::CREATED | Status::EXITED | Status::DEAD | Status::REMOVING), None) => {
                Self::Never
            }
            (Some(Status::EXITED | Status::DEAD | Status::REMOVING), Some(started)) => {
                Self::Ended { started, status: exit_status(state), why: why(state) }
            }
            // A start that failed leaves a container that looks as if it had never been started.
            (Some(Status::CREATED), Some(_)) => Self::Never,
            (Some(Status::RUNNING | Status::PAUSED | Status::STOPPING), None)
            | (Some(Status::RESTARTING | Status::EMPTY) | None, _) => Self::Unclear,
        }
    }

    /// When it was started last.
    pub(super) fn started(&self) -> Option<&str> {
        match self {
            Self::Running { started } | Self::Ended { started, .. } => Some(started),
            Self::Never | Self::Unclear => None,
        }
    }
}

/// The handle of what was started then.
pub(super) fn handle(started: &str) -> Handle {
    Handle::new(HandleFacts::from([(STARTED.to_owned(), started.to_owned())]))
}

/// When the workload of a handle was started.
pub(super) fn started_of(handle: &Handle) -> Option<&str> {
    handle.get(STARTED)
}

fn exit_status(state: &ContainerState) -> ExitStatus {
    match state.exit_code {
        None => ExitStatus::Unknown,
        Some(code) if code > SIGNAL_BASE && code <= SIGNAL_BASE + SIGNAL_MAX => {
            i32::try_from(code - SIGNAL_BASE).map_or(ExitStatus::Unknown, ExitStatus::Signal)
        }
        Some(code) => i32::try_from(code).map_or(ExitStatus::Unknown, ExitStatus::Code),
    }
}

/// What the engine adds to an exit status.
fn why(state: &ContainerState) -> Option<String> {
    if state.oom_killed == Some(true) {
        return Some("it ran out of memory".to_owned());
    }
    state.error.clone().filter(|error| !error.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(status: Status, started: &str, code: i64) -> Run {
        Run::of_state(&ContainerState {
            status: Some(status),
            started_at: Some(started.to_owned()),
            exit_code: Some(code),
            ..ContainerState::default()
        })
    }

    /// D6, C5: what runs, what ended and how, and what cannot be said.
    #[test]
    fn states_of_the_engine_are_told_in_the_words_of_the_seam() {
        let running = Run::Running { started: "t1".to_owned() };
        assert_eq!(run(Status::RUNNING, "t1", 0), running);
        assert_eq!(run(Status::PAUSED, "t1", 0), running);
        assert_eq!(run(Status::CREATED, NEVER, 0), Run::Never);
        assert_eq!(run(Status::CREATED, NEVER, 127), Run::Never);
        assert_eq!(run(Status::RESTARTING, "t1", 1), Run::Unclear);
        assert_eq!(run(Status::RUNNING, NEVER, 0), Run::Unclear);
        let ended = |code| {
            let run = run(Status::EXITED, "t1", code);
            let Run::Ended { status, .. } = run else { panic!("{run:?}") };
            status
        };
        assert_eq!(ended(0), ExitStatus::Code(0));
        assert_eq!(ended(3), ExitStatus::Code(3));
        assert_eq!(ended(137), ExitStatus::Signal(9));
        assert_eq!(ended(255), ExitStatus::Code(255));
        let nothing = ContainerState { status: None, ..ContainerState::default() };
        assert_eq!(Run::of_state(&nothing), Run::Unclear);
    }

    #[test]
    fn a_second_run_of_a_container_has_another_handle() {
        assert_ne!(handle("t1"), handle("t2"));
        assert_eq!(started_of(&handle("t1")), Some("t1"));
    }
}
