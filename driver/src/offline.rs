//! A run without its driver: what the journal says, and what a plan would be, without changing anything.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use checkpoint::{
    event::EventRow,
    paths::StatePaths,
    reader::{self, Reader},
    scan::Recovered,
    store::OpenError,
};
use executor::{seam::Provider, secret::Secrets};
use reconciler_core::{
    fixture::{self, Catalogue},
    fold::Fact,
    id::{AttemptId, LogicalNodeId, OperationId, PlanHash, ProviderName, RunName, Uuid},
    limits,
    observed::NodeRecord,
    time::Timestamp,
};

use crate::{
    capacity::{self, Declared},
    publish::Published,
    recovery_list::{listed, operation_view, unread_view},
    refusing::refuse,
    resume::{Given, event_view},
    secrets, shown,
    start::{Options, StartError, build_providers, capabilities},
    state::{Mode, State, millis},
    view::{Edit, EventView, PlanView, RecoveryView, Refusal, RefusalKind, ShownOperationView},
};

/// How long one look by id may take beside a driver; as long as a driver's own.
const LOOK_BOUND: Duration = Duration::from_secs(30);

/// Why a run cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// A provider cannot be made.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The plan was refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// A run as its journal shows it.
pub struct Offline {
    recovered: Recovered,
}

impl Offline {
    /// Reads the journal; a run without one is empty.
    ///
    /// # Errors
    /// Fails if a journal is there and cannot be read.
    pub fn open(paths: &StatePaths) -> Result<Self, OfflineError> {
        match Reader::open(paths.dir()) {
            Ok(mut reader) => Ok(Self { recovered: reader.recovered()? }),
            Err(OpenError::Missing { .. }) => Ok(Self { recovered: Recovered::default() }),
            Err(error) => Err(error.into()),
        }
    }

    /// True if a driver has the run.
    ///
    /// # Errors
    /// Fails if the lock cannot be asked.
    pub fn is_driven(paths: &StatePaths) -> Result<bool, OfflineError> {
        Ok(reader::is_locked(paths.dir())?)
    }

