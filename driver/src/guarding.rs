//! Guardrails at the driver: which edits are judged, and how a refusal and a demand are told to every face.

use reconciler_core::{
    desired::{ClusterShape, Demand},
    plan::{Demanded, LifecyclePlan, judge},
    redact::Redacted,
};

use crate::{
    refusing::refuse,
    view::{DemandView, Edit, Refusal, RefusalKind},
};

/// True for what changes the wish. What only finishes, pauses or takes back what was confirmed is not judged: the way
/// out of a hold stays open (P6).
pub(crate) const fn is_judged(edit: &Edit) -> bool {
    match edit {
        Edit::Counts { .. }
        | Edit::File { .. }
        | Edit::Down
        | Edit::Stop { .. }
        | Edit::Start { .. }
        | Edit::Restart { .. }
        | Edit::Run { .. }
        | Edit::Remove { .. } => true,
        Edit::None
        | Edit::Rollback { .. }
        | Edit::Pause { .. }
        | Edit::Resume { .. }
        | Edit::Recover { .. } => false,
    }
}

/// What must be said to confirm `plan`, which answers `edit`.
pub(crate) fn demanded(
    edit_is_judged: bool,
    plan: &LifecyclePlan,
    base: &ClusterShape,
    target: &ClusterShape,
) -> Result<Option<Demanded>, Refusal> {
    if !edit_is_judged {
        return Ok(None);
    }
    judge(plan, base, target).map_err(|breach| {
        let text = Redacted::new(&breach.to_string());
        let hint = "plan less, or apply a file that lifts the guardrail first, and this after it";
        Refusal { hint: Some(hint.to_owned()), ..refuse(RefusalKind::Forbidden, text.as_str()) }
    })
}

/// A demand as faces see it.
pub(crate) fn demand_view(demanded: &Demanded) -> DemandView {
    let reasons = demanded.reasons.iter().map(|reason| Redacted::new(reason).as_str().to_owned());
    DemandView {
        confirm: demanded.demand.as_str().to_owned(),
        name: demanded.name.clone(),
        reasons: reasons.collect(),
    }
}

/// Refuses a confirmation that says less than is demanded.
pub(crate) fn check(demanded: Option<&Demanded>, typed: Option<&str>) -> Result<(), Refusal> {
    demanded.map_or(Ok(()), |demanded| demand_view(demanded).check(typed))
}

impl DemandView {
    /// What says enough on the command line.
    pub fn word(&self) -> &str {
        if self.confirm == Demand::Name.as_str() { &self.name } else { Demand::Yes.as_str() }
    }

    /// Refuses a confirmation that says less than this.
    ///
    /// # Errors
    /// Says what is wanted, and how it is said.
    pub fn check(&self, typed: Option<&str>) -> Result<(), Refusal> {
        let by_name = self.confirm == Demand::Name.as_str();
        let demand = if by_name { Demand::Name } else { Demand::Yes };
        if demand.is_met(&self.name, typed) {
            return Ok(());
        }
        let what = match demand {
            Demand::Yes => "an explicit yes".to_owned(),
            Demand::Name => format!("the name `{}`, typed", self.name),
        };
        let text = format!("a guardrail wants {what}: {}", self.reasons.join("; "));
        let hint = format!("confirm it by hand, or add --typed {}", self.word());
        Err(Refusal { hint: Some(hint), ..refuse(RefusalKind::Forbidden, text) })
    }
}
