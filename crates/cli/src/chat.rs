//! `chat`: one question after another, each a run of its own. A line answers where a person is asked.

use super::args::{ChatArgs, ShowArgs};
use super::config::Settings;
use super::exit::Exit;
use super::failure::Outcome;
use super::interrupt::{self, Stopper};
use super::pending::Kept;
use super::report::{self, Asked};
use super::screen::Screen;
use super::style::{Color, Style};
use super::talk::Talk;
use super::watch::Watch;
use super::{line, out, person, prepare, text, trace};
use planwright::driver::{Run, Stopped};
use planwright::machine::EffectKind;

const HELP: &str = "\
  /trace    the transitions of the last run
  /history  what is remembered
  /help     this
  /resume   goes on with a question that was stopped before its answer
  /cancel   ends it without one
  /quit     the end; so is the end of the input
Everything else is a question, or the answer to what the agent has asked a person; there,
`reject: REASON` says no.";

/// What follows a line.
enum Then {
    Next,
    End,
}

struct Chat<'a> {
    screen: &'a Screen,
    stopper: Stopper,
    talk: Talk,
    model: String,
    currency: Option<String>,
    show: ShowArgs,
    color: Color,
    /// The last run, for `/trace`.
    last: Option<Run>,
    /// How the last question ended.
    exit: Exit,
    /// The token of the question that was put last: the next line answers that one.
    shown: Option<String>,
}

pub fn chat(args: &ChatArgs, color: Color) -> Outcome<Exit> {
    let screen = Screen::new(args.quiet, color);
    let settings = Settings::read(&args.world)?;
    let (agent, model) = prepare::agent(&args.of, &settings, None, None)?;
    prepare::introduce(&agent, &model, &settings, &screen);
    if line::is_typed() {
        screen.note("/help shows the commands, /quit ends");
    }
    let mut chat = Chat {
        screen: &screen,
        stopper: interrupt::listen(screen.voice.clone(), String::new()),
        currency: settings.currency.clone(),
        talk: Talk::open(args, &agent, settings, &screen)?,
        model,
        show: ShowArgs { json: false, events: false, trace: args.trace, quiet: args.quiet },
        color,
        last: None,
        exit: Exit::Done,
        shown: None,
    };
    chat.welcome();
    while let Some(said) = line::next(chat.prompt())? {
        if let Then::End = chat.take(&said)? {
            return Ok(chat.ends());
        }
    }
    if line::is_typed() {
        out::complain("");
    }
    Ok(chat.ends())
}

