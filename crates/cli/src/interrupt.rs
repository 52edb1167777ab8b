//! Signals. The first Ctrl-C stops what runs at its next answer, the second ends the program at once. A
//! file that may grow no larger is an error like a full disk, not the end of the program.

use std::sync::{Arc, Mutex, PoisonError};

use crate::exit::Exit;
use crate::out;
use crate::screen::Voice;
use planwright::driver::CancelToken;
use planwright_app::Class;

/// What Ctrl-C stops at the moment.
#[derive(Clone, Default)]
pub struct Stopper(Arc<Mutex<Option<CancelToken>>>);

impl Stopper {
    /// A token for what runs from now on.
    pub fn begin(&self) -> CancelToken {
        let token = CancelToken::new();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(token.clone());
        token
    }

    /// Nothing runs any more.
    pub fn end(&self) {
        self.take();
    }

    fn take(&self) -> Option<CancelToken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Listens for Ctrl-C. Where nothing runs the first already ends the program, with `farewell`.
pub fn listen(voice: Voice, farewell: String) -> Stopper {
    let stopper = Stopper::default();
    let running = stopper.clone();
    // Where no handler can be set, Ctrl-C ends the program, as it always does.
    let _ = ctrlc::set_handler(move || {
        if let Some(token) = running.take() {
            token.cancel();
            voice.say("planwright: stopping at the next answer; press Ctrl-C again to stop at once");
            return;
        }
        if let Voice::Live(live) = &voice {
            let _ = live.clear();
        }
        out::complain(&format!("planwright: stopped at once{farewell}"));
        std::process::exit(Exit::Of(Class::Cancelled).code().into());
    });
    stopper
}

/// Has the system answer a write beyond the largest size of a file (`ulimit -f`) with an error. Left alone,
/// it would end the program amid what it does, without a word.
pub fn outlive_file_limits() {
    // A process that handles the signal outlives it.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(
        signal_hook::consts::SIGXFSZ,
        Arc::new(std::sync::atomic::AtomicBool::new(false)),
    );
}
