//! What an edit makes of the live shape: every verb is another shape, and every shape goes the same way from here.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use reconciler_core::{
    desired::{ClusterShape, GroupKind, Power, RunNodeGroupSpec, ShapeError},
    id::{GroupId, LogicalNodeId},
};

use crate::{
    refusing::refuse,
    state::State,
    view::{Edit, Refusal, RefusalKind},
};

/// What a word of an edit names.
enum Subject {
    Group(GroupId),
    Slot(LogicalNodeId),
}

/// What is asked of a workload.
#[derive(Clone, Copy)]
enum Ask {
    Off,
    On,
    Anew,
}

impl State {
    /// The shape that `edit` leads to: the live one itself if nothing changes.
    pub(crate) fn target(&self, edit: &Edit) -> Result<Arc<ClusterShape>, Refusal> {
        let live = &self.shape;
        let target = match edit {
            Edit::None => return Ok(Arc::clone(live)),
            Edit::Pause { groups } => return self.may_pause(groups, true),
            Edit::Resume { groups } => return self.may_pause(groups, false),
            Edit::Rollback { groups } => self.rolled_back(groups)?,
            Edit::Recover { operation, verb } => match self.recovered(*operation, *verb)? {
                Some(target) => target,
                None => return Ok(Arc::clone(live)),
            },
            Edit::Down => live.emptied(),
            Edit::Counts { counts } => {
                self.all_known(counts.keys())?;
                live.with_counts(counts).map_err(|error| invalid(&error))?
            }
            Edit::File { shape, .. } => {
                if shape.uuid != live.uuid {
                    let text = format!("the file is of run {} ({})", shape.run, shape.uuid);
                    let here = format!("this driver has {} ({})", live.run, live.uuid);
                    return Err(refuse(RefusalKind::Invalid, format!("{text}; {here}")));
                }
                shape.check().map_err(|error| invalid(&error))?;
                // What a client of another version sends carries that one's digests, which are never compared (C13).
                let shape = shape.redigested().with_rounds_of(live);
                shape.at_generation(live.generation.next())
            }
            Edit::Stop { subjects } => self.asked(subjects, Ask::Off)?,
            Edit::Start { subjects } => self.asked(subjects, Ask::On)?,
            Edit::Restart { subjects } => self.asked(subjects, Ask::Anew)?,
            Edit::Run { groups } => self.run_again(groups)?,
            Edit::Remove { groups } => {
                self.all_known(groups)?;
                let names: BTreeSet<GroupId> = groups.iter().cloned().collect();
                live.without(&names).map_err(|error| still_needed(&error))?
            }
        };
        live.may_become(&target).map_err(|error| invalid(&error))?;
        Ok(if live.same_content(&target) { Arc::clone(live) } else { Arc::new(target) })
    }

    pub(crate) fn all_known<'a>(
        &self,
        groups: impl IntoIterator<Item = &'a GroupId>,
    ) -> Result<(), Refusal> {
        let unknown = groups.into_iter().find(|group| self.shape.group(group).is_none());
        unknown.map_or(Ok(()), |unknown| Err(self.unknown("group", unknown.as_str())))
    }

    fn unknown(&self, what: &str, name: &str) -> Refusal {
        let known: Vec<&str> = self.shape.groups().map(|g| g.group.as_str()).collect();
        Refusal {
            hint: Some(format!("the groups are: {}", known.join(", "))),
            ..refuse(RefusalKind::Invalid, format!("there is no {what} `{name}`"))
        }
    }

    /// The live shape with `ask` of each of `subjects`.
    fn asked(&self, subjects: &[String], ask: Ask) -> Result<ClusterShape, Refusal> {
        let mut powers: BTreeMap<GroupId, Power> = BTreeMap::new();
        for name in subjects {
            let subject = self.subject(name)?;
            let group = match &subject {
                Subject::Group(group) => group,
                Subject::Slot(slot) => &slot.group,
            };
            let Some(spec) = self.shape.group(group) else {
                return Err(self.unknown("group", group.as_str()));
            };
            let power = powers.entry(group.clone()).or_insert_with(|| spec.power.clone());
            *power = match (&subject, ask) {
                (Subject::Group(_), Ask::Off) => power.switched(true),
                (Subject::Group(_), Ask::On) => power.switched(false),
                (Subject::Group(_), Ask::Anew) => power.anew(),
                (Subject::Slot(slot), Ask::Off) => {
                    power.switched_slot(slot.index, true, spec.count)
                }
                (Subject::Slot(slot), Ask::On) => {
                    power.switched_slot(slot.index, false, spec.count)
                }
                (Subject::Slot(slot), Ask::Anew) => power.anew_slot(slot.index),
            };
        }
        Ok(self.shape.with_power(powers))
    }

    /// A group, or a slot that is wanted.
    fn subject(&self, name: &str) -> Result<Subject, Refusal> {
        if let Ok(group) = name.parse::<GroupId>()
            && self.shape.group(&group).is_some()
        {
            return Ok(Subject::Group(group));
        }
        match name.parse::<LogicalNodeId>() {
            Ok(slot) if self.shape.wanted(&slot).is_some() => Ok(Subject::Slot(slot)),
            Ok(_) | Err(_) => Err(self.unknown("wanted slot or group", name)),
        }
    }

    /// The live shape with each of the named jobs asked to run again.
    fn run_again(&self, groups: &[GroupId]) -> Result<ClusterShape, Refusal> {
        self.all_known(groups)?;
        let mut powers = BTreeMap::new();
        for name in groups {
            let Some(spec) = self.shape.group(name).map(AsRef::as_ref) else { continue };
            powers.insert(name.clone(), job(spec)?.power.anew());
        }
        Ok(self.shape.with_power(powers))
    }
}

/// The group, if it is a job that may run.
fn job(spec: &RunNodeGroupSpec) -> Result<&RunNodeGroupSpec, Refusal> {
    let name = &spec.group;
    if spec.power.is_all_off() {
        return Err(Refusal {
            hint: Some(format!("`levelhead start {name}` switches it on, then run it")),
            ..refuse(RefusalKind::Invalid, format!("group `{name}` is switched off"))
        });
    }
    if spec.policy.kind == GroupKind::Job {
        return Ok(spec);
    }
    Err(Refusal {
        hint: Some(format!("`levelhead restart {name}` lets its workloads begin anew")),
        ..refuse(RefusalKind::Invalid, format!("group `{name}` is no job"))
    })
}

/// A group that another one waits for cannot go alone.
fn still_needed(error: &ShapeError) -> Refusal {
    let hint = "take its dependents away as well, or their gates out of the file first";
    Refusal { hint: Some(hint.to_owned()), ..invalid(error) }
}

fn invalid(error: &ShapeError) -> Refusal {
    refuse(RefusalKind::Invalid, error.to_string())
}
