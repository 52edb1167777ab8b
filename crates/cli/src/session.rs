//! One run as the program shows it: the screen, Ctrl-C, the watcher, and what is printed at the end. Every command
//! that runs an agent goes through here.

use std::cell::RefCell;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::ColorChoice;

use crate::args::ShowArgs;
use crate::editor::is_typed;
use crate::indexing::show_index_progress;
use crate::out::{Exit, Style};
use crate::screen::{Screen, Stdout};
use crate::signals::handle_signals;
use crate::{out, text, trace};
use planwright::driver::{CancelToken, Run, Stopped};
use planwright::machine::State;
use planwright_app::{
    Class, Overrides, PreparedAgent, Result, RunInfo, RunLocation, Settings, WRITE_GRACE, ended_run,
    last_state, results_text,
};
use planwright_otel::Telemetry;

/// The screen of a call that runs an agent, and what stops it.
pub struct Session<'a> {
    pub screen: Screen,
    pub show: &'a ShowArgs,
    pub style: Style,
    running: Running,
    _telemetry: Option<SentAtEnd>,
}

/// Telemetry that is sent at the end of the session.
struct SentAtEnd(Telemetry);

impl SentAtEnd {
    /// Telemetry as the environment says. Where that does not read the user is told, and there is none.
    fn from_env() -> Option<Self> {
        Telemetry::from_env().map_or_else(
            |problem| {
                out::remark(&format!("telemetry is off: {problem}"));
                None
            },
            |telemetry| telemetry.map(SentAtEnd),
        )
    }
}

impl Drop for SentAtEnd {
    fn drop(&mut self) {
        if let Some(losses) = self.0.shut_down() {
            out::remark(&losses.to_string());
        }
    }
}

/// What Ctrl-C stops at the moment.
type Running = Arc<Mutex<Stops>>;

/// What has a run stop, until it is told to: to be gone on with where its records are kept, else for good.
#[derive(Default)]
struct Stops {
    token: Option<CancelToken>,
    is_kept: bool,
    /// The command that goes on with what runs, or is being stopped.
    resume: Option<String>,
}

