//! `chat`: a conversation in a thread, one question after another, each a run of its own. A line answers where a
//! person is asked.

use clap::ColorChoice;

use crate::args::{ChatArgs, ShowArgs, StoreArgs};
use crate::editor::{LineEditor, Typed, is_typed};
use crate::out::Exit;
use crate::person::{parse_answer, show_question};
use crate::session::Session;
use crate::wrap::wrap;
use crate::{out, text};
use planwright::driver::{Agent, Resolution, Run, Stopped, ThreadHandle, history, time_for};
use planwright::journal::{Folded, RunStatus, StoreError, ThreadId};
use planwright::machine::{EffectKind, Input};
use planwright_app::{
    Class, Error, Pending, PreparedAgent, Result, RunLocation, Settings, StoredThread, results_text,
};

const HELP: &str = include_str!("help/chat_commands.txt").trim_ascii_end();
const ENDS: [&str; 4] = ["exit", "quit", "/exit", "/quit"];
const WAITS: Exit = Some(Class::Waiting);

/// Opens the thread that a new run is a turn of: the named one, or a new one where every run is stored.
pub fn open_thread(
    store: &StoreArgs,
    thread: Option<&ThreadId>,
    session: &Session<'_>,
) -> Result<Option<StoredThread>> {
    let place = store.place()?;
    let stored = place.thread_for_run(thread)?;
    if let (None, Some(stored)) = (thread, &stored) {
        session.screen.note(&format!("kept as the thread {} in {}", stored.thread, place.address));
    }
    Ok(stored)
}

/// A thread that questions are asked in, and its last turn as it was when this process looked.
pub struct Conversation {
    stored: StoredThread,
    pub prepared: PreparedAgent,
    settings: Settings,
    /// Whether it ends with this process.
    in_memory: bool,
    last: Option<Folded>,
}

impl Conversation {
    /// Opens the conversation of a thread, which may be new; without one, a conversation in memory.
    pub fn open(stored: Option<StoredThread>, prepared: PreparedAgent, settings: Settings) -> Result<Self> {
        let (in_memory, stored) = (stored.is_none(), stored.unwrap_or_else(StoredThread::in_memory));
        let mut opened = Conversation { stored, prepared, settings, in_memory, last: None };
        opened.refresh()?;
        Ok(opened)
    }

    pub fn refresh(&mut self) -> Result<()> {
        self.last = match self.stored.fold(None) {
            Err(StoreError::NoThread { .. }) => None,
            last => Some(last?),
        };
        Ok(())
    }

    pub fn location(&self) -> RunLocation<'_> {
        let kept = Some(&self.stored).filter(|_| !self.in_memory);
        kept.map(RunLocation::in_thread).unwrap_or_default().with(&self.prepared.flags)
    }

    fn status(&self) -> Option<RunStatus> {
        self.last.as_ref().map(RunStatus::of)
    }

    /// The question that the last turn waits with.
    pub fn waiting(&self) -> Option<Pending> {
        Pending::of(self.last.as_ref()?, self.location()).filter(|pending| !pending.is_doubt())
    }

    /// What the last turn was asked, if it was stopped and can go on by itself.
    pub fn unfinished(&self) -> Option<&str> {
        let question = self.last.as_ref().map(|last| &*last.state.input().question);
        question.filter(|_| self.status() == Some(RunStatus::Unfinished))
    }

    fn handle<'a>(&'a self, session: &'a Session<'_>) -> ThreadHandle<'a> {
        // A conversation in memory lasts as long as the chat.
        let cancel = session.begin_kept(self.location(), true);
        self.stored.threads.at(&self.stored.thread).observer(&session.screen).cancelled_by(cancel)
    }

    pub fn ask(&self, input: Input, session: &Session<'_>) -> Result<Run, Stopped> {
        let (agent, thread) = (&self.prepared.agent, self.stored.threads.at(&self.stored.thread));
        // No other process can go on with a thread in memory: what was stopped is given up.
        let reason = "given up for another question".to_owned();
        match self.status() {
            Some(RunStatus::Unfinished) if self.in_memory => thread.cancel(reason, &[])?,
            Some(RunStatus::InDoubt { .. }) if self.in_memory => {
                thread.resolve(agent, Resolution::Stop { reason })?;
            }
            _ => {}
        }
        self.handle(session).ask_with(agent, input)
    }

    /// Goes on with the last turn, under the rules that it began with.
    pub fn go_on(
        &self,
        session: &Session<'_>,
        go: impl FnOnce(ThreadHandle<'_>, &Agent) -> Result<Run, Stopped>,
    ) -> Result<Result<Run, Stopped>> {
        let last = self.stored.fold(None)?;
        let other = match self.prepared.fits(&last, &self.settings) {
            true => None,
            false => Some(PreparedAgent::resume(&last, &self.settings, None, None)?.agent),
        };
        Ok(go(self.handle(session), other.as_ref().unwrap_or(&self.prepared.agent)))
    }
}

