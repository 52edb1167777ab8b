//! The screen: shows a run on stderr while it goes on. On a terminal what is under way has a spinner; elsewhere there
//! are plain lines. Stdout shows the answer as it is written (on a terminal), or everything as JSON lines (`--events`).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::{IsTerminal, stderr};
use std::time::Duration;

use clap::ColorChoice;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use crate::out::{Look, Style, is_screen, stderr_columns, stdout_columns};
use crate::trace::{step_input, value_line};
use crate::wrap::{Wrap, wrap};
use crate::{out, text};
use planwright::contract::excerpt;
use planwright::driver::{CancelToken, Progress, Run, Stopped};
use planwright::journal::system::now_ms;
use planwright::machine::{PhaseName, TraceLine};
use planwright::ports::{Observer, Signal};
use planwright::prompt::{RequestBody, TraceContext};
use planwright_app::Result;
use planwright_otel::RunSpans;

/// Columns of a line where there is no terminal to measure.
const PLAIN: usize = 100;
/// How much of a result is shown where more is wanted, in characters.
const RESULT_CHARS: usize = 1_000;

/// What stdout is for while a run goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stdout {
    /// The answer, as it is written.
    Answer,
    Events,
    /// A result that is printed at the end.
    Result,
}

/// Shows a run.
pub struct Screen {
    pub voice: Voice,
    style: Style,
    /// Whether thoughts, words beside calls and longer results are shown.
    pub verbose: bool,
    /// The agent that runs, by name.
    pub agent: RefCell<String>,
    /// What stops the run.
    pub stop: RefCell<Option<CancelToken>>,
    /// What models thought and said beside their calls, for JSON.
    pub said: RefCell<Vec<Value>>,
    /// How wide a line may be.
    pub columns: usize,
    pub stdout: Cell<Stdout>,
    /// What makes spans of the run, where telemetry is on.
    pub traced: RefCell<Option<RunSpans>>,
    /// What is under way: a reply, or the step of this position.
    spinners: RefCell<HashMap<Option<u32>, ProgressBar>>,
    /// What of the answer is on stdout already.
    printed: RefCell<String>,
    /// The answer on stdout whose line is unfinished.
    open: RefCell<Option<Wrap>>,
}

/// Where lines about a run go.
#[derive(Clone)]
pub struct Voice {
    quiet: bool,
    /// The spinners of a terminal, which lines go above; hidden elsewhere.
    pub live: MultiProgress,
}

impl Voice {
    pub fn say(&self, line: &str) {
        if !self.quiet {
            self.live.suspend(|| out::complain(line));
        }
    }
}

