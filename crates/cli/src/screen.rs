//! The screen: shows a run on stderr while it goes on. On a terminal what is under way has a
//! spinner; elsewhere there are plain lines. The answer never passes through here.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{IsTerminal, stderr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::ColorChoice;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use crate::out::{Look, Style, is_screen, stderr_columns};
use crate::{out, text};
use planwright::contract::PlanStep;
use planwright::machine::{HumanAnswer, PhaseName, TraceLine};
use planwright::ports::{Observer, Signal};
use planwright::prompt::RequestBody;
use planwright_app::IndexProgress;

/// Columns of a line where there is no terminal to measure.
const PLAIN: usize = 100;
/// An index that is built faster than this is not worth a word.
const PATIENCE: Duration = Duration::from_millis(300);

/// Shows a run.
pub struct Screen {
    pub voice: Voice,
    style: Style,
    /// How wide a line may be.
    pub columns: usize,
    spinners: RefCell<HashMap<Waiting, ProgressBar>>,
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

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Waiting {
    Reply,
    Step(u32),
}

impl Screen {
    pub fn new(quiet: bool, style: Style) -> Self {
        let target = match !quiet && is_screen(&stderr()) {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let voice = Voice { quiet, live: MultiProgress::with_draw_target(target) };
        let columns = stderr_columns().unwrap_or(PLAIN).max(20);
        Screen { voice, style, columns, spinners: RefCell::default() }
    }

    fn is_live(&self) -> bool {
        !self.voice.live.is_hidden()
    }

    /// A remark about the run as a whole.
    pub fn note(&self, remark: &str) {
        self.say(Look::Dim, &format!("planwright: {}", text::line(remark)));
    }

    /// Takes away what is still shown as under way.
    pub fn clear(&self) {
        for (_, spinner) in self.spinners.borrow_mut().drain() {
            spinner.finish_and_clear();
        }
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

    fn spin(&self, waiting: Waiting, message: &str) {
        if !self.is_live() {
            return;
        }
        let spinner = self.voice.live.add(ProgressBar::new_spinner());
        spinner.set_style(style_of("  {spinner} {msg}  {elapsed}"));
        spinner.set_message(text::cut(&text::line(message), self.columns.saturating_sub(12)));
        spinner.enable_steady_tick(Duration::from_millis(100));
        self.stop(waiting);
        self.spinners.borrow_mut().insert(waiting, spinner);
    }

    fn stop(&self, waiting: Waiting) {
        self.spinners.borrow_mut().remove(&waiting).iter().for_each(ProgressBar::finish_and_clear);
    }

    fn finished(&self, step: u32, tool: &str, failed: bool, output: &str) {
        self.stop(Waiting::Step(step));
        let (look, sign, word) = match failed {
            true => (Look::Bad, "✗", "failed"),
            false => (Look::Good, "✓", "ok"),
        };
        let number = u64::from(step) + 1;
        let mark = if self.is_live() {
            format!("{sign} {number} {tool}")
        } else {
            format!("{number} {tool} {word}")
        };
        self.detail(look, &mark, output);
    }

    fn traced(&self, line: &TraceLine) {
        self.stop(Waiting::Reply);
        match line {
            TraceLine::Plan { steps: Some(steps), .. } => {
                let widest = steps.as_slice().iter().map(|step| text::width(&step.tool)).max().unwrap_or(0);
                for (at, step) in steps.as_slice().iter().enumerate() {
                    let mark = format!("{} {}", at + 1, text::pad(&step.tool, widest));
                    self.detail(Look::Dim, &mark, &step_input(step));
                }
            }
            TraceLine::Validate { verdict: Some(verdict), .. } => {
                match verdict.ok {
                    true => self.detail(Look::Good, "accepted", &verdict.reason),
                    false => self.detail(Look::Warn, "rejected", &verdict.reason),
                }
                if !verdict.fix_hint.is_empty() {
                    self.detail(Look::Dim, "hint", &verdict.fix_hint);
                }
            }
            TraceLine::ReplanTrigger { replan_count, .. } => {
                self.say(Look::Warn, &format!("REPLAN {replan_count}"));
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
}

impl Observer for Screen {
    fn notice(&self, signal: Signal<'_>) {
        match signal {
            Signal::Entered(phase) => {
                self.stop(Waiting::Reply);
                let look = match phase {
                    PhaseName::Done => Look::Good,
                    PhaseName::Error => Look::Bad,
                    _ => Look::Heading,
                };
                self.say(look, &phase.to_string());
            }
            Signal::Asked { request: RequestBody::Model { role, .. }, .. } => {
                self.spin(Waiting::Reply, &format!("asking the {role}"));
            }
            Signal::Asked { span, request: RequestBody::Tool { step, tool, input, .. } } => {
                let step = span.effect.step().unwrap_or(*step);
                let message = format!("{} {tool}  {}", u64::from(step) + 1, value_line(input));
                self.spin(Waiting::Step(step), &message);
            }
            Signal::Finished { step, tool, failed, output } => self.finished(step, tool, failed, output),
            Signal::Traced(line) => self.traced(line),
            Signal::Answered { answer, .. } if answer.cached => {
                self.detail(Look::Dim, "cached", "answered before")
            }
            Signal::Asked { span, request: RequestBody::Wait { delay_ms } } => {
                let (step, seconds) = (span.effect.step().unwrap_or_default(), *delay_ms as f64 / 1000.0);
                let message = format!("{} waits {seconds} s before another try", u64::from(step) + 1);
                match self.is_live() {
                    true => self.spin(Waiting::Step(step), &message),
                    false => self.detail(Look::Dim, &message, ""),
                }
            }
            // The question is shown where the person is asked; sources and tokens are results.
            _ => {}
        }
    }
}

fn style_of(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// Does something that takes a while, with a spinner on a terminal.
pub fn while_waiting<T>(message: &str, work: impl FnOnce() -> T) -> T {
    let screen = Screen::new(false, Style::of(ColorChoice::Never, &stderr()));
    screen.spin(Waiting::Reply, message);
    let done = work();
    screen.clear();
    done
}

/// Shows how far the index of a folder of documents is: a bar on a terminal, one line elsewhere.
pub fn show_index_progress() -> IndexProgress {
    let begun: Mutex<(Option<Instant>, Option<ProgressBar>)> = Mutex::default();
    Arc::new(move |folder, done, total| {
        let Ok(mut begun) = begun.lock() else { return };
        let (since, shown) = &mut *begun;
        if since.get_or_insert_with(Instant::now).elapsed() < PATIENCE {
            return;
        }
        let bar = shown.get_or_insert_with(|| {
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

/// What a step is called with, on one line.
pub fn step_input(step: &PlanStep) -> String {
    match (&step.input, &step.input_from) {
        (Some(input), _) => value_line(input),
        (None, Some(from)) => format!("← {from}"),
        (None, None) if step.is_hitl() => text::line(step.question()),
        (None, None) => text::line(step.instruction()),
    }
}

fn value_line(input: &Value) -> String {
    match input {
        Value::String(text) => format!("\"{}\"", text::line(text)),
        other => other.to_string(),
    }
}

/// What a person answered, on one line.
pub fn answer_line(answer: &HumanAnswer) -> String {
    match answer {
        HumanAnswer::Approve => "approved".to_owned(),
        HumanAnswer::EditInput { input } => format!("approved with another input: {}", value_line(input)),
        HumanAnswer::Respond { text } => text.clone(),
        HumanAnswer::Reject { reason } => format!("rejected: {reason}"),
        HumanAnswer::Edit { steps } => {
            let tools: Vec<&str> = steps.iter().map(|step| step.tool.as_str()).collect();
            format!("edited: {}", tools.join(", "))
        }
    }
}
