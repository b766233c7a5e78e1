//! The built-in preflights: what the provider can do, secrets at hand, and the admission of a lease.

use std::{collections::BTreeSet, future::ready, sync::Arc};

use reconciler_core::{
    desired::{BootSpec, DesiredNodeShape},
    effect::{
        Action, CommandKind, EffectFailure, FailureClass, Intent, NodeManagerCommand, NodeRequest,
    },
    id::ProviderName,
    time::Timestamp,
};

use super::{
    deadline::{Finish, within},
    look::LOOK_TIMEOUT,
    perform::definite,
};
use crate::{
    seam::{Preflight, Provider, Work},
    secret::{Missing, Secrets},
};

/// Tells the time, as the journal has it.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The built-in preflights, in the order in which they are asked.
pub(super) fn built_in(
    secrets: Secrets,
    metered: BTreeSet<ProviderName>,
    now: Now,
) -> Vec<Arc<dyn Preflight>> {
    vec![Arc::new(Capable), Arc::new(SecretsAtHand(secrets)), Arc::new(Admitted { metered, now })]
}

/// What `intent` makes or starts, if it does.
fn begins(intent: &Intent) -> Option<&NodeRequest> {
    match &intent.action {
        Action::Command(
            NodeManagerCommand::CreateLease(request)
            | NodeManagerCommand::StartBootstrap { request, .. },
        ) => Some(request),
        Action::Hook(run) => Some(&run.request),
        Action::Command(
            NodeManagerCommand::LookupEndpoint(_)
            | NodeManagerCommand::BootstrapConvergenceObserved { .. }
            | NodeManagerCommand::CancelBootstrap { .. }
            | NodeManagerCommand::DestroyLease(_),
        ) => None,
    }
}

/// The provider can do what the node asks for: the file was checked, and this is what is behind it now.
struct Capable;

impl Preflight for Capable {
    fn name(&self) -> &'static str {
        "capabilities"
    }

    fn check<'a>(
        &'a self,
        intent: &'a Intent,
        provider: &'a dyn Provider,
    ) -> Work<'a, Result<(), EffectFailure>> {
        let gap = begins(intent).and_then(|request| gap(intent, request, provider));
        Box::pin(ready(gap.map_or(Ok(()), |gap| {
            Err(definite(FailureClass::Invalid, &format!("capability gap: it cannot {gap}")))
        })))
    }
}

fn gap(intent: &Intent, request: &NodeRequest, provider: &dyn Provider) -> Option<&'static str> {
    let can = provider.capabilities();
    let DesiredNodeShape { image, cpu_millis, memory_mib, disk_gib, gpus, labels: _ } =
        &request.spec.shape;
    let wants = [cpu_millis, memory_mib, disk_gib, gpus].into_iter().any(Option::is_some);
    let hook = matches!(intent.action, Action::Hook(_));
    let secret = !request.spec.boot.secret_env.is_empty();
    let gaps = [
        (image.is_some() && !can.images, "run images"),
        (wants && !can.resources, "promise processors, memory, disk or graphics processors"),
        (hook && !can.hooks, "run hooks"),
        (secret && !can.secrets, "hand secrets to nodes"),
    ];
    gaps.into_iter().find(|(lacks, _)| *lacks).map(|(_, what)| what)
}

/// Every secret of the node can be had now: nothing is made for a node that could not start (R88).
struct SecretsAtHand(Secrets);

impl Preflight for SecretsAtHand {
    fn name(&self) -> &'static str {
        "secrets"
    }

    fn check<'a>(
        &'a self,
        intent: &'a Intent,
        _provider: &'a dyn Provider,
    ) -> Work<'a, Result<(), EffectFailure>> {
        let boot = begins(intent).map(|request| &request.spec.boot);
        match boot.filter(|boot| !boot.secret_env.is_empty()) {
            Some(boot) => Box::pin(at_hand(self.0.clone(), boot.clone())),
            None => Box::pin(ready(Ok(()))),
        }
    }
}

/// Reads them on a thread of its own. A person has to act on what lacks, so it is told as refused authority.
async fn at_hand(secrets: Secrets, boot: BootSpec) -> Result<(), EffectFailure> {
    let reading = tokio::task::spawn_blocking(move || secrets.resolve(&boot).map(drop));
    match within(LOOK_TIMEOUT, reading).await {
        Finish::Done(Ok(Ok(()))) => Ok(()),
        Finish::Done(Ok(Err(missing))) => {
            Err(definite(FailureClass::Auth, &Missing::told(&missing)))
        }
        Finish::Done(Err(_)) | Finish::Crashed(_) | Finish::Late(_) | Finish::Stopped => {
            Err(definite(FailureClass::Unavailable, "its secrets cannot be read"))
        }
    }
}

/// A lease at a provider whose capacity is declared goes out on evidence that counts still (R92).
struct Admitted {
    metered: BTreeSet<ProviderName>,
    now: Now,
}

impl Preflight for Admitted {
    fn name(&self) -> &'static str {
        "capacity"
    }

    fn check<'a>(
        &'a self,
        intent: &'a Intent,
        _provider: &'a dyn Provider,
    ) -> Work<'a, Result<(), EffectFailure>> {
        let asks = intent.action.kind() == CommandKind::CreateLease;
        if !asks || !self.metered.contains(&intent.provider) {
            return Box::pin(ready(Ok(())));
        }
        let refusal = match &intent.admission {
            None => Some("its provider's capacity is declared, and nobody admitted it"),
            Some(evidence) if (self.now)() > evidence.until => Some("its admission is over"),
            Some(_counts) => None,
        };
        let refusal = refusal.map(|why| definite(FailureClass::Capacity, why));
        Box::pin(ready(refusal.map_or(Ok(()), Err)))
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, sync::mpsc::channel};

    use super::*;

    /// R88: a secret may stand on a medium that hangs, so it is read on a thread that may block, and the loop goes on.
    #[test]
    fn secrets_are_read_beside_the_loop() {
        let dir = tempfile::tempdir().unwrap();
        let key = dir.path().join("key");
        fs::write(&key, "kept-to-itself").unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        let secrets = Secrets::new(dir.path().to_owned());
        let secret_env = [("KEY".to_owned(), "file:key".parse().unwrap())].into();
        let boot = BootSpec { secret_env, ..BootSpec::default() };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(async {
            // The only thread that may block is taken, as by a file that cannot be read.
            let (end, ended) = channel::<()>();
            let hangs = tokio::task::spawn_blocking(move || ended.recv());
            let reading = tokio::spawn(at_hand(secrets.clone(), boot));
            for _turn in 0..100 {
                tokio::task::yield_now().await;
            }
            assert!(!reading.is_finished());
            assert_eq!(secrets.cleaned("kept-to-itself"), "kept-to-itself", "nobody read it");
            end.send(()).unwrap();
            hangs.await.unwrap().unwrap();
            assert_eq!(reading.await.unwrap(), Ok(()));
            assert_ne!(secrets.cleaned("kept-to-itself"), "kept-to-itself");
        });
    }
}