impl Screen {
    pub fn new(quiet: bool, style: Style, stdout: Stdout) -> Self {
        let target = match !quiet && is_screen(&stderr()) {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        Screen {
            voice: Voice { quiet, live: MultiProgress::with_draw_target(target) },
            style,
            verbose: false,
            agent: RefCell::default(),
            stop: RefCell::default(),
            said: RefCell::default(),
            columns: stderr_columns().unwrap_or(PLAIN).max(20),
            stdout: Cell::new(stdout),
            traced: RefCell::default(),
            spinners: RefCell::default(),
            printed: RefCell::default(),
            open: RefCell::default(),
        }
    }

    /// A remark about the run as a whole.
    pub fn note(&self, remark: &str) {
        self.say(Look::Dim, &format!("planwright: {}", text::line(remark)));
    }

    /// Takes away what is still shown as under way, and forgets what was shown of an answer.
    pub fn begin(&self) {
        self.clear();
        self.printed.take();
        self.said.take();
    }

    /// Ends what is under way, and the JSON lines with what came of the run.
    pub fn end(&self, result: &Result<Run, Stopped>) {
        self.clear();
        self.end_line();
        if self.stdout.get() == Stdout::Events {
            self.print_event(Progress::ended(result));
        }
    }

    /// Prints the answer, unless it stands there already.
    pub fn print_answer(&self, answer: &str) -> Result<()> {
        let stands_there = !answer.is_empty() && self.printed.borrow().trim() == answer.trim();
        match stdout_columns().filter(|_| std::io::stdout().is_terminal()) {
            _ if stands_there || self.stdout.get() == Stdout::Events => Ok(()),
            Some(columns) => out::print_text(&wrap(&text::clean(answer), columns)),
            None => out::print_text(answer),
        }
    }

    /// Ends what moves. What was printed stands.
    pub fn clear(&self) {
        self.spinners.borrow_mut().drain().for_each(|(_, spinner)| spinner.finish_and_clear());
    }

    fn say(&self, look: Look, line: &str) {
        self.voice.say(&self.style.paint(look, line));
    }

    /// An indented line: a mark, which stands out, and what is cut to the columns that are left.
    fn detail(&self, look: Look, mark: &str, rest: &str) {
        let mark = &text::clean(mark);
        let rest = text::cut(&text::line(rest), self.columns.saturating_sub(text::width(mark) + 4));
        let line = format!("  {}  {rest}", self.style.paint(look, mark));
        self.voice.say(line.trim_end());
    }

    fn print_event(&self, progress: Progress) {
        let _ = out::print_json_line(&progress.stamped(now_ms(), &self.agent.borrow()));
        if out::is_closed() {
            // Nobody reads what would come.
            self.stop.borrow().iter().for_each(CancelToken::interrupt);
        }
    }

    /// The lines of a text under a mark, none of them cut.
    fn paragraph(&self, look: Look, mark: &str, text: &str) {
        let lines: Vec<String> = text::clean(text).lines().map(|line| format!("\n     {line}")).collect();
        self.voice.say(&format!("  {}{}", self.style.paint(look, &text::clean(mark)), lines.concat()));
    }

    /// What a model thought, and what it said beside its calls.
    fn show_words(&self, asked: &str, thoughts: &str, words: &str) {
        for (what, text) in [("thinks", thoughts), ("says", words)] {
            if self.verbose && !text.is_empty() {
                self.paragraph(Look::Dim, &format!("{asked} {what}"), text);
            }
        }
    }

    fn is_live(&self) -> bool {
        !self.voice.live.is_hidden()
    }

    fn spin(&self, step: Option<u32>, message: &str) {
        if !self.is_live() {
            return;
        }
        let spinner = self.voice.live.add(ProgressBar::new_spinner());
        spinner.set_style(style_of("  {spinner} {msg}  {elapsed}"));
        spinner.set_message(text::cut(&text::line(message), self.columns.saturating_sub(12)));
        spinner.enable_steady_tick(Duration::from_millis(100));
        self.stop(step);
        self.spinners.borrow_mut().insert(step, spinner);
    }

    fn stop(&self, step: Option<u32>) {
        self.spinners.borrow_mut().remove(&step).iter().for_each(ProgressBar::finish_and_clear);
    }

    fn finished(&self, step: u32, tool: &str, failed: bool, output: &str) {
        self.stop(Some(step));
        let number = u64::from(step) + 1;
        let mark = match (self.is_live(), failed) {
            (true, true) => format!("✗ {number} {tool}"),
            (true, false) => format!("✓ {number} {tool}"),
            (false, true) => format!("{number} {tool} failed"),
            (false, false) => format!("{number} {tool} ok"),
        };
        let look = if failed { Look::Bad } else { Look::Good };
        match self.verbose {
            true => self.paragraph(look, &mark, &excerpt(output, RESULT_CHARS)),
            false => self.detail(look, &mark, output),
        }
    }

    fn traced(&self, line: &TraceLine) {
        self.stop(None);
        match line {
            TraceLine::Plan { steps: Some(steps), .. } => {
                let steps = steps.as_slice();
                let widest = steps.iter().map(|step| text::width(&step.tool)).max().unwrap_or(0);
                for (at, step) in steps.iter().enumerate() {
                    let mark = format!("{} {}", at + 1, text::pad(&step.tool, widest));
                    self.detail(Look::Dim, &mark, &step_input(step));
                }
            }
            TraceLine::Validate { verdict: Some(verdict), .. } => {
                let (look, mark) =
                    if verdict.ok { (Look::Good, "accepted") } else { (Look::Warn, "rejected") };
                self.detail(look, mark, &verdict.reason);
                if !verdict.fix_hint.is_empty() {
                    self.detail(Look::Dim, "hint", &verdict.fix_hint);
                }
            }
            TraceLine::ReplanTrigger { replan_count, .. } => {
                self.say(Look::Warn, &format!("REPLAN {replan_count}"));
            }
            TraceLine::Skip { tool, same_as, .. } => {
                self.detail(Look::Dim, &format!("{tool} skipped"), &format!("the same as {same_as}"));
            }
            TraceLine::Denied { tool, code, .. } => {
                self.detail(Look::Warn, &format!("{tool} refused"), code.message());
            }
            TraceLine::Repair { of, repair, error } => {
                self.detail(Look::Warn, &format!("repair {repair} of the reply to {of}"), error);
            }
            TraceLine::Plan { error: Some(error), .. }
            | TraceLine::Execute { error: Some(error), .. }
            | TraceLine::Validate { error: Some(error), .. }
            | TraceLine::Write { error: Some(error), .. } => self.detail(Look::Bad, "failed", error),
            TraceLine::Execute { num_results, num_failed, .. } if *num_failed > 0 => {
                self.detail(Look::Warn, &format!("{num_failed} of {num_results} failed"), "");
            }
            _ => {}
        }
    }

    fn token(&self, piece: &str) {
        self.clear();
        let wrap = || Wrap::new(stdout_columns().unwrap_or(usize::MAX));
        let shown = self.open.borrow_mut().get_or_insert_with(wrap).push(&text::clean(piece));
        match out::print(&shown) {
            Ok(()) => self.printed.borrow_mut().push_str(piece),
            // The whole answer is printed at the end where this did not get through.
            Err(_) => drop(self.printed.take()),
        }
    }

    fn shows_tokens(&self) -> bool {
        self.stdout.get() == Stdout::Answer && std::io::stdout().is_terminal()
    }

    fn end_line(&self) {
        if let Some(mut wrap) = self.open.take() {
            let _ = out::print(&(wrap.finish() + "\n"));
        }
    }
}

impl Observer for Screen {
    fn notice(&self, signal: Signal<'_>) {
        if let Some(traced) = &*self.traced.borrow() {
            traced.notice(signal);
        }
        if let (Signal::Token(piece), true) = (signal, self.shows_tokens()) {
            return self.token(piece);
        }
        self.end_line();
        if self.stdout.get() == Stdout::Events {
            Progress::of(&signal).into_iter().for_each(|progress| self.print_event(progress));
        }
        match signal {
            Signal::Entered(phase) => {
                self.stop(None);
                let look = match phase {
                    PhaseName::Done => Look::Good,
                    PhaseName::Error => Look::Bad,
                    _ => Look::Heading,
                };
                self.say(look, &phase.to_string());
            }
            Signal::Asked { span, request: RequestBody::Model { role, .. } } => {
                self.printed.take();
                self.spin(span.effect.step(), &format!("asking the {role}"));
            }
            // The question is shown where the person is asked, and nothing moves there.
            Signal::Asked { request: RequestBody::Human { .. }, .. } => self.clear(),
            Signal::Asked { span, request: RequestBody::Tool { step, tool, input, .. } } => {
                let step = span.effect.step().unwrap_or(*step);
                let message = format!("{} {tool}  {}", u64::from(step) + 1, value_line(input));
                self.spin(Some(step), &message);
            }
            Signal::Retrying { span, error, most, delay } => {
                self.printed.take();
                let mark = format!("try {} of {most} in {} s", error.tries + 1, delay.as_secs_f64().ceil());
                let why = text::line(&format!("{}: {}", error.cause, error.message));
                self.voice.say(&format!("  {}  {why}", self.style.paint(Look::Warn, &mark)));
                if span.effect.step().is_none() {
                    self.spin(None, &format!("{} waits for another try", span.asked));
                }
            }
            Signal::Restarted => {
                self.printed.take();
                self.detail(Look::Dim, "the answer begins anew", "");
            }
            Signal::Said { span, thoughts, words } => {
                self.stop(None);
                self.said.borrow_mut().extend(Progress::of(&signal).map(|progress| progress.content));
                self.show_words(span.asked, thoughts, words);
            }
            Signal::Finished { step, tool, failed, output, .. } => {
                self.finished(step, tool, failed, output);
            }
            Signal::Traced(line) => self.traced(line),
            Signal::Answered { answer, .. } if answer.cached => {
                self.detail(Look::Dim, "cached", "answered before")
            }
            Signal::Asked { span, request: RequestBody::Wait { delay_ms } } => {
                let (step, seconds) = (span.effect.step().unwrap_or_default(), *delay_ms as f64 / 1000.0);
                let message = format!("{} waits {seconds} s before another try", u64::from(step) + 1);
                match self.is_live() {
                    true => self.spin(Some(step), &message),
                    false => self.detail(Look::Dim, &message, ""),
                }
            }
            // Sources and tokens are results.
            _ => {}
        }
    }

    fn trace(&self, run: &str, parent: Option<&TraceContext>) -> Option<TraceContext> {
        self.traced.borrow().as_ref()?.trace(run, parent)
    }

    fn recall(&self, tell: &dyn Fn(&dyn Observer)) {
        self.traced.borrow().iter().for_each(|traced| traced.recall(tell));
    }

    fn wants_tokens(&self) -> bool {
        self.shows_tokens() || self.stdout.get() == Stdout::Events
    }
}

pub fn style_of(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// Does something that takes a while, with a spinner on a terminal.
pub fn while_waiting<T>(message: &str, work: impl FnOnce() -> T) -> T {
    let screen = Screen::new(false, Style::of(ColorChoice::Never, &stderr()), Stdout::Result);
    screen.spin(None, message);
    let done = work();
    screen.clear();
    done
}