impl Chat<'_> {
    /// Says where a thread stands that is gone on with.
    fn welcome(&mut self) {
        let Talk::Stored(talk) = &self.talk else { return };
        let question = text::line(&talk.question);
        if talk.is_unfinished() {
            let said = "was stopped before its answer: /resume goes on with it, /cancel ends it";
            self.screen.note(&format!("{question:?} {said}"));
        }
        self.put_new();
    }

    /// Puts the open question, where it is another than the one that was put last: somebody else may have
    /// answered that one.
    fn put_new(&mut self) {
        let open = self.talk.waiting().map(|waiting| waiting.token.clone());
        if open != self.shown {
            self.put_again();
        }
        self.shown = open;
    }

    fn kept(&self) -> Kept<'_> {
        match &self.talk {
            Talk::Memory(_) => Kept::Nowhere,
            Talk::Stored(talk) => Kept::Thread(&talk.stored),
        }
    }

    fn prompt(&self) -> &'static str {
        if self.talk.waiting().is_some() { "answer> " } else { "> " }
    }

    fn ends(&self) -> Exit {
        if self.talk.waiting().is_some() { Exit::Waiting } else { self.exit }
    }

    fn take(&mut self, said: &str) -> Outcome<Then> {
        match said {
            "" => self.put_again(),
            "/quit" | "/exit" => return Ok(Then::End),
            "/help" => out::complain(HELP),
            "/trace" => self.show_trace(),
            "/history" => self.show_history()?,
            "/resume" => self.exit = self.resume()?,
            "/cancel" => self.cancel()?,
            command if command.starts_with('/') => {
                out::complain(&format!("{} is no command\n{HELP}", text::line(command)));
            }
            said => self.exit = self.answer(said)?,
        }
        Ok(Then::Next)
    }

    /// An empty line says nothing; an open question is put again.
    fn put_again(&self) {
        if let Some(waiting) = self.talk.waiting() {
            person::put(&waiting.question, None, self.style());
        }
    }

    fn style(&self) -> Style {
        Style::of(self.color, &std::io::stderr())
    }

    /// Asks a question, or answers the open one.
    fn answer(&mut self, said: &str) -> Outcome<Exit> {
        let open = self.talk.waiting().map(|waiting| (waiting.effect.kind, waiting.question.clone()));
        if let Some((EffectKind::Approve { .. } | EffectKind::Permit { .. }, _)) = &open
            && !line::is_typed()
            && let Some((open, _)) = self.kept().open()
        {
            // The same line, played again, would allow what comes next.
            let failure = self.kept().tokenless(&open);
            super::complain(&failure, self.style());
            return Ok(failure.exit);
        }
        let answer = match open.map(|(asked, question)| (line::answer(said, asked), question)) {
            Some((Err(problem), question)) => {
                person::put(&question, Some(&problem), self.style());
                return Ok(Exit::Waiting);
            }
            Some((Ok(answer), _)) => Some(answer),
            None => None,
        };
        let (watch, token) = (Watch::answer(self.screen), self.stopper.begin());
        let result = match answer {
            Some(answer) => self.talk.respond(answer, &watch, token),
            None => self.talk.ask(said, &watch, token),
        };
        self.tell(said, &watch, result)
    }

    /// Goes on with the last question of the thread.
    fn resume(&mut self) -> Outcome<Exit> {
        let Talk::Stored(talk) = &mut self.talk else {
            out::complain("nothing was stopped: a question goes on from another process with --thread NAME");
            return Ok(self.exit);
        };
        let (watch, token) = (Watch::answer(self.screen), self.stopper.begin());
        let result = talk.resume(&watch, token);
        talk.look()?;
        let said = talk.question.clone();
        self.tell(&said, &watch, result)
    }

    fn cancel(&mut self) -> Outcome<()> {
        let Talk::Stored(talk) = &mut self.talk else {
            out::complain("there is nothing to end");
            return Ok(());
        };
        match talk.cancel() {
            Ok(()) => out::complain("ended"),
            Err(stopped) => out::complain(&text::clean(&stopped.to_string())),
        }
        talk.look()?;
        self.put_new();
        Ok(())
    }

    /// Tells what came of a line. What is wrong with one question does not end the chat.
    fn tell(
        &mut self,
        said: &str,
        watch: &Watch<'_>,
        result: Outcome<Result<Run, Stopped>>,
    ) -> Outcome<Exit> {
        self.stopper.end();
        self.screen.clear();
        let style = self.style();
        let told = result.and_then(|result| self.conclude(said, watch, result));
        let exit = told.unwrap_or_else(|mut failure| {
            if let Talk::Memory(_) = self.talk {
                // What would help a single run (a journal, other flags) does not help here.
                failure.hint = None;
            }
            super::complain(&failure, style);
            failure.exit
        });
        self.put_new();
        Ok(exit)
    }

    fn conclude(&mut self, said: &str, watch: &Watch<'_>, result: Result<Run, Stopped>) -> Outcome<Exit> {
        if let Err(Stopped::Refused { question, refusal }) = &result {
            person::put(question, Some(refusal), self.style());
            return Ok(Exit::Waiting);
        }
        if let Ok(run) = &result {
            self.last = Some(run.clone());
            if let Some(waiting) = run.waiting() {
                person::put(&waiting.question, waiting.refused.as_deref(), self.style());
                self.shown = Some(waiting.token.clone());
                return Ok(Exit::Waiting);
            }
        }
        let spec = self.talk.agent().rules().spec();
        let asked = Asked {
            question: said,
            agent: &spec.name,
            model: &self.model,
            show: &self.show,
            kept: self.kept(),
            record: None,
            prices: &spec.prices,
            currency: self.currency.as_deref(),
        };
        report::conclude(&asked, watch, result)
    }

    fn show_trace(&self) {
        match &self.last {
            Some(run) => {
                let lines = trace::table(run.trace(), None, Some(self.screen.columns()));
                lines.iter().for_each(|line| out::complain(line));
            }
            None => out::complain("nothing was asked yet"),
        }
    }

    fn show_history(&self) -> Outcome<()> {
        let history = self.talk.history()?;
        if history.is_empty() {
            out::complain("nothing is remembered yet");
        }
        for (question, answer) in &history {
            for (who, said) in [("you", question), ("agent", answer)] {
                let line = format!("{}  {}", text::pad(who, 5), text::line(said));
                out::complain(&text::cut(&line, self.screen.columns()));
            }
        }
        Ok(())
    }
}
