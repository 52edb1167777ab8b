//! A store that several services share: what another one writes is shown here at once, and a run whose service died is
//! gone on with here.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use crate::pool::read;
use crate::service::Shared;
use planwright::journal::{Heard, ThreadId};
use planwright_app::{Error, Result};

/// How much that was heard may wait. What finds no room is seen by those who look from time to time.
const ROOM: usize = 1024;

/// Listens to what other services do, if the store hears of it.
pub(crate) async fn listen(service: &Shared, goes_on: bool) -> Result<()> {
    let (teller, mut told) = mpsc::channel(ROOM);
    let known = Arc::clone(service);
    let hear = Box::new(move |heard| drop(teller.try_send(heard)));
    let listens = read(move || Ok(known.threads().store().listen(hear)?)).await;
    if !listens.map_err(|problem| Error::unusable(problem.detail()))? {
        return Ok(());
    }
    // The store has the sender, and the service has the store: neither may last for the other's sake.
    let service = Arc::downgrade(service);
    tokio::spawn(async move {
        let going_on = Arc::new(Mutex::new(HashSet::new()));
        while let Some(heard) = told.recv().await {
            let Some(service) = service.upgrade() else { return };
            match heard {
                Heard::Written(thread) => service.live.moved(&thread),
                // All services hear of it, again and again: the one that claims the thread goes on with it.
                Heard::Left(thread) if goes_on => {
                    if lock(&going_on).insert(thread.clone()) {
                        let (run, going_on) = (service.go_on_in_turn(thread.clone()), Arc::clone(&going_on));
                        tokio::spawn(async move {
                            run.await;
                            lock(&going_on).remove(&thread);
                        });
                    }
                }
                Heard::Left(_) => {}
            }
        }
    });
    Ok(())
}

fn lock(threads: &Mutex<HashSet<ThreadId>>) -> MutexGuard<'_, HashSet<ThreadId>> {
    threads.lock().unwrap_or_else(PoisonError::into_inner)
}
