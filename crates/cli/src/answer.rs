//! A person's answer: from the flags of a command, or from a line they type.

use std::path::Path;

use serde::de::DeserializeOwned;

use crate::args::{AnswerArgs, DoubtArgs};
use planwright::contract::PlanStep;
use planwright::driver::Resolution;
use planwright::machine::{EffectKind, HumanAnswer};
use planwright_app::{Error, Result};

/// Longest file of steps, of an input or of a history that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

impl AnswerArgs {
    /// The answer that the flags give, if they give one.
    pub fn answer(&self) -> Result<Option<HumanAnswer>> {
        if let Some(path) = &self.edit_input {
            let input = read_json("--edit-input: ", path, "a JSON value", Some("such as \"a text\""))?;
            return Ok(Some(HumanAnswer::EditInput { input }));
        }
        if let Some(path) = &self.edit {
            let hint = "such as [{\"tool\": \"calc\", \"input\": \"1+1\"}]";
            let steps: Vec<PlanStep> = read_json("--edit: ", path, "a JSON list of plan steps", Some(hint))?;
            return Ok(Some(HumanAnswer::Edit { steps }));
        }
        let approved = self.approve.then_some(HumanAnswer::Approve);
        let rejected = self.reject.as_ref().map(HumanAnswer::reject);
        Ok(self.respond.as_ref().map(HumanAnswer::respond).or(rejected).or(approved))
    }
}

impl DoubtArgs {
    /// What the flags say of a write in doubt, if they say something.
    pub fn resolution(&self) -> Option<Resolution> {
        match (&self.happened, &self.stop) {
            (Some(output), _) => Some(Resolution::Happened { output: output.clone() }),
            (None, Some(reason)) => Some(Resolution::Stop { reason: reason.clone() }),
            (None, None) => self.did_not_happen.then_some(Resolution::DidNotHappen),
        }
    }
}

/// Reads a JSON file of bounded size. Errors begin with `prefix`.
pub fn read_json<T: DeserializeOwned>(
    prefix: &str,
    path: &Path,
    expected: &str,
    hint: Option<&str>,
) -> Result<T> {
    let place = format!("{prefix}{}", path.display());
    let unreadable = |error| Error::caused(format!("{place}: cannot be read"), error);
    let length = std::fs::metadata(path).map_err(unreadable)?.len();
    if length > MAX_BYTES {
        return Err(Error::unusable(format!("{place}: expected at most {MAX_BYTES} bytes, found {length}")));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    serde_json::from_str(&text).map_err(|error| {
        Error::unusable(format!("{place}: expected {expected}: {error}")).maybe_hint(hint.map(str::to_owned))
    })
}

/// Parses a line that answers a person's question. For a step, `reject: REASON` is a no and everything else an
/// answer. For a plan or a call, `yes` approves, `edit: JSON` approves with other steps or another input, `no` and
/// `reject: REASON` say no; any other line is an answer in the place of the call.
///
/// # Errors
/// What follows `edit:` is no JSON, or none of the steps of a plan.
pub fn parse_answer(line: &str, asked: EffectKind) -> Result<HumanAnswer, String> {
    if let Some(reason) = argument_of("reject", line) {
        return Ok(HumanAnswer::reject(reason));
    }
    let (plan, call) =
        (matches!(asked, EffectKind::ApprovePlan { .. }), matches!(asked, EffectKind::ApproveCall { .. }));
    if !plan && !call {
        return Ok(HumanAnswer::respond(line));
    }
    let word = line.trim_end_matches(['.', '!']).to_lowercase();
    if ["yes", "y", "approve", "approved", "예", "네", "승인"].contains(&word.as_str()) {
        return Ok(HumanAnswer::Approve);
    }
    if ["no", "n", "아니요", "아니오", "거절"].contains(&word.as_str()) {
        return Ok(HumanAnswer::reject(""));
    }
    match argument_of("edit", line) {
        Some(json) if plan => match serde_json::from_str(json) {
            Ok(steps) => Ok(HumanAnswer::Edit { steps }),
            Err(error) => Err(format!("edit: expected a JSON list of plan steps: {error}")),
        },
        Some(json) => match serde_json::from_str(json) {
            Ok(input) => Ok(HumanAnswer::EditInput { input }),
            Err(error) => Err(format!("edit: expected an input as JSON, such as \"a text\": {error}")),
        },
        None => Ok(HumanAnswer::respond(line)),
    }
}

/// The answers that a question takes, for a prompt.
pub fn choices(asked: EffectKind) -> &'static str {
    match asked {
        EffectKind::ApprovePlan { .. } => "yes, reject: REASON or edit: STEPS",
        EffectKind::ApproveCall { .. } => "yes, reject: REASON, edit: INPUT, or the answer itself",
        _ => "reject: REASON says no",
    }
}

