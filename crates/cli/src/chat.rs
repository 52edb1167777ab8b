//! `chat`: one question after another, each a run of its own. A line answers where a person is asked.

use clap::ColorChoice;

use crate::args::{ChatArgs, ShowArgs};
use crate::conversation::{Conversation, open_thread};
use crate::out::Exit;
use crate::person::{is_typed, parse_answer, read_line, show_question};
use crate::session::{Session, resolve_settings};
use crate::watch::Watch;
use crate::{out, text};
use planwright::driver::{Run, Stopped, history};
use planwright::machine::EffectKind;
use planwright_app::{Class, Error, Result, RunLocation};

const HELP: &str = "\
  /trace    the transitions of the last run
  /history  what is remembered
  /help     this
  /resume   goes on with a question that was stopped before its answer
  /cancel   ends it without one
  /quit     the end; so is the end of the input
Everything else is a question, or the answer to what the agent has asked a person; there,
`reject: REASON` says no.";

const WAITS: Exit = Exit::Of(Class::Waiting);

struct Chat<'a> {
    session: &'a Session<'a>,
    talk: Conversation,
    /// The last run, for `/trace`.
    last: Option<Run>,
    /// How the last question ended.
    exit: Exit,
    /// The token of the question that was shown last: the next line answers that one.
    shown: Option<String>,
}

pub fn chat(args: &ChatArgs, color: ColorChoice) -> Result<Exit> {
    let show = ShowArgs { json: false, events: false, trace: args.trace, quiet: args.quiet };
    let session = Session::new(&show, color);
    let settings = resolve_settings(&args.settings, args.store.config.as_deref())?;
    let prepared = args.choice.prepare(&settings, None, None)?;
    session.introduce(&prepared);
    if is_typed() {
        session.screen.note("/help shows the commands, /quit ends");
    }
    session.begin(RunLocation::Nowhere);
    session.end();
    let stored = open_thread(&args.store, args.thread.as_ref(), &session)?;
    let talk = Conversation::open(stored, prepared, settings)?;
    let mut chat = Chat { session: &session, talk, last: None, exit: Exit::Done, shown: None };
    chat.welcome();
    loop {
        let prompt = if chat.talk.waiting.is_some() { "answer> " } else { "> " };
        match read_line(prompt)? {
            Some(line) if line != "/quit" && line != "/exit" => chat.take(&line)?,
            end => {
                if end.is_none() && is_typed() {
                    out::complain("");
                }
                break;
            }
        }
    }
    Ok(if chat.talk.waiting.is_some() { WAITS } else { chat.exit })
}

