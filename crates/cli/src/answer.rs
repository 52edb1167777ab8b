//! What a person says to a run that waits, from the command line.

use std::path::Path;

use serde::de::DeserializeOwned;

use super::args::AnswerArgs;
use super::failure::{Failure, Outcome};
use planwright::contract::PlanStep;
use planwright::driver::Resolution;
use planwright::machine::HumanAnswer;

/// Longest file of steps, or of an input, that is read, in bytes.
const MOST: u64 = 1 << 20;

/// The answer that this call gives, where it gives one.
pub fn answer(args: &AnswerArgs) -> Outcome<Option<HumanAnswer>> {
    if let Some(text) = &args.respond {
        return Ok(Some(HumanAnswer::respond(text)));
    }
    if let Some(reason) = &args.reject {
        return Ok(Some(HumanAnswer::reject(reason)));
    }
    if args.approve {
        return Ok(Some(HumanAnswer::Approve));
    }
    if let Some(path) = &args.edit_input {
        let input = written("--edit-input", path, "a JSON value", "such as \"a text\"")?;
        return Ok(Some(HumanAnswer::EditInput { input }));
    }
    let Some(path) = &args.edit else { return Ok(None) };
    let hint = "such as [{\"tool\": \"calc\", \"input\": \"1+1\"}]";
    let steps: Vec<PlanStep> = written("--edit", path, "a JSON list of plan steps", hint)?;
    Ok(Some(HumanAnswer::Edit { steps }))
}

/// What this call says of a write in doubt, where it says something.
pub fn settlement(happened: Option<&String>, did_not: bool, stop: Option<&String>) -> Option<Resolution> {
    match (happened, stop) {
        (Some(output), _) => Some(Resolution::Happened { output: output.clone() }),
        (None, Some(reason)) => Some(Resolution::Stop { reason: reason.clone() }),
        (None, None) => did_not.then_some(Resolution::DidNotHappen),
    }
}

/// What a person wrote into a file in the place of what was planned.
fn written<T: DeserializeOwned>(flag: &str, path: &Path, expected: &str, hint: &str) -> Outcome<T> {
    let place = path.display();
    let unreadable = |error| Failure::caused(format!("{flag}: {place}: cannot be read"), error);
    let length = std::fs::metadata(path).map_err(unreadable)?.len();
    if length > MOST {
        return Err(Failure::unusable(format!(
            "{flag}: {place}: expected at most {MOST} bytes, found {length}"
        )));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::unusable(format!("{flag}: {place}: expected {expected}: {error}")).hint(hint)
    })
}
