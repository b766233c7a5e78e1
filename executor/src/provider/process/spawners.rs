//! The threads that start processes, and do nothing else.
//!
//! They have a table of descriptors of their own, which a new process copies in place of the driver's. Between them and
//! everybody else go paths, words and numbers, never a descriptor.

use std::{
    io,
    sync::{
        Arc, Mutex, OnceLock,
        mpsc::{self, Receiver, Sender},
    },
    thread,
};

use rustix::process::Pid;

use super::{
    lock::locked,
    spawn::{Launch, leave_descriptors, spawn},
};

/// A process that is wanted, and who waits for its id.
struct Order {
    launch: Launch,
    answer: Sender<io::Result<Pid>>,
}

/// One thread per processor, started with the first process.
#[derive(Debug, Default)]
pub(super) struct Spawners(OnceLock<io::Result<Sender<Order>>>);

impl Spawners {
    /// Starts a process; waits until its program is executed.
    ///
    /// # Errors
    /// Gives the error of whatever failed up to and including the execution of the program.
    pub(super) fn spawn(&self, launch: Launch) -> io::Result<Pid> {
        let orders = self.0.get_or_init(begin).as_ref();
        let orders = orders.map_err(|error| io::Error::from(error.kind()))?;
        let (answer, pid) = mpsc::channel();
        let gone = || io::Error::other("the thread that starts processes ended");
        orders.send(Order { launch, answer }).map_err(|_ended| gone())?;
        pid.recv().map_err(|_ended| gone())?
    }
}

fn begin() -> io::Result<Sender<Order>> {
    let (sender, orders) = mpsc::channel();
    let orders = Arc::new(Mutex::new(orders));
    for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
        let orders = Arc::clone(&orders);
        thread::Builder::new().name("spawner".to_owned()).spawn(move || serve(&orders))?;
    }
    Ok(sender)
}

/// Ends when nobody can order any more.
fn serve(orders: &Mutex<Receiver<Order>>) {
    leave_descriptors();
    while let Some(order) = next(orders) {
        // Whoever does not wait any more finds the process by its lease.
        drop(order.answer.send(spawn(&order.launch)));
    }
}

fn next(orders: &Mutex<Receiver<Order>>) -> Option<Order> {
    locked(orders).recv().ok()
}
