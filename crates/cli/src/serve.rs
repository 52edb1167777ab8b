//! `serve`: threads over HTTP.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;
use serde_json::json;

use crate::args::{Cli, Command as Typed, KeysCommand, McpServeArgs, ServeArgs, ServeCommand};
use crate::indexing::show_index_progress;
use crate::{out, text};
use planwright_app::{Error, Result, Settings};
use planwright_serve::{Announce, Key, KeyFile, LogLevel, Options, Right, Setup};

struct Terminal {
    quiet: bool,
}

impl Announce for Terminal {
    fn ready(&self, address: SocketAddr) {
        // For the program that starts it and reads where it listens.
        let _ = out::print_text(&format!("http://{address}"));
        if !self.quiet {
            let body = r#"{"message": "What happens when a plan is rejected?"}"#;
            out::complain(&format!("planwright: the page is at  http://{address}/"));
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
    if let Some(ServeCommand::Keys { command }) = &args.command {
        return keys(&KeyFile::at(args.key_file()?), command);
    }
    // Where it is named it is meant: without it anybody could ask.
    if let Some(path) = args.keys.as_ref().filter(|path| !path.exists()) {
        let problem = format!("--keys: {}: there is no such file", path.display());
        return Err(
            Error::unusable(problem).hint("`planwright serve keys new` with the same --keys makes it")
        );
    }
    let in_words = !args.quiet && args.log_level() == LogLevel::Off;
    // A log has what else would be said in words.
    start_service(args, &Terminal { quiet: !in_words })
}

/// Serves the client that has started this process.
pub fn serve_mcp(args: &McpServeArgs) -> Result<()> {
    let Typed::Serve(mut service) = Cli::parse_from(["planwright", "serve", "--quiet"]).command else {
        return Ok(());
    };
    (service.choice, service.settings) = (args.choice.clone(), args.settings.clone());
    (service.store, service.log) = (args.store.clone(), Some(args.log));
    // Who closes stdin waits for no answer any more.
    service.grace_seconds = 0;
    start(&service, &Terminal { quiet: true }, planwright_serve::serve_mcp)
}

/// Starts a service as it is asked for, and tells `announce` of it.
pub fn start_service(args: &ServeArgs, announce: &dyn Announce) -> Result<()> {
    start(args, announce, planwright_serve::serve)
}

type Serve = fn(&Options, Setup, &dyn Announce) -> Result<()>;

fn start(args: &ServeArgs, announce: &dyn Announce, serve: Serve) -> Result<()> {
    let in_words = !args.quiet && args.log_level() == LogLevel::Off;
    let progress = Some(()).filter(|()| in_words).map(|()| show_index_progress());
    let settings = Settings::resolve(&args.settings, args.store.config.as_deref(), progress)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = Options {
        listen: args.listen,
        keys: args.key_file()?,
        allow_anonymous: args.allow_anonymous,
        allow_origin: args.allow_origin.clone(),
        max_requests: args.max_requests,
        arrives_within: Duration::from_secs(args.arrive_seconds),
        max_runs: args.max_runs.unwrap_or(2 * cores as u32),
        max_waiting: args.max_waiting,
        max_body_bytes: args.max_body_bytes,
        max_reply_bytes: args.max_reply_bytes,
        max_question_bytes: args.max_question_bytes,
        require_tokens: args.require_tokens,
        read_only: args.read_only,
        resume: !(args.no_resume || args.read_only),
        grace: Duration::from_secs(args.grace_seconds),
        reader_patience: Duration::from_secs(args.reader_seconds),
        log: args.log_level(),
        log_texts: args.log_texts,
    };
    let (place, choice, config) = (args.store.place()?, args.choice.clone(), args.store.config.clone());
    serve(&options, Setup { place, settings, choice, config }, announce)
}

fn keys(file: &KeyFile, command: &KeysCommand) -> Result<()> {
    match command {
        KeysCommand::New { name, may, threads_of, expires } => {
            let mut key = Key::new(name, may.clone());
            (key.threads_of, key.expires) = (threads_of.clone(), *expires);
            let key = file.add(key)?;
            out::complain("planwright: this is shown once; send it as  Authorization: Bearer KEY");
            out::print_text(&key)
        }
        KeysCommand::Remove { name } => file.remove(name),
        KeysCommand::List { json } => list_keys(&file.load()?.unwrap_or_default(), *json),
    }
}

fn list_keys(keys: &[Key], as_json: bool) -> Result<()> {
    if as_json {
        let shown = |key: &Key| {
            let Key { name, may, threads_of, expires, .. } = key;
            let expired = key.has_expired();
            json!({"name": name, "may": may, "threads_of": threads_of, "expires": expires, "expired": expired})
        };
        return out::print_json(&json!({"keys": keys.iter().map(shown).collect::<Vec<_>>()}));
    }
    let lines = keys.iter().map(|key| {
        let may: Vec<&str> = key.may.iter().copied().map(Right::name).collect();
        let threads = key.threads_of.as_ref().map(|of| format!("  threads of {of}")).unwrap_or_default();
        let said = if key.has_expired() { "expired" } else { "until" };
        let end = key.expires.map(|end| format!("  {said} {}", text::time(end))).unwrap_or_default();
        format!("{}  {}{threads}{end}", key.name, may.join(","))
    });
    out::print_lines(&lines.collect::<Vec<_>>())
}
