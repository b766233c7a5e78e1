//! A journal behind a valve: while that is closed nothing is written, as on a disk that hangs.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use checkpoint::{
    owner::OwnerClaim,
    store::{Commit, Committed, Journal, Store, Ticket},
};
use driver::{Driver, Ground, Options, start_on};
use executor::seam::ProviderPlace;
use reconciler_core::id::PlanHash;

type Wake = Arc<Mutex<Box<dyn Fn() + Send>>>;

/// What holds a journal back.
#[derive(Clone, Default)]
pub(crate) struct Valve(Arc<Held>);

#[derive(Default)]
struct Held {
    closed: AtomicBool,
    wake: Mutex<Option<Wake>>,
}

impl Valve {
    /// From now on nothing is written.
    pub(crate) fn close(&self) {
        self.0.closed.store(true, Ordering::SeqCst);
    }

    /// From now on everything is.
    pub(crate) fn open(&self) {
        self.0.closed.store(false, Ordering::SeqCst);
        if let Some(wake) = &*self.0.wake.lock().unwrap() {
            wake.lock().unwrap()();
        }
    }

    /// The driver of `stand` whose journal stands behind this valve.
    pub(crate) fn driver(&self, options: Options) -> Driver {
        let made = start_on(options, |options, wake| {
            let claim = OwnerClaim {
                run: options.uuid,
                name: options.run.clone(),
                pid: std::process::id(),
                started: (options.clock)(),
                host: "here".to_owned(),
                machine: checkpoint::owner::this_machine(),
            };
            let wake: Wake = Arc::new(Mutex::new(wake));
            *self.0.wake.lock().unwrap() = Some(Arc::clone(&wake));
            let wake = Box::new(move || wake.lock().unwrap()());
            let (journal, recovered) = Journal::open(options.paths.dir(), &claim, wake)?;
            let fence = journal.fence_reader();
            let providers = options.providers.iter().map(|(name, decl)| {
                let place = ProviderPlace {
                    state_dir: options.paths.provider(name),
                    base_dir: options.base_dir.clone(),
                    secrets: options.secrets.clone(),
                };
                let factory = options.catalogue.get(&decl.kind).unwrap();
                (name.clone(), factory.build(&decl.options, &place).unwrap())
            });
            let providers: BTreeMap<_, _> = providers.collect();
            let store = Slow {
                journal,
                valve: self.clone(),
                held: VecDeque::new(),
                submitted: 0,
                answered: 0,
            };
            Ok::<_, checkpoint::store::OpenError>(Ground {
                store: Box::new(store),
                recovered,
                fence,
                providers,
            })
        });
        made.unwrap()
    }
}

/// The journal; it numbers commits itself, since those that are held have no number yet.
struct Slow {
    journal: Journal,
    valve: Valve,
    held: VecDeque<Commit>,
    submitted: u64,
    answered: u64,
}

impl Slow {
    fn pass_on(&mut self) {
        if !self.valve.0.closed.load(Ordering::SeqCst) {
            for commit in self.held.drain(..) {
                self.journal.submit(commit);
            }
        }
    }
}

impl Store for Slow {
    fn submit(&mut self, commit: Commit) -> Ticket {
        self.held.push_back(commit);
        self.pass_on();
        self.submitted += 1;
        Ticket(self.submitted)
    }

    fn flush(&mut self) {
        self.pass_on();
        self.journal.flush();
    }

    fn poll(&mut self) -> Option<Committed> {
        self.pass_on();
        let committed = self.journal.poll()?;
        self.answered += 1;
        Some(Committed { ticket: Ticket(self.answered), ..committed })
    }

    fn is_used(&self, hash: &PlanHash) -> bool {
        self.journal.is_used(hash)
    }
}