/// What follows a command at the beginning of a line: `reject`, `reject: too dear`.
fn argument_of<'l>(command: &str, line: &'l str) -> Option<&'l str> {
    let word = line.get(..command.len()).filter(|word| word.eq_ignore_ascii_case(command))?;
    let rest = line[word.len()..].trim_start();
    if rest.is_empty() { Some("") } else { rest.strip_prefix(':').map(str::trim) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const STEP: EffectKind = EffectKind::Human { draft: 1, step: 0 };
    const PLAN: EffectKind = EffectKind::ApprovePlan { draft: 1 };
    const CALL: EffectKind = EffectKind::ApproveCall { draft: 1, step: 0 };

    #[test]
    fn reject_at_the_beginning_of_a_line_is_a_no() {
        for asked in [STEP, PLAN, CALL] {
            for (line, reason) in [
                ("reject: 너무 비쌉니다", "너무 비쌉니다"),
                ("Reject:no", "no"),
                ("reject", ""),
                ("REJECT : x", "x"),
            ] {
                assert_eq!(parse_answer(line, asked), Ok(HumanAnswer::reject(reason)), "{line}");
            }
            for line in ["좋습니다", "rejected", "reject it", "나는 reject: 라고 하지 않는다"] {
                assert_eq!(parse_answer(line, asked), Ok(HumanAnswer::respond(line)), "{line}");
            }
        }
    }

    #[test]
    fn yes_approves_where_approval_is_asked_for_and_is_an_answer_elsewhere() {
        for line in ["yes", "Y", "approve", "예", "네.", "승인"] {
            assert_eq!(parse_answer(line, PLAN), Ok(HumanAnswer::Approve), "{line}");
            assert_eq!(parse_answer(line, CALL), Ok(HumanAnswer::Approve), "{line}");
            assert_eq!(parse_answer(line, STEP), Ok(HumanAnswer::respond(line)), "{line}");
        }
        for line in ["no", "아니요"] {
            assert_eq!(parse_answer(line, CALL), Ok(HumanAnswer::reject("")), "{line}");
            assert_eq!(parse_answer(line, STEP), Ok(HumanAnswer::respond(line)), "{line}");
        }
    }

    #[test]
    fn edit_gives_a_plan_other_steps_and_a_call_another_input() {
        let steps = serde_json::from_value(json!([{"tool": "calc", "input": "1+1"}])).unwrap();
        let line = r#"edit: [{"tool": "calc", "input": "1+1"}]"#;
        assert_eq!(parse_answer(line, PLAN), Ok(HumanAnswer::Edit { steps }));
        let input = json!({"to": "김"});
        assert_eq!(parse_answer(r#"edit: {"to": "김"}"#, CALL), Ok(HumanAnswer::EditInput { input }));
        for (line, asked) in [("edit: x", PLAN), ("edit: {}", PLAN), ("edit: 1+", CALL), ("edit", CALL)] {
            assert!(
                parse_answer(line, asked).is_err_and(|problem| problem.starts_with("edit: expected")),
                "{line}"
            );
        }
        assert_eq!(parse_answer("edit: x", STEP), Ok(HumanAnswer::respond("edit: x")));
    }
}
