//! `serve`: threads over HTTP.

use std::net::SocketAddr;
use std::time::Duration;

use crate::args::ServeArgs;
use crate::indexing::show_index_progress;
use crate::{out, text};
use planwright_app::{Result, Settings};
use planwright_serve::{Announce, Options};

struct Terminal {
    quiet: bool,
}

impl Announce for Terminal {
    fn ready(&self, address: SocketAddr) {
        // For whoever starts it and reads where it listens.
        let _ = out::print_text(&format!("http://{address}"));
        if !self.quiet {
            let body = r#"{"message": "What happens when a plan is rejected?"}"#;
            out::complain(&format!("planwright: try  curl -s http://{address}/chat --json '{body}'"));
            out::complain("planwright: Ctrl-C or SIGTERM stops it; what runs then goes on at the next start");
        }
    }

    fn note(&self, note: &str) {
        if !self.quiet {
            out::remark(&text::line(note));
        }
    }
}

pub fn serve(args: &ServeArgs) -> Result<()> {
    let progress = Some(()).filter(|()| !args.quiet).map(|()| show_index_progress());
    let config = args.store.config.as_deref();
    let settings = Settings::resolve(&args.settings, config, progress)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = Options {
        listen: args.listen,
        allow_anonymous: args.allow_anonymous,
        max_runs: args.max_runs.unwrap_or(2 * cores as u32),
        max_waiting: args.max_waiting,
        max_body_bytes: args.max_body_bytes,
        require_tokens: args.require_tokens,
        resume: !args.no_resume,
        reader_patience: Duration::from_secs(args.reader_seconds),
    };
    let terminal = Terminal { quiet: args.quiet };
    planwright_serve::serve(&options, args.store.place()?, settings, args.choice.clone(), config, &terminal)
}
