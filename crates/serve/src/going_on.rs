//! What goes on by itself: the turns whose process was killed, when the service begins; and those that the store stopped,
//! once it can be read and written again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::pool::read;
use crate::service::Shared;
use planwright_app::{Error, Result};

/// How soon the store is asked whether it is there again, and how far apart later tries are at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Lets the turns go on whose process was killed. Those in doubt wait for a person. Returns how many there are.
pub(crate) async fn go_on_with_left(service: &Shared) -> Result<usize> {
    let known = Arc::clone(service);
    let left = read(move || known.left_threads()).await;
    let left = left.map_err(|problem| Error::unusable(problem.detail()))?;
    let count = left.len();
    // Who asks for what happens in them waits for them.
    for thread in left {
        tokio::spawn(service.go_on_in_turn(thread));
    }
    Ok(count)
}

/// Goes on with what the store stopped, until the service stops: all of it once the store is there, however much that
/// is. What is stopped again soon is waited for longer.
pub(crate) async fn go_on_with_stopped(service: Shared) {
    let Some(stopped) = &service.stopped else { return };
    let (mut pause, mut tried) = (FIRST_PAUSE, Instant::now());
    loop {
        tokio::select! {
            () = stopped.added() => {}
            () = service.live.stopped() => return,
        }
        if tried.elapsed() > 2 * LONGEST_PAUSE {
            pause = FIRST_PAUSE;
        }
        while !stopped.is_empty() {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = service.live.stopped() => return,
            }
            (pause, tried) = ((pause * 2).min(LONGEST_PAUSE), Instant::now());
            let known = Arc::clone(&service);
            if read(move || known.check_store()).await.is_ok() {
                stopped
                    .take()
                    .into_iter()
                    .for_each(|thread| drop(tokio::spawn(service.go_on_in_turn(thread))));
            }
        }
    }
}
