//! One run as the program shows it: the screen, Ctrl-C, the watcher, and what is printed at the end. Every command
//! that runs an agent goes through here.

use std::cell::OnceCell;

use clap::ColorChoice;

use crate::args::ShowArgs;
use crate::exit::Exit;
use crate::interrupt::{self, Stopper};
use crate::screen::Screen;
use crate::style::Style;
use crate::watch::Watch;
use crate::{out, text, trace};
use planwright::driver::{CancelToken, Run, Stopped};
use planwright::machine::State;
use planwright_app::{Class, PreparedAgent, Result, RunInfo, RunLocation, RunReport, Spent, run_error};

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
        let listen = || interrupt::listen(self.screen.voice.clone(), farewell().unwrap_or_default());
        self.stopper.get_or_init(listen).begin()
    }

    /// Nothing runs any more.
    pub fn end(&self) {
        self.stopper.get().into_iter().for_each(Stopper::end);
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
        match (run, result) {
            (Some(run), _) => self.show_trace(run.state()),
            (None, Err(Stopped::Interrupted(interrupted))) => self.show_trace(&interrupted.state),
            _ => {}
        }
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

    fn show_trace(&self, state: &State) {
        if self.show.trace {
            let lines = trace::table(&state.task.trace, None, Some(self.screen.columns()));
            lines.iter().for_each(|line| out::complain(line));
        }
    }
}