impl Chat<'_> {
    /// Shows where the thread stands.
    fn welcome(&mut self) {
        if self.talk.is_unfinished() {
            let question = text::line(&self.talk.question);
            let rest = "was stopped before its answer: /resume goes on with it, /cancel ends it";
            self.session.screen.note(&format!("{question:?} {rest}"));
        }
        self.show_new_question();
    }

    /// Shows the pending question unless it was shown last: another process may have answered that one.
    fn show_new_question(&mut self) {
        let pending = self.talk.waiting.as_ref().map(|waiting| waiting.token.clone());
        if pending != self.shown {
            self.show_pending(None);
        }
        self.shown = pending;
    }

    fn show_pending(&self, refused: Option<&str>) {
        if let Some(waiting) = &self.talk.waiting {
            show_question(&waiting.text(), refused, self.session.style);
        }
    }

    fn take(&mut self, line: &str) -> Result<()> {
        match line {
            "" => self.show_pending(None),
            "/help" => out::complain(HELP),
            "/trace" => match &self.last {
                Some(run) => self.session.show_trace(run.trace()),
                None => out::complain("nothing was asked yet"),
            },
            "/history" => self.show_history()?,
            "/resume" => self.resume()?,
            "/cancel" => self.cancel()?,
            command if command.starts_with('/') => {
                out::complain(&format!("{} is no command\n{HELP}", text::line(command)));
            }
            line => self.exit = self.answer(line)?,
        }
        Ok(())
    }

    /// Asks a question, or answers the pending one.
    fn answer(&mut self, line: &str) -> Result<Exit> {
        let watch = self.session.watch();
        let Some(waiting) = &self.talk.waiting else {
            let cancel = self.session.begin(RunLocation::Nowhere);
            let result = self.talk.ask(self.talk.input(line), &watch, cancel);
            return self.finish(line, &watch, Ok(result));
        };
        let kind = waiting.effect.kind;
        if matches!(kind, EffectKind::ApprovePlan { .. } | EffectKind::ApproveCall { .. })
            && !is_typed()
            && let Some(pending) = self.talk.location().pending()
        {
            // Lines from a file that are played again would allow what comes next.
            return Ok(self.complain_of(&self.talk.location().missing_token(&pending)));
        }
        let answer = match parse_answer(line, kind) {
            Ok(answer) => answer,
            Err(problem) => {
                self.show_pending(Some(&problem));
                return Ok(WAITS);
            }
        };
        let cancel = self.session.begin(RunLocation::Nowhere);
        let handle = self.talk.handle(&watch, cancel).token(&waiting.token);
        let result = self.talk.agent_of_last().map(|agent| handle.answer(&agent, answer));
        self.finish(line, &watch, result)
    }

    /// Goes on with the last question.
    fn resume(&mut self) -> Result<()> {
        if self.talk.in_memory && !self.talk.is_unfinished() {
            out::complain("nothing was stopped: a question goes on from another process with --thread NAME");
            return Ok(());
        }
        let (watch, cancel) = (self.session.watch(), self.session.begin(RunLocation::Nowhere));
        let handle = self.talk.handle(&watch, cancel);
        let result = self.talk.agent_of_last().map(|agent| handle.resume(&agent));
        let question = self.talk.question.clone();
        self.exit = self.finish(&question, &watch, result)?;
        Ok(())
    }

    fn complain_of(&self, error: &Error) -> Exit {
        out::complain_of(error, self.session.style);
        Exit::Of(error.class)
    }

    fn cancel(&mut self) -> Result<()> {
        match self.talk.cancel() {
            Ok(()) => out::complain("ended"),
            Err(_) if self.talk.in_memory => out::complain("there is nothing to end"),
            Err(stopped) => out::complain(&text::clean(&stopped.to_string())),
        }
        self.talk.refresh()?;
        self.show_new_question();
        Ok(())
    }

    /// Shows what came of a line. What is wrong with one question does not end the chat.
    fn finish(
        &mut self,
        line: &str,
        watch: &Watch<'_>,
        result: Result<Result<Run, Stopped>>,
    ) -> Result<Exit> {
        self.session.end();
        if result.is_ok() {
            self.talk.refresh()?;
        }
        let exit = result.and_then(|result| self.conclude(line, watch, &result)).unwrap_or_else(|error| {
            // The hints for a single run (a journal, other flags) do not help here.
            let hint = error.hint.filter(|_| !self.talk.in_memory);
            self.complain_of(&Error { hint, ..error })
        });
        self.show_new_question();
        Ok(exit)
    }

    fn conclude(&mut self, line: &str, watch: &Watch<'_>, result: &Result<Run, Stopped>) -> Result<Exit> {
        if let Err(Stopped::Refused { question, refusal }) = result {
            show_question(question, Some(refusal), self.session.style);
            return Ok(WAITS);
        }
        if let Ok(run) = result {
            self.last = Some(run.clone());
            if let Some(waiting) = run.waiting() {
                show_question(&waiting.question, waiting.refused.as_deref(), self.session.style);
                self.shown = Some(waiting.token.clone());
                return Ok(WAITS);
            }
        }
        let info = self.session.info(&self.talk.prepared, line, self.talk.location());
        self.session.conclude(&info, watch, result)
    }

    fn show_history(&self) -> Result<()> {
        let stored = &self.talk.stored;
        let history = history(stored.threads.store(), &stored.thread)?;
        if history.is_empty() {
            out::complain("nothing is remembered yet");
        }
        for (question, answer) in &history {
            for (speaker, words) in [("you", question), ("agent", answer)] {
                let line = format!("{}  {}", text::pad(speaker, 5), text::line(words));
                out::complain(&text::cut(&line, self.session.screen.columns));
            }
        }
        Ok(())
    }
}