fn lock(running: &Running) -> MutexGuard<'_, Stops> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Session<'a> {
    pub fn new(show: &'a ShowArgs, color: ColorChoice) -> Self {
        let style = Style::of(color, &std::io::stderr());
        let stdout = match (show.events, show.json) {
            (true, _) => Stdout::Events,
            (false, true) => Stdout::Result,
            (false, false) => Stdout::Answer,
        };
        let mut screen = Screen::new(show.quiet, style, stdout);
        screen.verbose = show.verbose;
        let telemetry = SentAtEnd::from_env();
        screen.traced = RefCell::new(telemetry.as_ref().map(|telemetry| telemetry.0.observer()));
        let session = Session { screen, show, style, running: Running::default(), _telemetry: telemetry };
        session.listen();
        session
    }

    pub fn resolve_settings(&self, overrides: &Overrides, config: Option<&Path>) -> Result<Settings> {
        let progress = Some(()).filter(|()| !self.show.quiet).map(|()| show_index_progress());
        Settings::resolve(overrides, config, progress)
    }

    pub fn introduce(&self, prepared: &PreparedAgent) {
        self.screen.agent.replace(prepared.agent.compiled().spec().name.clone());
        prepared.warnings.iter().for_each(|warning| out::remark(warning));
        prepared.notes.iter().for_each(|note| self.screen.note(note));
    }

    pub fn info<'i>(
        &self,
        prepared: &'i PreparedAgent,
        question: &'i str,
        location: RunLocation<'i>,
    ) -> RunInfo<'i> {
        let shows_trace = self.show.trace || self.show.json;
        RunInfo { question, prepared, location: location.with(&prepared.flags), fixture: None, shows_trace }
    }

    /// What stops the run that begins now.
    pub fn begin(&self, location: RunLocation<'_>, fixture: Option<&Path>) -> CancelToken {
        self.begin_kept(location, fixture.is_some() || location.resume_command().is_some())
    }

    /// As [`begin`](Session::begin). A run that `is_kept` is stopped to be gone on with.
    pub fn begin_kept(&self, location: RunLocation<'_>, is_kept: bool) -> CancelToken {
        self.screen.begin();
        let (token, resume) = (CancelToken::new(), location.resume_command());
        self.screen.stop.replace(Some(token.clone()));
        *lock(&self.running) = Stops { token: Some(token.clone()), is_kept, resume };
        token
    }

    /// Has the first Ctrl-C or SIGTERM stop what runs, and the second the program, at once. Where nothing runs the
    /// first already ends the program. A write under way is waited for, but not for longer than a supervisor waits.
    fn listen(&self) {
        let (voice, running) = (self.screen.voice.clone(), Arc::clone(&self.running));
        handle_signals(move || {
            let mut stops = lock(&running);
            if let Some(token) = stops.token.take() {
                if stops.is_kept {
                    token.interrupt()
                } else {
                    token.cancel()
                };
                let leave = move || {
                    std::thread::sleep(WRITE_GRACE);
                    token.leave();
                };
                let _ = std::thread::Builder::new().spawn(leave);
                voice.say("planwright: stopping; press Ctrl-C again to stop at once");
                return None;
            }
            let _ = voice.live.clear();
            let goes_on = stops.resume.as_ref().map(|command| format!("; `{command}` goes on"));
            Some(format!("planwright: stopped at once{}", goes_on.unwrap_or_default()))
        });
    }

    /// Nothing runs any more.
    pub fn end(&self) {
        *lock(&self.running) = Stops::default();
        self.screen.clear();
    }

    pub fn run(
        &self,
        info: &RunInfo<'_>,
        go: impl FnOnce(&Screen, CancelToken) -> Result<Run, Stopped>,
    ) -> Result<Exit> {
        self.screen.agent.replace(info.prepared.agent.compiled().spec().name.clone());
        let result = go(&self.screen, self.begin(info.location, info.fixture));
        self.conclude(info, &result)
    }

    /// Shows what came of a run: the answer or one JSON object on stdout, the rest on stderr.
    pub fn conclude(&self, info: &RunInfo<'_>, result: &Result<Run, Stopped>) -> Result<Exit> {
        self.screen.end(result);
        if let Some(state) = last_state(result).filter(|_| self.show.trace) {
            self.show_trace(state);
        }
        let run = ended_run(result);
        if let Some(line) = run.and_then(|run| info.spent_line(run.state())) {
            self.screen.note(&line);
        }
        if let Some(mut report) = self.show.json.then(|| info.report(result)).flatten() {
            report["said"] = self.screen.said.take().into();
            out::print_json(&report)?;
        }
        if let Some((run, waiting)) = run.and_then(|run| Some((run, run.waiting()?))) {
            let question = text::clean(&waiting.question);
            // A person at the terminal has seen it with the question, and JSON has it.
            let results = results_text(run.state(), waiting.effect);
            if !results.is_empty() && !is_typed() && self.screen.stdout.get() == Stdout::Answer {
                self.screen.voice.say(&text::clean(&results));
            }
            out::complain(&format!("planwright: the run waits for a person: {question}"));
            if let Some(refused) = &waiting.refused {
                out::complain(&format!("  the last answer was refused: {}", text::line(refused)));
            }
            out::complain(&format!("  hint: {}", info.location.answer_hint(waiting)));
            return Ok(Some(Class::Waiting));
        }
        if let Some(run) = run.filter(|run| !self.show.json && run.error().is_none()) {
            self.screen.print_answer(&info.answer_text(run.state()).unwrap_or_default())?;
        }
        info.error(result).map_or(Ok(None), Err)
    }

    pub fn show_trace(&self, state: &State) {
        let lines = trace::table(state.trace(), state.intent(), None, Some(self.screen.columns));
        lines.iter().for_each(|line| out::complain(line));
    }
}