    /// True if a plan with this hash was confirmed before.
    ///
    /// # Errors
    /// Fails if a journal is there and cannot be read.
    pub fn was_used(paths: &StatePaths, hash: PlanHash) -> Result<bool, OfflineError> {
        match Reader::open(paths.dir()) {
            Ok(reader) => Ok(reader.is_used(&hash)?),
            Err(OpenError::Missing { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// True if a plan with this hash was confirmed, and everything that it opened succeeded (R106).
    ///
    /// # Errors
    /// Fails if a journal is there and cannot be read.
    pub fn has_succeeded(paths: &StatePaths, hash: PlanHash) -> Result<bool, OfflineError> {
        match Reader::open(paths.dir()) {
            Ok(reader) => Ok(reader.is_used(&hash)? && reader.has_succeeded(&hash)?),
            Err(OpenError::Missing { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// True if nothing was ever journaled.
    pub fn is_blank(&self) -> bool {
        self.recovered.shape.is_none()
    }

    /// The run that the journal is about; nothing if nothing was ever journaled.
    pub fn identity(&self) -> Option<(RunName, Uuid)> {
        self.recovered.shape.as_ref().map(|row| (row.shape.run.clone(), row.shape.uuid))
    }

    /// What happened lately, a line each: of the run, and of a few slots and groups.
    pub fn news(&self) -> Vec<String> {
        let events: Vec<EventView> = self.recovered.events.iter().rev().map(event_view).collect();
        shown::news(events.iter())
    }

    /// What the journal says, marked as unattended.
    pub fn published(&self, run: &RunName, uuid: Uuid, now: Timestamp) -> Published {
        let state = self.state(self.given(run, uuid), false, now);
        Published {
            cluster: state.cluster.snapshot(),
            shape: Arc::clone(&state.shape),
            source: state.source,
            history: state.history.history().clone(),
            driver: None,
            file: None,
            pass: state.counters.pass,
            at: now,
            due: None,
            parallelism: state.parallelism,
            short: Arc::default(),
            under_way: false,
            proving: false,
            observed: false,
            totals: state.totals.clone(),
        }
    }

    /// The fleet as text, a line per slot with everything that decides, and a remark on what each kind is.
    pub fn fleet_text(&self, run: &RunName, uuid: Uuid, now: Timestamp) -> String {
        let state = self.state(self.given(run, uuid), false, now);
        let catalogue = Catalogue::of(&state.cluster, [state.shape.as_ref()]);
        let kinds = catalogue
            .kinds()
            .map(|(name, kind)| format!("# {name}: {}\n", kind.spec.canon().redacted().write()));
        kinds.collect::<String>() + &fixture::print(&state.cluster, &catalogue, uuid)
    }

    /// What is open and recoverable, as the journal has it.
    pub fn recovery(&self, driven: bool) -> RecoveryView {
        listed(&self.recovered, driven)
    }

    /// One operation with its steps, open or closed, as far as history reaches.
    ///
    /// # Errors
    /// Fails if the journal cannot be read, and refuses a number that no operation has.
    pub fn operation(
        paths: &StatePaths,
        id: OperationId,
    ) -> Result<ShownOperationView, OfflineError> {
        let missing = || {
            let message = format!("there is no operation {id}, or it is history no more");
            let hint = Some("`levelhead recovery` lists what is open".to_owned());
            OfflineError::from(Refusal { hint, ..refuse(RefusalKind::Invalid, message) })
        };
        let reader = match Reader::open(paths.dir()) {
            Ok(reader) => reader,
            Err(OpenError::Missing { .. }) => return Err(missing()),
            Err(error) => return Err(error.into()),
        };
        let bad = reader.unreadable(id)?;
        if let Some(found) = reader.operation(id)? {
            let recovered = Self::open(paths)?.recovered;
            return Ok(ShownOperationView::Read(operation_view(&found, &bad, &recovered).into()));
        }
        let stands = reader.operation_as_it_stands(id)?;
        if stands.is_empty() {
            return Err(missing());
        }
        Ok(ShownOperationView::Unread(unread_view(id, &bad, stands).into()))
    }

    /// Every record that the journal has.
    pub fn records(&self) -> &[NodeRecord] {
        &self.recovered.records
    }

    /// Has `secrets` know, or know that it does not, what nodes of this run may show.
    pub fn expect_secrets(&self, secrets: &Secrets) {
        secrets::expect(&self.recovered, secrets);
    }

    /// Plans `edit` on a fresh look at every provider; takes no lock, writes nothing, and gives the hash that
    /// `apply` recomputes (R84).
    ///
    /// # Errors
    /// Fails if a provider cannot be made, and refuses an edit that makes no sense.
    pub async fn plan(&self, options: &Options, edit: &Edit) -> Result<PlanView, OfflineError> {
        let providers = build_providers(options)?;
        let mut state = self.stand_in(options, &providers, true);
        for (name, provider) in &providers {
            self.look(&mut state, options, name, provider.as_ref()).await;
        }
        for (slot, attempt) in state.recovery_looks(edit) {
            look_by_id(&mut state, options, &providers, slot, attempt).await;
        }
        Ok(state.planner(edit, (options.clock)())?.view()?)
    }

    /// Plans `edit` on what the journal says, without any look; such a plan says so, and confirms nothing (R83).
    ///
    /// # Errors
    /// Fails if a provider cannot be made, and refuses an edit that makes no sense.
    pub fn plan_unseen(&self, options: &Options, edit: &Edit) -> Result<PlanView, OfflineError> {
        let state = self.stand_in(options, &build_providers(options)?, false);
        let view = state.planner(edit, (options.clock)())?.view()?;
        Ok(PlanView { offline: true, ..view })
    }

    /// What a driver with these options would have in mind; with `doubt`, before its first look.
    fn stand_in(
        &self,
        options: &Options,
        providers: &BTreeMap<ProviderName, Arc<dyn Provider>>,
        doubt: bool,
    ) -> State {
        self.expect_secrets(&options.secrets);
        let given = Given {
            capabilities: capabilities(providers),
            secrets: options.secrets.clone(),
            declared: capacity::declared(&options.providers),
            parallelism: options.parallelism,
            ..self.given(&options.run, options.uuid)
        };
        self.state(given, doubt, (options.clock)())
    }

    async fn look(
        &self,
        state: &mut State,
        options: &Options,
        name: &ProviderName,
        provider: &dyn Provider,
    ) {
        let asked_at = (options.clock)();
        let listing = options.secrets.listing(provider.list_owned(options.uuid).await);
        let grace = limits::ABSENCE_GRACE.max(millis(provider.capabilities().visibility));
        let (provider, fence) = (name.clone(), state.fence);
        let fact = Fact::Listed { provider, listing, asked_at, grace, fence };
        state.fold(fact, (options.clock)());
    }

    /// What a driver would be told, without providers.
    fn given(&self, run: &RunName, uuid: Uuid) -> Given {
        Given {
            run: run.clone(),
            uuid,
            capabilities: BTreeMap::new(),
            secrets: Secrets::default(),
            declared: Declared::new(),
            parallelism: limits::PARALLELISM_DEFAULT,
            plan_fence: self.recovered.fence,
            mode: Mode::Waiting,
        }
    }

    fn state(&self, given: Given, doubt: bool, now: Timestamp) -> State {
        State::resume(given, self.recovered.clone(), doubt, now)
    }
}

/// Looks at one attempt in doubt, as a driver would.
async fn look_by_id(
    state: &mut State,
    options: &Options,
    providers: &BTreeMap<ProviderName, Arc<dyn Provider>>,
    slot: LogicalNodeId,
    attempt: AttemptId,
) {
    let Some(record) = state.cluster.record(&slot).and_then(|record| record.of_attempt(attempt))
    else {
        return;
    };
    let Some(provider) = providers.get(&record.spec.provider) else { return };
    let lease = record.stage.lease().cloned();
    let seen = provider.inspect(options.uuid, &slot, attempt, lease.as_ref());
    // What cannot be seen in time is as unknown as it was.
    let Ok(look) = tokio::time::timeout(LOOK_BOUND, seen).await else { return };
    let look = options.secrets.look(&slot.group, look);
    let visibility = state.visibility(&slot, attempt);
    state.fold(Fact::Looked { slot, attempt, look, visibility }, (options.clock)());
}

/// Events of a run from its journal, oldest first: those after `after`, or the newest. A run without a journal has none.
///
/// # Errors
/// Fails if a journal is there and cannot be read.
pub fn events(
    paths: &StatePaths,
    after: Option<u64>,
    limit: u32,
) -> Result<Vec<EventView>, OfflineError> {
    let reader = match Reader::open(paths.dir()) {
        Err(OpenError::Missing { .. }) => return Ok(Vec::new()),
        reader => reader?,
    };
    let rows: Vec<EventRow> = reader.events(after, limit)?;
    Ok(rows.iter().map(event_view).collect())
}