struct Chat<'a> {
    session: &'a Session<'a>,
    talk: Conversation,
    last: Option<Run>,
    /// How the last question ended.
    exit: Exit,
    /// The token of the question that was shown last: the next line answers that one.
    shown: Option<String>,
}

pub fn chat(args: &ChatArgs, color: ColorChoice) -> Result<Exit> {
    let show =
        ShowArgs { json: false, events: false, trace: args.trace, quiet: args.quiet, verbose: args.verbose };
    let session = Session::new(&show, color);
    let settings = session.resolve_settings(&args.settings, args.store.config.as_deref())?;
    let prepared = args.choice.prepare(&settings, None, None)?;
    session.introduce(&prepared);
    if is_typed() {
        session.screen.note("/help shows the commands, exit ends");
    }
    let stored = open_thread(&args.store, args.thread.as_ref(), &session)?;
    let talk = Conversation::open(stored, prepared, settings)?;
    if let Some(question) = talk.unfinished().map(text::line) {
        let rest = "was stopped before its answer: /resume goes on with it, /cancel ends it";
        session.screen.note(&format!("{question:?} {rest}"));
    }
    let mut lines = LineEditor::new();
    history(talk.stored.threads.store(), &talk.stored.thread)?
        .iter()
        .for_each(|(line, _)| lines.remember(line));
    let mut chat = Chat { session: &session, talk, last: None, exit: None, shown: None };
    chat.show_new_question();
    let mut was_interrupted = false;
    loop {
        let waits = chat.talk.waiting().is_some();
        match lines.read(if waits { "answer> " } else { "> " })? {
            Typed::Interrupted if was_interrupted => return Ok(Some(Class::Cancelled)),
            Typed::Interrupted => {
                out::complain("exit or Ctrl-D ends the chat; so does Ctrl-C once more");
                was_interrupted = true;
                continue;
            }
            Typed::Line(line) if !ENDS.contains(&&*line) && !out::is_closed() => chat.take(&line)?,
            end => {
                if matches!(end, Typed::End) && is_typed() {
                    out::complain("");
                }
                return Ok(if waits { WAITS } else { chat.exit });
            }
        }
        was_interrupted = false;
    }
}

