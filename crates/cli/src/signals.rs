//! Signals that ask the program to end: Ctrl-C and SIGTERM. Whatever ends the program, what it has started ends first.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::out;
use planwright_app::{Class, end_connections};

/// Whether a signal is ending the program.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Has `hear` hear of each signal. Where it gives a last word, the program ends with that.
pub fn handle_signals(mut hear: impl FnMut() -> Option<String> + Send + 'static) {
    let handle = move || {
        if let Some(last_word) = hear() {
            IS_ENDING.store(true, Ordering::SeqCst);
            out::complain(&last_word);
            end_connections();
            std::process::exit(out::exit_code(Some(Class::Cancelled)).into());
        }
    };
    // Where a signal cannot be handled, it ends the program, as it always does.
    #[cfg(not(unix))]
    let _ = ctrlc::set_handler(handle);
    #[cfg(unix)]
    if let Ok(mut signals) =
        signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM])
    {
        let mut handle = handle;
        let _ = std::thread::Builder::new().spawn(move || signals.forever().for_each(|_| handle()));
    }
}

/// Waits for the end of the program if a signal has begun it: what else comes of its work is not said then.
pub fn give_way() {
    while IS_ENDING.load(Ordering::SeqCst) {
        std::thread::park();
    }
}
