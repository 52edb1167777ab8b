//! A conversation that outlives its process: each turn is on disk as it goes.
//! `cargo run -p planwright-typed --example durable_thread`

use std::sync::Arc;

use planwright::journal::Durability;
use planwright::prelude::*;
use planwright_offline::Offline;
use planwright_sqlite::SqliteStore;
use planwright_typed::{Failure, tool};

fn agent() -> Result<Agent, planwright::spec::SpecError> {
    let notes = tool("notes", ToolEffect::Pure, |_: String| {
        Ok::<_, Failure>("The boiler was serviced on 3 May by Kim Ltd. Kim Ltd charged 90 euros.".to_owned())
    });
    let spec = planwright::agents::shipped("validated").unwrap().with_tools(|_| false);
    Agent::builder(spec).model(Offline::new()).tool(notes.description("Searches my notes.")).build()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let (path, thread) = (folder.path().join("threads.db"), "boiler".parse()?);

    let first = Threads::new(Arc::new(SqliteStore::open(&path, Durability::Full)?));
    let run = first.at(&thread).ask(&agent()?, "Who serviced the boiler?")?;
    println!("{}", run.answer().unwrap_or("no answer"));
    drop(first);

    // Another process, later: the same thread, with what was said.
    let later = Threads::new(Arc::new(SqliteStore::open(&path, Durability::Full)?));
    let run = later.at(&thread).ask(&agent()?, "What did Kim Ltd charge?")?;
    println!("{}", run.answer().unwrap_or("no answer"));
    for (question, answer) in planwright::driver::history(later.store(), &thread)? {
        println!("- {question} {answer}");
    }
    Ok(())
}
