//! How far the index of a folder of documents is.

use std::io::{IsTerminal, stderr};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use crate::screen::style_of;
use crate::{out, text};
use planwright_app::IndexProgress;

/// An index that is built faster than this is not worth a word.
const PATIENCE: Duration = Duration::from_millis(300);

/// Shows how far the index of a folder of documents is: a bar on a terminal, one line elsewhere.
pub fn show_index_progress() -> IndexProgress {
    let (begun, bar) = (OnceLock::new(), OnceLock::new());
    Arc::new(move |folder, done, total| {
        if begun.get_or_init(Instant::now).elapsed() < PATIENCE {
            return;
        }
        let bar: &ProgressBar = bar.get_or_init(|| {
            let folder = text::line(&folder.display().to_string());
            if !stderr().is_terminal() {
                out::complain(&format!("planwright: indexing {total} documents of {folder}"));
                return ProgressBar::hidden();
            }
            let bar = ProgressBar::new(total as u64).with_message(folder);
            bar.with_style(style_of("  indexing {msg}  {bar:30} {pos}/{len}"))
        });
        bar.set_position(done as u64);
        if done == total {
            bar.finish_and_clear();
        }
    })
}
