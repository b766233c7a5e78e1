//! What a console may do on the machine where it runs, beside asking a driver: read the journal, write the file.

use std::{collections::BTreeMap, path::PathBuf};

use checkpoint::paths::StatePaths;
use driver::{
    Offline, config,
    view::{RecoveryOperationView, Refusal, RefusalKind},
};
use reconciler_core::id::GroupId;

use super::{
    context::Context,
    exit::{Failure, chain},
    export,
};

/// Where the run's file and its journal are, if they are here.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    here: Option<(PathBuf, StatePaths)>,
}

impl Ground {
    /// That of a verb: nothing is here of a run whose driver was named.
    pub(crate) fn of(context: &Context) -> Self {
        let here = context.named.is_none().then(|| (context.file.clone(), context.paths.clone()));
        Self { here }
    }

    fn here(&self) -> Result<&(PathBuf, StatePaths), Refusal> {
        self.here.as_ref().ok_or_else(|| Refusal {
            kind: RefusalKind::Invalid,
            message: "that is on the machine of the driver".to_owned(),
            moved: Vec::new(),
            hint: Some("open the console there, without --attach".to_owned()),
        })
    }

    /// The open operations, as the journal has them.
    pub(crate) fn operations(&self) -> Result<Vec<RecoveryOperationView>, Refusal> {
        let (_, paths) = self.here()?;
        let offline = Offline::open(paths).map_err(|error| refused(error.into()))?;
        Ok(offline.recovery(true).operations)
    }

    /// Writes counts into the file, with its comments kept; says which file.
    pub(crate) fn write_back(&self, counts: &BTreeMap<GroupId, u32>) -> Result<String, Refusal> {
        let (file, _) = self.here()?;
        let invalid = |message: String| Refusal {
            kind: RefusalKind::Invalid,
            message,
            moved: Vec::new(),
            hint: None,
        };
        let source = config::read(file).map_err(|error| invalid(chain(&error)))?;
        let text =
            config::with_counts(&source.text, counts).map_err(|error| invalid(chain(&error)))?;
        let shown = file.display().to_string();
        export::replace(file, &text)
            .map_err(|error| invalid(format!("cannot write {shown}: {error}")))?;
        Ok(shown)
    }
}

fn refused(failure: Failure) -> Refusal {
    Refusal {
        kind: RefusalKind::Journal,
        message: failure.message,
        moved: failure.details,
        hint: failure.hint,
    }
}
