//! Opens the folder that the tool `docs` searches: shows how far its index is, and says what is left out.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use planwright::ports::ToolError;
use planwright_docs::Docs;
use planwright_docs::docs::Skipped;

use super::{out, text};

/// Most documents that are named one by one.
const SHOWN: usize = 3;
/// An index that is built faster than this is not worth a word.
const PATIENCE: Duration = Duration::from_millis(300);

/// The documents of a folder, their index brought up to date in the program's cache.
pub fn open_folder(folder: &Path) -> Result<Docs, ToolError> {
    let mut docs = Docs::folder(folder)?.on_progress(progress(folder));
    if let Some(cache) = super::config::usual_cache("docs") {
        docs = docs.cached_in(cache);
    }
    complain_of(&docs.skipped()?);
    Ok(docs)
}

/// A bar on a terminal, one line elsewhere.
fn progress(folder: &Path) -> impl Fn(usize, usize) + Send + Sync + 'static {
    let folder = text::clean(&folder.display().to_string()).trim_end().to_owned();
    let begun: Mutex<(Option<Instant>, Option<ProgressBar>)> = Mutex::default();
    move |done, total| {
        let Ok(mut begun) = begun.lock() else { return };
        let (since, shown) = &mut *begun;
        if since.get_or_insert_with(Instant::now).elapsed() < PATIENCE {
            return;
        }
        let bar = shown.get_or_insert_with(|| {
            if !std::io::stderr().is_terminal() {
                out::complain(&format!("planwright: indexing {total} documents of {folder}"));
                return ProgressBar::hidden();
            }
            let style = ProgressStyle::with_template("  indexing {msg}  {bar:30} {pos}/{len}");
            let bar = ProgressBar::new(total as u64).with_message(folder.clone());
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        bar.set_position(done as u64);
        if done == total {
            bar.finish_and_clear();
        }
    }
}

/// Says which documents are not searched.
fn complain_of(skipped: &[Skipped]) {
    for line in skipped.iter().take(SHOWN) {
        out::complain(text::clean(&format!("planwright: {line}")).trim_end());
    }
    if skipped.len() > SHOWN {
        out::complain(&format!("planwright: not searched: {} more", skipped.len() - SHOWN));
    }
}
