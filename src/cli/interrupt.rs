//! Ctrl-C. The first stops the run at its next answer, the second ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};

use super::exit::Exit;
use super::screen::Voice;
use crate::driver::CancelToken;

/// Listens for Ctrl-C. Without a token the first already ends the program, with `farewell`.
pub fn listen(token: Option<CancelToken>, voice: Voice, farewell: String) {
    let pressed = AtomicBool::new(false);
    // Where no handler can be set, Ctrl-C ends the program, as it always does.
    let _ = ctrlc::set_handler(move || {
        if let (Some(token), false) = (&token, pressed.swap(true, Ordering::Relaxed)) {
            token.cancel();
            voice.say("planwright: stopping at the next answer; press Ctrl-C again to stop at once");
            return;
        }
        if let Voice::Live(live) = &voice {
            let _ = live.clear();
        }
        super::out::complain(&format!("planwright: stopped at once{farewell}"));
        std::process::exit(Exit::Cancelled.code().into());
    });
}
