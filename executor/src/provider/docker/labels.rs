//! Names and labels: what says of a container whose it is (C12, D11).
//!
//! A name is for people, and keeps a second creation from succeeding; identity is in the labels alone.

use std::collections::{BTreeMap, HashMap};

use reconciler_core::{
    effect::NodeRequest,
    id::{AttemptId, AttemptOrdinal, Fence, IdempotencyKey, LogicalNodeId, Uuid},
};

use super::ports::PortPair;

pub(super) const RUN: &str = "levelhead.run";
pub(super) const PROVIDER: &str = "levelhead.provider";
pub(super) const SLOT: &str = "levelhead.slot";
pub(super) const ATTEMPT: &str = "levelhead.attempt";
pub(super) const ORDINAL: &str = "levelhead.ordinal";
pub(super) const FENCE: &str = "levelhead.fence";
pub(super) const ROLE: &str = "levelhead.role";
/// The key of the request that made it.
pub(super) const KEY: &str = "levelhead.key";
pub(super) const REVISION: &str = "levelhead.revision";
/// The image by the name that the operator gave it.
pub(super) const IMAGE: &str = "levelhead.image";
pub(super) const PORTS: &str = "levelhead.ports";
/// Stands on a node that has volumes of its own, which go with it.
pub(super) const VOLUMES: &str = "levelhead.volumes";
/// Which hook, on the container of one.
pub(super) const HOOK: &str = "levelhead.hook";

pub(super) type Labels = HashMap<String, String>;

/// What a container is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It is the node.
    Node,
    /// It ran, or runs, a verify command.
    Verify,
    /// It ran, or runs, a hook.
    Hook,
}

impl Role {
    const ALL: [Self; 3] = [Self::Node, Self::Verify, Self::Hook];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Verify => "verify",
            Self::Hook => "hook",
        }
    }
}

/// Whose a container is, by its labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) run: Uuid,
    pub(super) provider: String,
    pub(super) slot: LogicalNodeId,
    pub(super) attempt: AttemptId,
    pub(super) fence: Fence,
    pub(super) role: Role,
    pub(super) key: Option<IdempotencyKey>,
    pub(super) ports: BTreeMap<String, PortPair>,
}

impl Mark {
    /// Reads the labels of a container; says which of them makes no sense.
    pub(super) fn read(labels: &Labels) -> Result<Self, String> {
        let text =
            |name: &str| labels.get(name).ok_or_else(|| format!("it lacks the label {name}"));
        let odd = |name: &str| format!("its label {name} makes no sense");
        let role = text(ROLE)?;
        let ordinal: u64 = text(ORDINAL)?.parse().map_err(|_odd| odd(ORDINAL))?;
        let fence: u64 = text(FENCE)?.parse().map_err(|_odd| odd(FENCE))?;
        let ports = labels.get(PORTS).map_or(Ok(BTreeMap::new()), |text| {
            serde_json::from_str(text).map_err(|_odd| odd(PORTS))
        })?;
        let key = labels.get(KEY).map(|text| text.parse().map_err(|_odd| odd(KEY)));
        Ok(Self {
            run: text(RUN)?.parse().map_err(|_odd| odd(RUN))?,
            provider: text(PROVIDER)?.clone(),
            slot: text(SLOT)?.parse().map_err(|_odd| odd(SLOT))?,
            attempt: AttemptId {
                ordinal: AttemptOrdinal::new(ordinal),
                uuid: text(ATTEMPT)?.parse().map_err(|_odd| odd(ATTEMPT))?,
            },
            fence: Fence::new(fence),
            role: Role::ALL
                .into_iter()
                .find(|known| known.as_str() == role)
                .ok_or_else(|| odd(ROLE))?,
            key: key.transpose()?,
            ports,
        })
    }

    /// True if it is of this attempt.
    pub(super) fn is_of(&self, run: Uuid, slot: &LogicalNodeId, attempt: Uuid) -> bool {
        self.run == run && self.slot == *slot && self.attempt.uuid == attempt
    }
}

/// The labels of everything that is made for one attempt: containers and volumes.
pub(super) fn of_attempt(request: &NodeRequest, provider: &str, fence: Fence) -> Labels {
    let pairs = [
        (RUN, request.run.to_string()),
        (PROVIDER, provider.to_owned()),
        (SLOT, request.slot.to_string()),
        (ATTEMPT, request.attempt.uuid.to_string()),
        (ORDINAL, request.attempt.ordinal.to_string()),
        (FENCE, fence.to_string()),
        (REVISION, request.revision.to_string()),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The filter that finds what carries these labels.
pub(super) fn filter<const N: usize>(labels: [(&str, String); N]) -> HashMap<String, Vec<String>> {
    let labels = labels.map(|(name, value)| format!("{name}={value}"));
    HashMap::from([("label".to_owned(), labels.to_vec())])
}

/// The name of an attempt's container: it derives from the attempt, so that a second creation collides.
pub(super) fn node_name(slot: &LogicalNodeId, attempt: Uuid) -> String {
    format!("levelhead-{slot}-{attempt}")
}

/// The name of the container of one request of a hook.
pub(super) fn hook_name(slot: &LogicalNodeId, attempt: Uuid, key: IdempotencyKey) -> String {
    format!("levelhead-{slot}-{attempt}-hook-{}", key.short())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Labels {
        let pairs = [
            (RUN, "07070707-0707-0707-0707-070707070707"),
            (PROVIDER, "box"),
            (SLOT, "web-3"),
            (ATTEMPT, "01010101-0101-0101-0101-010101010101"),
            (ORDINAL, "4"),
            (FENCE, "9"),
            (ROLE, "node"),
            (PORTS, r#"{"http":{"inside":80,"outside":20001}}"#),
        ];
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// C12: identity is run, slot and attempt, and what is garbled is told, never guessed (C17).
    #[test]
    fn what_a_container_says_of_itself_is_read_whole_or_not_at_all() {
        let mark = Mark::read(&labels()).unwrap();
        assert!(mark.is_of(mark.run, &"web-3".parse().unwrap(), mark.attempt.uuid));
        assert!(!mark.is_of(mark.run, &"web-4".parse().unwrap(), mark.attempt.uuid));
        assert_eq!((mark.fence.get(), mark.ports["http"].outside), (9, 20_001));
        for name in [RUN, PROVIDER, SLOT, ATTEMPT, ORDINAL, FENCE, ROLE] {
            let mut lacking = labels();
            lacking.remove(name);
            assert!(Mark::read(&lacking).unwrap_err().contains(name), "{name}");
        }
        for name in [RUN, SLOT, ATTEMPT, ORDINAL, FENCE, ROLE, PORTS, KEY] {
            let mut odd = labels();
            odd.insert(name.to_owned(), "?!".to_owned());
            assert!(Mark::read(&odd).unwrap_err().contains(name), "{name}");
        }
    }
}
