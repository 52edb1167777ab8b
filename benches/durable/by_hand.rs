//! The durable run as a loop written by hand: what each step adds is one row, written before the next
//! step begins. Nobody else can be kept from writing, nothing is listed, nothing is sealed, and what was
//! asked and not answered leaves no trace.

use std::path::Path;

use planwright::journal::Durability;
use planwright::spec::RoleName;
use rusqlite::{Connection, params};
use serde::Serialize;

use crate::support::by_hand::{Plan, Verdict};
use crate::world::World;

/// What a step adds to a run.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Delta<'a> {
    Asked { question: &'a str },
    Planned { plan: &'a str },
    Returned { step: usize, tool: &'a str, input: &'a str, output: &'a str },
    Judged { verdict: &'a str },
    Wrote { answer: &'a str },
}

pub struct Rows(Connection);

impl Rows {
    pub fn open(path: &Path, durability: Durability) -> Self {
        let conn = Connection::open(path).expect("opens");
        let synchronous = if durability == Durability::Full { "FULL" } else { "NORMAL" };
        conn.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; PRAGMA secure_delete = ON;
             PRAGMA cell_size_check = ON;
             CREATE TABLE step (thread TEXT NOT NULL, at INTEGER NOT NULL, delta TEXT NOT NULL,
             PRIMARY KEY (thread, at)) WITHOUT ROWID"
        ))
        .expect("a new database");
        Rows(conn)
    }

    fn append(&self, thread: &str, at: &mut u64, delta: &Delta<'_>) {
        let text = serde_json::to_string(delta).expect("is JSON");
        let mut insert = self.0.prepare_cached("INSERT INTO step VALUES (?1, ?2, ?3)").expect("reads");
        insert.execute(params![thread, *at, text]).expect("nobody else writes");
        *at += 1;
    }

    /// The run, to its answer.
    pub fn run(&self, thread: &str, question: &str, world: &mut World) -> String {
        let mut at = 0;
        self.append(thread, &mut at, &Delta::Asked { question });
        let mut role = RoleName::Planner;
        loop {
            let text = world.model(role);
            let plan: Plan = serde_json::from_str(&text).expect("is a plan");
            self.append(thread, &mut at, &Delta::Planned { plan: &text });
            for (step, planned) in
                plan.steps.iter().enumerate().filter(|(_, step)| step.tool != "final_answer")
            {
                let output = world.tool(step);
                let (tool, input, output) = (&*planned.tool, &*planned.input, &*output);
                self.append(thread, &mut at, &Delta::Returned { step, tool, input, output });
            }
            let text = world.model(RoleName::Validator);
            let verdict: Verdict = serde_json::from_str(&text).expect("is a verdict");
            self.append(thread, &mut at, &Delta::Judged { verdict: &text });
            if verdict.ok {
                break;
            }
            role = RoleName::Replanner;
        }
        let answer = world.model(RoleName::Writer);
        self.append(thread, &mut at, &Delta::Wrote { answer: &answer });
        answer
    }
}
