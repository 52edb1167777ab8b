//! Shows how far the index of a folder of documents is.

use std::io::IsTerminal;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::{out, text};
use planwright_app::IndexProgress;

/// An index that is built faster than this is not worth a word.
const PATIENCE: Duration = Duration::from_millis(300);

/// A bar on a terminal, one line elsewhere.
pub fn show_progress() -> IndexProgress {
    let begun: Mutex<(Option<Instant>, Option<ProgressBar>)> = Mutex::default();
    Arc::new(move |folder, done, total| {
        let Ok(mut begun) = begun.lock() else { return };
        let (since, shown) = &mut *begun;
        if since.get_or_insert_with(Instant::now).elapsed() < PATIENCE {
            return;
        }
        let bar = shown.get_or_insert_with(|| {
            let folder = text::line(&folder.display().to_string());
            if !std::io::stderr().is_terminal() {
                out::complain(&format!("planwright: indexing {total} documents of {folder}"));
                return ProgressBar::hidden();
            }
            let style = ProgressStyle::with_template("  indexing {msg}  {bar:30} {pos}/{len}");
            let bar = ProgressBar::new(total as u64).with_message(folder);
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        bar.set_position(done as u64);
        if done == total {
            bar.finish_and_clear();
        }
    })
}
