//! Every port of the engine, implemented outside with its public API alone.

mod store;

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use planwright::contract::{ToolContract, ToolEffect};
use planwright::journal::{Journal, JournalError, JournalErrorKind, Record};
use planwright::machine::{HumanAnswer, ModelReply};
use planwright::ports::{
    Cause, Human, Model, ModelError, Observer, Question, Signal, TokenSink, Tool, ToolCall, ToolError,
    ToolOutput,
};
use planwright::prompt::ModelRequest;

pub use store::Shelf;

/// A journal that keeps its records as text.
#[derive(Debug, Default)]
pub struct Notebook(Vec<Vec<u8>>);

impl Journal for Notebook {
    fn append(&mut self, index: u64, records: Vec<Record>) -> Result<(), JournalError> {
        let len = self.0.len() as u64;
        if index != len {
            return Err(JournalError::stale(index, len));
        }
        let texts = (index..).zip(&records).map(|(index, record)| record.encode(index));
        self.0.extend(texts.collect::<Result<Vec<_>, _>>()?);
        Ok(())
    }

    fn records(&self) -> Result<Vec<Record>, JournalError> {
        let damaged = |problem| JournalError::new(JournalErrorKind::Damaged, "the notebook", problem);
        self.0.iter().map(|text| Record::decode(text).map_err(damaged)).collect()
    }
}

/// A model that says what it was given, in order.
#[derive(Debug)]
pub struct Parrot(Mutex<VecDeque<String>>);

impl Parrot {
    /// A parrot that will say this.
    pub fn new(says: impl IntoIterator<Item = String>) -> Self {
        Parrot(Mutex::new(says.into_iter().collect()))
    }
}

impl Model for Parrot {
    fn name(&self) -> &str {
        "parrot"
    }

    fn ask(&self, _: &ModelRequest, _: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        let next = self.0.lock().ok().and_then(|mut says| says.pop_front());
        next.map(ModelReply::text)
            .ok_or_else(|| ModelError::unanswered(Cause::Connection, "nothing is left to say"))
    }
}

/// A tool that gives back its input.
#[derive(Debug)]
pub struct Echo;

impl Tool for Echo {
    fn contract(&self) -> ToolContract {
        ToolContract::text("echo", "Gives back its input.", ToolEffect::Pure)
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::from(call.text()?.to_owned()))
    }
}

/// A person who always says the same.
#[derive(Debug)]
pub struct Person(pub String);

impl Human for Person {
    fn ask(&self, _: &Question<'_>) -> Option<HumanAnswer> {
        Some(HumanAnswer::respond(self.0.clone()))
    }
}

/// Counts what it hears.
#[derive(Debug, Default)]
pub struct Counter(AtomicUsize);

impl Counter {
    /// How many signals there were.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Observer for Counter {
    fn notice(&self, _: Signal<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