impl Chat<'_> {
    /// Shows the pending question unless it was shown last: another process may have answered that one.
    fn show_new_question(&mut self) {
        let pending = self.talk.waiting().map(|waiting| waiting.token);
        if pending != self.shown {
            self.show_pending(None);
        }
        self.shown = pending;
    }

    fn show_pending(&self, refused: Option<&str>) {
        if let Some(waiting) = self.talk.waiting() {
            show_question(&waiting.results, &waiting.text(), refused, self.session.style);
        }
    }

    fn take(&mut self, line: &str) -> Result<()> {
        match line {
            "" => self.show_pending(None),
            "/help" => self.complain_wrapped(HELP),
            "/trace" => match &self.last {
                Some(run) => self.session.show_trace(run.state()),
                None => out::complain("nothing was asked yet"),
            },
            "/history" => self.show_history()?,
            "/resume" => self.resume()?,
            "/cancel" => self.cancel()?,
            command if command.starts_with('/') => {
                self.complain_wrapped(&format!("{} is no command\n{HELP}", text::line(command)));
            }
            line => self.exit = self.answer(line)?,
        }
        Ok(())
    }

    fn answer(&mut self, line: &str) -> Result<Exit> {
        let Some(waiting) = self.talk.waiting() else {
            let PreparedAgent { agent, outline, .. } = &self.talk.prepared;
            let now = time_for(agent.compiled().policy());
            let input = Input { now, outline: outline.clone(), ..Input::question(line) };
            let result = self.talk.ask(input, self.session);
            return self.finish(line, Ok(result));
        };
        let kind = waiting.effect.kind;
        let approves = matches!(kind, EffectKind::ApprovePlan { .. } | EffectKind::ApproveCall { .. });
        let must_name_it = approves && !is_typed();
        if let Some(pending) = must_name_it.then(|| self.talk.location().pending()).flatten() {
            // Lines from a file that are played again would allow what comes next.
            return Ok(self.complain_of(&self.talk.location().missing_token(&pending)));
        }
        match parse_answer(line, kind) {
            Ok(answer) => {
                let result = self
                    .talk
                    .go_on(self.session, |handle, agent| handle.token(waiting.token).answer(agent, answer));
                self.finish(line, result)
            }
            Err(problem) => {
                self.show_pending(Some(&problem));
                Ok(WAITS)
            }
        }
    }

    fn resume(&mut self) -> Result<()> {
        let unfinished = self.talk.unfinished().map(str::to_owned);
        if self.talk.in_memory && unfinished.is_none() {
            out::complain("nothing was stopped: a question goes on from another process with --thread NAME");
            return Ok(());
        }
        let result = self.talk.go_on(self.session, |handle, agent| handle.resume(agent));
        self.exit = self.finish(&unfinished.unwrap_or_default(), result)?;
        Ok(())
    }

    /// Ends the last turn. A write in doubt is not forgotten.
    fn cancel(&mut self) -> Result<()> {
        let stored = &self.talk.stored;
        let ended = match self.talk.status() {
            Some(RunStatus::InDoubt { effect, tool }) => Err(Stopped::InDoubt { effect, tool }),
            _ => stored.threads.at(&stored.thread).cancel("cancelled in the chat", &[]),
        };
        match ended {
            Ok(()) => out::complain("ended"),
            Err(_) if self.talk.in_memory => out::complain("there is nothing to end"),
            Err(stopped) => out::complain(&text::clean(&stopped.to_string())),
        }
        self.talk.refresh()?;
        self.show_new_question();
        Ok(())
    }

    fn complain_wrapped(&self, text: &str) {
        out::complain(&wrap(text, self.session.screen.columns));
    }

    fn complain_of(&self, error: &Error) -> Exit {
        out::complain_of(error, self.session.style);
        Some(error.class)
    }

    /// Shows what came of a line. What is wrong with one question does not end the chat.
    fn finish(&mut self, line: &str, result: Result<Result<Run, Stopped>>) -> Result<Exit> {
        self.session.end();
        if result.is_ok() {
            self.talk.refresh()?;
        }
        let exit = result.and_then(|result| self.conclude(line, &result)).unwrap_or_else(|error| {
            // The hints for a single run (a journal, other flags) do not help here.
            let goes_on = self.talk.unfinished().map(|_| "/resume goes on with it".to_owned());
            let hint = if self.talk.in_memory { goes_on } else { error.hint };
            self.complain_of(&Error { hint, ..error })
        });
        self.show_new_question();
        Ok(exit)
    }

    fn conclude(&mut self, line: &str, result: &Result<Run, Stopped>) -> Result<Exit> {
        if let Err(Stopped::Refused { question, refusal }) = result {
            show_question("", question, Some(refusal), self.session.style);
            return Ok(WAITS);
        }
        if let Ok(run) = result {
            self.last = Some(run.clone());
            if let Some(waiting) = run.waiting() {
                let results = results_text(run.state(), waiting.effect);
                show_question(&results, &waiting.question, waiting.refused.as_deref(), self.session.style);
                self.shown = Some(waiting.token.clone());
                return Ok(WAITS);
            }
        }
        let info = self.session.info(&self.talk.prepared, line, self.talk.location());
        self.session.conclude(&info, result)
    }

    fn show_history(&self) -> Result<()> {
        let stored = &self.talk.stored;
        let history = history(stored.threads.store(), &stored.thread)?;
        if history.is_empty() {
            out::complain("nothing is remembered yet");
        }
        let words = history.iter().flat_map(|(question, answer)| [("you", question), ("agent", answer)]);
        for (speaker, words) in words {
            let line = format!("{}  {}", text::pad(speaker, 5), text::line(words));
            out::complain(&text::cut(&line, self.session.screen.columns));
        }
        Ok(())
    }
}
