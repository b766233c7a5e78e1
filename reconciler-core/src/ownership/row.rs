//! What the journal knows of one attempt's property: whose it is, under which fence, and how far its deletion has come.

use alloc::{boxed::Box, format};

use serde::{Deserialize, Serialize};

use super::{
    capacity::{Admission, Demand},
    controller::ControllerId,
    finalizer::{Finalizer, FinalizerState, Finalizers, Standing, standing},
};
use crate::{
    effect::{Action, CommandKind, Intent, NodeManagerCommand},
    id::{AttemptId, Fence, IdempotencyKey, LogicalNodeId, OperationId, ProviderName},
    observed::NodeRecord,
    time::Timestamp,
};

/// By what a thing at a provider is known to be ours; never by its name or address alone. The attempt's UUID is derived
/// from the run, so the run is part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The slot.
    pub slot: LogicalNodeId,
    /// The attempt.
    pub attempt: AttemptId,
    /// Where its lease is.
    pub provider: ProviderName,
}

impl Identity {
    /// The digest of the whole identity under the fence that began it: what proves the ownership.
    pub fn proof(&self, begun: Fence) -> IdempotencyKey {
        let Self { slot, attempt, provider } = self;
        let (uuid, ordinal) = (attempt.uuid, attempt.ordinal);
        let text = format!("levelhead/ownership/1\n{slot}\n{uuid}\n{ordinal}\n{provider}\n{begun}");
        IdempotencyKey::of(text.as_bytes())
    }
}

/// In whose hands an attempt is, and how far its deletion has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tenure {
    /// The operation that it is attached to.
    pub operation: OperationId,
    /// The controller that answers for it.
    pub controller: ControllerId,
    /// That controller's fence.
    pub fence: Fence,
    /// The fence under which it was begun.
    pub begun: Fence,
    /// How often it was handed over.
    pub handoffs: u32,
    /// When its deletion was intended, if it was.
    pub deleting_at: Option<Timestamp>,
    /// How far the deletion has come.
    pub finalizers: Finalizers,
    /// The evidence on which it was admitted, where the provider's capacity is declared.
    pub admission: Option<Box<Admission>>,
}

impl Tenure {
    fn begun(operation: OperationId, controller: &ControllerId, fence: Fence) -> Self {
        Self {
            operation,
            controller: controller.clone(),
            fence,
            begun: fence,
            handoffs: 0,
            deleting_at: None,
            finalizers: Finalizers::default(),
            admission: None,
        }
    }
}

/// One attempt's property, from before its first effect until its absence was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ownership {
    /// What is owned.
    pub identity: Identity,
    /// What it takes of its provider.
    pub demand: Demand,
    /// In whose hands it is.
    pub tenure: Tenure,
}

/// Why a write on somebody's property is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnershipError {
    /// The identity is not the one that is owned.
    #[error("the identity of {slot} is not the one that is owned: its {part} differs")]
    Identity {
        /// The slot.
        slot: LogicalNodeId,
        /// What differs.
        part: &'static str,
    },
    /// A controller of an older fence than the owner's.
    #[error("fence {found} is older than {present}, under which {slot} is owned")]
    Fence {
        /// The slot.
        slot: LogicalNodeId,
        /// The one that was shown.
        found: Fence,
        /// The owner's.
        present: Fence,
    },
    /// Its lease may not be given back yet.
    #[error("the lease of {slot} cannot be given back: `{}` is {}", .finalizer.as_str(), .state.as_str())]
    NotFinal {
        /// The slot.
        slot: LogicalNodeId,
        /// What comes first.
        finalizer: Finalizer,
        /// Where that stands.
        state: FinalizerState,
    },
    /// It would be forgotten although its absence was not seen.
    #[error("attempt {} of {slot} would be forgotten, and its absence was not seen", .attempt.ordinal)]
    StillOwned {
        /// The slot.
        slot: LogicalNodeId,
        /// The attempt.
        attempt: AttemptId,
    },
}

/// True if `record` says nothing that a row of its slot could follow: up, alone, and not on its way out.
pub fn is_unremarkable(record: &NodeRecord) -> bool {
    record.second.is_none() && record.hold.is_none() && standing(record) == Standing::Active
}

