//! `threads resume`, `answer`, `settle` and `cancel`: goes on with the last turn of a thread, or ends it.

use crate::answer;
use crate::args::{
    AnswerThreadArgs, CancelArgs, ResumeThreadArgs, RulesArgs, SettleArgs, ShowArgs, StoreArgs, WorldArgs,
};
use crate::config::secrets;
use crate::exit::Exit;
use crate::failure::{Failure, Outcome};
use crate::pending::{Kept, Open, Stored, What};
use crate::report::{self, Asked};
use crate::resume_setup::{self, GoingOn};
use crate::run::{at_terminal, farewell};
use crate::screen::Screen;
use crate::style::{Color, Style};
use crate::{interrupt, line, out, person, text};
use planwright::driver::{Redactor, Resolution, Stopped};
use planwright::journal::ThreadId;
use planwright::machine::HumanAnswer;

/// What is said as the turn goes on.
enum Said {
    Nothing,
    /// An answer, with the token of what it answers.
    Answer(HumanAnswer, String),
    /// Of a write in doubt, likewise.
    Resolution(Resolution, String),
}

/// A call of one of these commands.
struct Call<'a> {
    store: &'a StoreArgs,
    thread: &'a ThreadId,
    rules: &'a RulesArgs,
    world: &'a WorldArgs,
    show: &'a ShowArgs,
    color: Color,
}

pub fn resume(store: &StoreArgs, args: &ResumeThreadArgs, color: Color) -> Outcome<Exit> {
    let ResumeThreadArgs { thread, rules, world, show } = args;
    let call = Call { store, thread, rules, world, show, color };
    call.go_on(&call.stored()?, Said::Nothing)
}

pub fn answer(store: &StoreArgs, args: &AnswerThreadArgs, color: Color) -> Outcome<Exit> {
    let AnswerThreadArgs { thread, answer, rules, world, show } = args;
    let call = Call { store, thread, rules, world, show, color };
    let given = answer::answer(answer)?;
    let stored = call.stored()?;
    let said = match (given, &answer.token) {
        (Some(given), Some(token)) => Said::Answer(given, token.clone()),
        (given, _) => {
            let open = question(&stored)?;
            match given {
                None if line::is_typed() => call.ask(&open)?,
                None => return Err(Kept::Thread(&stored).tokenless(&open)),
                Some(given) => Said::Answer(given, call.confirmed(&open, &stored)?),
            }
        }
    };
    call.go_on(&stored, said)
}

pub fn settle(store: &StoreArgs, args: &SettleArgs, color: Color) -> Outcome<Exit> {
    let SettleArgs { thread, token, happened, did_not_happen, stop, rules, world, show } = args;
    let call = Call { store, thread, rules, world, show, color };
    let stored = call.stored()?;
    let settlement = answer::settlement(happened.as_ref(), *did_not_happen, stop.as_ref())
        .expect("the command line asks for one of them");
    let token = match (token, stored.open()?) {
        (Some(token), _) => token.clone(),
        (None, Some(open)) if matches!(open.what, What::Doubt { .. }) => call.confirmed(&open, &stored)?,
        (None, Some(open)) => return Err(Kept::Thread(&stored).tokenless(&open)),
        (None, None) => return Err(nothing_open(&stored)),
    };
    call.go_on(&stored, Said::Resolution(settlement, token))
}

pub fn cancel(store: &StoreArgs, args: &CancelArgs) -> Outcome<Exit> {
    let config = args.config.config.as_deref();
    let stored = Stored::known(store, config, &args.thread)?;
    if let Some(open) = stored.open()?
        && matches!(open.what, What::Doubt { .. })
    {
        let problem = format!("{} is not ended without a word on what is {}", stored.thread, open.text());
        let hint = open.commands(&stored).join("\n        ");
        return Err(Failure { exit: Exit::InDoubt, ..Failure::unusable(problem) }.hint(hint));
    }
    let keys = secrets(config)?;
    match stored.handle().cancel(&args.reason, &keys) {
        Ok(()) => {
            let reason = Redactor::new(keys).text(args.reason.clone());
            let said = format!("planwright: {} is ended: {reason}", stored.thread);
            out::complain(&text::line(&said));
            Ok(Exit::Done)
        }
        Err(Stopped::Store(error)) => Err(error.into()),
        Err(Stopped::Journal(error)) => Err(error.into()),
        Err(stopped) => {
            let hint = format!("{}  says how it stands", stored.command("show"));
            Err(Failure::unusable(stopped).hint(hint))
        }
    }
}

/// The question that a thread waits with.
fn question(stored: &Stored) -> Outcome<Open> {
    match stored.open()? {
        Some(open) if matches!(open.what, What::Question(_)) => Ok(open),
        Some(open) => {
            let problem = format!("{} asks nobody: {}", stored.thread, open.text());
            let hint = open.commands(stored).join("\n        ");
            Err(Failure { exit: Exit::InDoubt, ..Failure::unusable(problem) }.hint(hint))
        }
        None => Err(nothing_open(stored)),
    }
}

fn nothing_open(stored: &Stored) -> Failure {
    let problem = format!("the thread {} waits for nobody", stored.thread);
    Failure::unusable(problem).hint(format!("{}  says how it stands", stored.command("show")))
}

impl Call<'_> {
    fn stored(&self) -> Outcome<Stored> {
        Stored::known(self.store, self.world.config.as_deref(), self.thread)
    }

    fn confirmed(&self, open: &Open, stored: &Stored) -> Outcome<String> {
        person::confirmed(open, Kept::Thread(stored), Style::of(self.color, &std::io::stderr()))
    }

    /// Puts the question to the person at the terminal.
    fn ask(&self, open: &Open) -> Outcome<Said> {
        person::put(&open.text(), None, Style::of(self.color, &std::io::stderr()));
        let asked = open.effect.kind;
        let said = line::next(&format!("answer ({})> ", line::choices(asked)))?.unwrap_or_default();
        if said.is_empty() {
            let problem = "nothing was said, and the run waits on";
            return Err(Failure { exit: Exit::Waiting, ..Failure::unusable(problem) });
        }
        let answer = line::answer(&said, asked).map_err(Failure::unusable)?;
        Ok(Said::Answer(answer, open.token.clone()))
    }

    /// Goes on with the last turn, and tells what comes of it.
    fn go_on(&self, stored: &Stored, said: Said) -> Outcome<Exit> {
        let screen = Screen::new(self.show.quiet, self.color);
        let folded = stored.folded(None)?;
        let human = at_terminal(self.color);
        let GoingOn { agent, model, currency, changed } =
            resume_setup::prepare(&folded, self.world, Some(self.rules), human, &screen)?;
        let kept = Kept::Thread(stored);
        let token = interrupt::listen(screen.voice.clone(), farewell(kept)).begin();
        let watch = self.show.watch(&screen);
        let mut handle = stored.handle().observer(&watch).cancelled_by(token).changed(changed);
        if self.rules.take_over {
            handle = handle.take_over();
        }
        let result = match said {
            Said::Nothing => handle.resume(&agent),
            Said::Answer(answer, token) => handle.token(token).answer(&agent, answer),
            Said::Resolution(settlement, token) => handle.token(token).resolve(&agent, settlement),
        };
        let asked = Asked {
            question: &folded.state.task.input.question,
            agent: &agent.rules().spec().name,
            model: &model,
            show: self.show,
            kept,
            record: None,
            prices: &folded.rules.spec().prices,
            currency: currency.as_deref(),
        };
        report::conclude(&asked, &watch, result)
    }
}
