//! One run as the program shows it: the screen, Ctrl-C, the watcher, and what is printed at the end. Every command
//! that runs an agent goes through here.

use std::cell::OnceCell;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use clap::ColorChoice;

use crate::args::ShowArgs;
use crate::out::{Exit, Style};
use crate::screen::{Screen, Voice, show_index_progress};
use crate::watch::Watch;
use crate::{out, text, trace};
use planwright::driver::{CancelToken, Run, Stopped};
use planwright::machine::TraceLine;
use planwright_app::{
    Class, Overrides, PreparedAgent, Result, RunInfo, RunLocation, RunReport, Settings, Spent, run_error,
};

/// Resolves the settings of a command that runs an agent.
pub fn resolve_settings(overrides: &Overrides, config: Option<&Path>) -> Result<Settings> {
    Ok(Settings::resolve(overrides, config)?.on_index_progress(show_index_progress()))
}

/// The screen of a call that runs an agent, and what stops it.
pub struct Session<'a> {
    pub screen: Screen,
    pub show: &'a ShowArgs,
    pub style: Style,
    stopper: OnceCell<Stopper>,
}

impl<'a> Session<'a> {
    pub fn new(show: &'a ShowArgs, color: ColorChoice) -> Self {
        let style = Style::of(color, &std::io::stderr());
        Session { screen: Screen::new(show.quiet, color), show, style, stopper: OnceCell::new() }
    }

    /// Shows what a person should know about the agent.
    pub fn introduce(&self, prepared: &PreparedAgent) {
        prepared.warnings.iter().for_each(|warning| out::remark(warning));
        prepared.notes.iter().for_each(|note| self.screen.note(note));
    }

    /// A run of an agent, as it was asked for.
    pub fn info<'i>(
        &self,
        prepared: &'i PreparedAgent,
        question: &'i str,
        location: RunLocation<'i>,
    ) -> RunInfo<'i> {
        let spec = prepared.agent.rules().spec();
        RunInfo {
            question,
            agent: &spec.name,
            model: &prepared.model,
            location,
            fixture: None,
            prices: &spec.prices,
            currency: prepared.currency.as_deref(),
            shows_trace: self.show.trace || self.show.json,
        }
    }

    /// The watcher of a run whose result is for stdout.
    pub fn watch(&self) -> Watch<'_> {
        match (self.show.events, self.show.json) {
            (true, _) => Watch::events(&self.screen),
            (false, true) => Watch::quietly(&self.screen),
            (false, false) => Watch::answer(&self.screen),
        }
    }

    /// What stops the run that begins now. Ctrl-C is listened for from the first call on.
    pub fn begin(&self, location: RunLocation<'_>) -> CancelToken {
        let farewell = || location.resume_command().map(|command| format!("; `{command}` goes on"));
        let listen = || Stopper::listen(self.screen.voice.clone(), farewell().unwrap_or_default());
        self.stopper.get_or_init(listen).begin()
    }

    /// Nothing runs any more.
    pub fn end(&self) {
        self.stopper.get().map(Stopper::take);
        self.screen.clear();
    }

    /// Runs, and shows what comes of it.
    pub fn run(
        &self,
        info: &RunInfo<'_>,
        go: impl FnOnce(&Watch<'_>, CancelToken) -> Result<Run, Stopped>,
    ) -> Result<Exit> {
        let watch = self.watch();
        let result = go(&watch, self.begin(info.location));
        self.conclude(info, &watch, &result)
    }

    /// Shows what came of a run: the answer or one JSON object on stdout, the rest on stderr.
    pub fn conclude(
        &self,
        info: &RunInfo<'_>,
        watch: &Watch<'_>,
        result: &Result<Run, Stopped>,
    ) -> Result<Exit> {
        self.screen.clear();
        watch.ended(result);
        let run = match result {
            Ok(run) => Some(run),
            Err(Stopped::Unsaved { run, .. }) => Some(&**run),
            Err(_) => None,
        };
        let interrupted = match result {
            Err(Stopped::Interrupted(interrupted)) => Some(&*interrupted.state),
            _ => None,
        };
        let state = run.map(Run::state).or(interrupted).filter(|_| self.show.trace);
        state.into_iter().for_each(|state| self.show_trace(state.trace()));
        let spent = run.and_then(|run| Spent::of(run.state(), info.prices, info.currency).line());
        spent.into_iter().for_each(|line| self.screen.note(&line));
        if self.show.json
            && let Some(report) = RunReport::of(info, result)
        {
            out::print_json(&report)?;
        }
        if let Some(waiting) = run.and_then(Run::waiting) {
            out::complain(&format!(
                "planwright: the run waits for a person: {}",
                text::clean(&waiting.question)
            ));
            if let Some(refused) = &waiting.refused {
                out::complain(&format!("  the last answer was refused: {}", text::line(refused)));
            }
            out::complain(&format!("  hint: {}", info.location.answer_hint(waiting)));
            return Ok(Exit::Of(Class::Waiting));
        }
        if let Some(run) = run.filter(|run| !self.show.json && run.error().is_none()) {
            watch.print_answer(run.answer().unwrap_or_default())?;
        }
        run_error(info, result).map_or(Ok(Exit::Done), Err)
    }

    /// Shows transitions as a table on stderr.
    pub fn show_trace(&self, trace: &[TraceLine]) {
        let lines = trace::table(trace, None, Some(self.screen.columns));
        lines.iter().for_each(|line| out::complain(line));
    }
}

/// What Ctrl-C stops at the moment: the first what runs, at its next answer; the second the program, at once.
#[derive(Clone, Default)]
struct Stopper(Arc<Mutex<Option<CancelToken>>>);

impl Stopper {
    /// Listens for Ctrl-C. Where nothing runs the first already ends the program, with `farewell`.
    fn listen(voice: Voice, farewell: String) -> Self {
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

    /// A token for what runs from now on.
    fn begin(&self) -> CancelToken {
        let token = CancelToken::new();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(token.clone());
        token
    }

    fn take(&self) -> Option<CancelToken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
