//! Explains slots from what was published: the decider is asked again on the same facts, and says what it read.

use std::collections::BTreeMap;

use reconciler_core::{
    drift::{DriftSubject, classify},
    fixture::{Catalogue, print_slot},
    id::LogicalNodeId,
    reconcile::{Reason, explain},
};

use crate::{
    publish::Published,
    refusing::refuse,
    view::{DriftView, ExplainView, NodeView, Refusal, RefusalKind},
    view_build::nodes,
};

impl Published {
    /// Explains a slot, or every slot of a group; costs the number of nodes.
    ///
    /// # Errors
    /// Refuses a subject that is neither.
    pub fn explain(&self, subject: &str) -> Result<Vec<ExplainView>, Refusal> {
        let plan = self.decided();
        let reasons: BTreeMap<&LogicalNodeId, &Reason> =
            plan.reasons.iter().map(|(slot, reason)| (slot, reason)).collect();
        let asked = |node: &NodeView| {
            node.slot.group.as_str() == subject || node.slot.to_string() == subject
        };
        let drifts = classify(&self.cluster, &self.shape, self.fence());
        let catalogue = Catalogue::of(&self.cluster, [self.shape.as_ref()]);
        let view = |node: NodeView| {
            let slot = &node.slot;
            let reason = reasons.get(slot).copied();
            let explained = explain(slot, reason, &self.cluster, &self.shape, self.at);
            let own = |subject: &DriftSubject| match subject {
                DriftSubject::Slot(of) => of == slot,
                DriftSubject::Group(_) | DriftSubject::Provider(_) => false,
            };
            let drift = drifts.iter().filter(|drift| own(&drift.subject));
            let drift = drift.map(DriftView::from).collect();
            let text = print_slot(&self.cluster, &catalogue, self.shape.uuid, slot);
            let text = text.lines().map(str::to_owned).collect();
            let driven = self.driver.is_some();
            ExplainView { drift, text, driven, ..ExplainView::new(node, explained) }
        };
        let ribbons = self.history.ribbons();
        let found = nodes(self, &plan, &ribbons).into_iter().filter(asked);
        let found: Vec<ExplainView> = found.map(view).collect();
        if found.is_empty() {
            let message = format!("there is no slot or group `{subject}`");
            let hint = Some("`levelhead status` lists them".to_owned());
            return Err(Refusal { hint, ..refuse(RefusalKind::Invalid, message) });
        }
        Ok(found)
    }
}