impl Ownership {
    /// What an attempt begins to own with the intent of its lease, before anything is sent (R96); nothing for the
    /// intent of any other effect.
    pub fn begun(intent: &Intent, controller: &ControllerId) -> Option<Self> {
        let Action::Command(NodeManagerCommand::CreateLease(request)) = &intent.action else {
            return None;
        };
        let tenure = Tenure::begun(intent.operation, controller, intent.fence);
        Some(Self {
            identity: Identity {
                slot: intent.slot.clone(),
                attempt: intent.attempt,
                provider: intent.provider.clone(),
            },
            demand: Demand::of(&request.spec.shape),
            tenure: Tenure { admission: intent.admission.clone(), ..tenure },
        })
    }

    /// What a record of an older journal owns: its row was never written.
    pub fn found(record: &NodeRecord, controller: &ControllerId, fence: Fence) -> Option<Self> {
        let row = Self {
            identity: Identity {
                slot: record.slot.clone(),
                attempt: record.attempt,
                provider: record.spec.provider.clone(),
            },
            demand: Demand::of(&record.spec.shape),
            tenure: Tenure::begun(OperationId::default(), controller, fence),
        };
        record.may_own().then(|| row.after(standing(record)))
    }

    /// The digest that proves it.
    pub fn proof(&self) -> IdempotencyKey {
        self.identity.proof(self.tenure.begun)
    }

    /// The row after the intent of another effect on the same attempt.
    ///
    /// # Errors
    /// Refuses another identity, an older fence, and giving a lease back out of order.
    pub fn intended(
        mut self,
        intent: &Intent,
        controller: &ControllerId,
    ) -> Result<Self, OwnershipError> {
        let slot = || intent.slot.clone();
        let differs = |part| OwnershipError::Identity { slot: slot(), part };
        if self.identity.slot != intent.slot {
            return Err(differs("slot"));
        }
        if self.identity.attempt != intent.attempt {
            return Err(differs("attempt"));
        }
        if self.identity.provider != intent.provider {
            return Err(differs("provider"));
        }
        if intent.fence < self.tenure.fence {
            let (found, present) = (intent.fence, self.tenure.fence);
            return Err(OwnershipError::Fence { slot: slot(), found, present });
        }
        if intent.action.kind() == CommandKind::DestroyLease
            && !self.tenure.finalizers.allow_destroy()
        {
            let finalizer = Finalizer::DependentResources;
            let state = self.tenure.finalizers.of(finalizer);
            return Err(OwnershipError::NotFinal { slot: slot(), finalizer, state });
        }
        self.tenure.operation = intent.operation;
        self.tenure.fence = intent.fence;
        self.tenure.controller = controller.clone();
        if intent.admission.is_some() {
            self.tenure.admission.clone_from(&intent.admission);
        }
        Ok(self)
    }

    /// The row after its attempt was recorded as `standing`.
    #[must_use]
    pub fn after(mut self, standing: Standing) -> Self {
        if let Standing::Ending { since } | Standing::Idle { since } = standing {
            self.tenure.deleting_at = self.tenure.deleting_at.or(Some(since));
        }
        self.tenure.finalizers = self.tenure.finalizers.after(standing);
        self
    }

    /// The row after its slot's record was written; nothing once its absence was seen.
    ///
    /// # Errors
    /// Refuses a record that does not have the attempt any more although its absence was never seen (R147).
    pub fn recorded(self, record: Option<&NodeRecord>) -> Result<Option<Self>, OwnershipError> {
        let attempt = self.identity.attempt;
        let Some(record) = record.and_then(|record| record.of_attempt(attempt)) else {
            let slot = self.identity.slot;
            return Err(OwnershipError::StillOwned { slot, attempt });
        };
        let row = self.after(standing(record));
        Ok((!row.tenure.finalizers.are_released()).then_some(row))
    }

    /// The row after its operation went to another controller.
    #[must_use]
    pub fn handed_to(mut self, controller: &ControllerId, fence: Fence) -> Self {
        self.tenure.controller = controller.clone();
        self.tenure.fence = fence;
        self.tenure.handoffs = self.tenure.handoffs.saturating_add(1);
        self
    }
}
