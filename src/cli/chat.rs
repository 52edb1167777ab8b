//! `chat`: one question after another, each a run of its own. A line answers where a person is asked.

use super::args::{ChatArgs, ShowArgs};
use super::config::Settings;
use super::exit::Exit;
use super::failure::Outcome;
use super::interrupt::{self, Stopper};
use super::report::{self, Asked};
use super::screen::Screen;
use super::style::{Color, Style};
use super::watch::Watch;
use super::{contract, line, out, person, prepare, text, trace};
use crate::driver::{Run, Stopped, Thread};

const HELP: &str = "\
  /trace    the transitions of the last run
  /history  what is remembered
  /help     this
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
    thread: Thread,
    model: String,
    currency: Option<String>,
    show: ShowArgs,
    color: Color,
    /// The last run, for `/trace`.
    last: Option<Run>,
    /// How the last question ended.
    exit: Exit,
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
        thread: Thread::new(&agent).about(contract::outline(&agent, &settings)?),
        model,
        currency: settings.currency,
        show: ShowArgs { json: false, events: false, trace: args.trace, quiet: args.quiet },
        color,
        last: None,
        exit: Exit::Done,
    };
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
    fn prompt(&self) -> &'static str {
        if self.thread.waiting().is_some() { "answer> " } else { "> " }
    }

    fn ends(&self) -> Exit {
        if self.thread.waiting().is_some() { Exit::Waiting } else { self.exit }
    }

    fn take(&mut self, said: &str) -> Outcome<Then> {
        match said {
            "" => self.put_again(),
            "/quit" | "/exit" => return Ok(Then::End),
            "/help" => out::complain(HELP),
            "/trace" => self.show_trace(),
            "/history" => self.show_history(),
            command if command.starts_with('/') => {
                out::complain(&format!("{} is no command\n{HELP}", text::line(command)));
            }
            said => self.exit = self.answer(said),
        }
        Ok(Then::Next)
    }

    /// An empty line says nothing; an open question is put again.
    fn put_again(&self) {
        if let Some(waiting) = self.thread.waiting() {
            person::put(&waiting.question, None, self.style());
        }
    }

    fn style(&self) -> Style {
        Style::of(self.color, &std::io::stderr())
    }

    /// Asks a question, or answers the open one.
    fn answer(&mut self, said: &str) -> Exit {
        let open = self.thread.waiting().map(|waiting| (waiting.effect.kind, waiting.question.clone()));
        let answer = match open.map(|(asked, question)| (line::answer(said, asked), question)) {
            Some((Err(problem), question)) => {
                person::put(&question, Some(&problem), self.style());
                return Exit::Waiting;
            }
            Some((Ok(answer), _)) => Some(answer),
            None => None,
        };
        let (watch, token) = (Watch::answer(self.screen), self.stopper.begin());
        let result = match answer {
            Some(answer) => self.thread.respond_with(answer, &watch, token),
            None => self.thread.ask_with(said, &watch, token),
        };
        self.stopper.end();
        self.screen.clear();
        if let Err(Stopped::Refused { question, refusal }) = &result {
            person::put(question, Some(refusal), self.style());
            return Exit::Waiting;
        }
        if let Ok(run) = &result {
            self.last = Some(run.clone());
            if let Some(waiting) = run.waiting() {
                person::put(&waiting.question, waiting.refused.as_deref(), self.style());
                return Exit::Waiting;
            }
        }
        let spec = self.thread.agent().rules().spec();
        let asked = Asked {
            question: said,
            agent: &spec.name,
            model: &self.model,
            show: &self.show,
            journal: None,
            record: None,
            prices: &spec.prices,
            currency: self.currency.as_deref(),
        };
        report::conclude(&asked, &watch, result).unwrap_or_else(|mut failure| {
            // What would help a single run (a journal, other flags) does not help here.
            failure.hint = None;
            super::complain(&failure, self.style());
            failure.exit
        })
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

    fn show_history(&self) {
        if self.thread.history().len() == 0 {
            out::complain("nothing is remembered yet");
        }
        for (question, answer) in self.thread.history() {
            for (who, said) in [("you", question), ("agent", answer)] {
                let line = format!("{}  {}", text::pad(who, 5), text::line(said));
                out::complain(&text::cut(&line, self.screen.columns()));
            }
        }
    }
}
