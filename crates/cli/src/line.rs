//! Lines from stdin: bounded, and asked for with a prompt where a person types them.

use std::io::{BufRead, IsTerminal, Read, Write};

use super::failure::{Failure, Outcome};
use planwright::machine::{EffectKind, HumanAnswer};

/// Longest line that is read, in bytes.
const MOST: u64 = 1 << 20;

/// Whether a person types on stdin and sees what is asked on stderr.
pub fn is_typed() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// The next line of stdin without its end; `None` where there is no more. Only who types sees the
/// prompt.
pub fn next(prompt: &str) -> Outcome<Option<String>> {
    if is_typed() {
        let mut stderr = std::io::stderr().lock();
        // Where the prompt cannot be written, the line can still be read.
        let _ = write!(stderr, "{prompt}").and_then(|()| stderr.flush());
    }
    let mut line = String::new();
    let read = std::io::stdin().lock().take(MOST + 1).read_line(&mut line);
    let read = read.map_err(|error| Failure::caused("stdin cannot be read", error))?;
    if read as u64 > MOST {
        return Err(Failure::unusable(format!("a line on stdin is longer than {MOST} bytes")));
    }
    Ok((read > 0).then(|| line.trim().to_owned()))
}

/// What a person's line says. Of a step of theirs, `reject: REASON` is a no and everything else an
/// answer. Of a plan or a call, `yes` approves, `edit: JSON` approves with other steps or another
/// input, `no` and `reject: REASON` say no; any other line is an answer in the place of the call.
///
/// # Errors
/// What follows `edit:` is no JSON, or none of the steps of a plan.
pub fn answer(line: &str, asked: EffectKind) -> Result<HumanAnswer, String> {
    if let Some(reason) = after("reject", line) {
        return Ok(HumanAnswer::reject(reason));
    }
    let (plan, call) =
        (matches!(asked, EffectKind::Approve { .. }), matches!(asked, EffectKind::Permit { .. }));
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
    match after("edit", line) {
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

/// Whether a line says yes to a question of the program's own.
pub fn is_yes(line: &str) -> bool {
    ["yes", "y", "예", "네"].contains(&line.to_lowercase().as_str())
}

/// What may be said to what is asked, for a prompt.
pub fn choices(asked: EffectKind) -> &'static str {
    match asked {
        EffectKind::Approve { .. } => "yes, reject: REASON or edit: STEPS",
        EffectKind::Permit { .. } => "yes, reject: REASON, edit: INPUT, or the answer itself",
        _ => "reject: REASON says no",
    }
}

/// What follows a command at the beginning of a line: `reject`, `reject: too dear`.
fn after<'l>(command: &str, line: &'l str) -> Option<&'l str> {
    let word = line.get(..command.len()).filter(|word| word.eq_ignore_ascii_case(command))?;
    let rest = line[word.len()..].trim_start();
    if rest.is_empty() { Some("") } else { rest.strip_prefix(':').map(str::trim) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const STEP: EffectKind = EffectKind::Human { draft: 1, step: 0 };
    const PLAN: EffectKind = EffectKind::Approve { draft: 1 };
    const CALL: EffectKind = EffectKind::Permit { draft: 1, step: 0 };

    #[test]
    fn reject_at_the_beginning_of_a_line_is_a_no() {
        for asked in [STEP, PLAN, CALL] {
            for (line, reason) in [
                ("reject: 너무 비쌉니다", "너무 비쌉니다"),
                ("Reject:no", "no"),
                ("reject", ""),
                ("REJECT : x", "x"),
            ] {
                assert_eq!(answer(line, asked), Ok(HumanAnswer::reject(reason)), "{line}");
            }
            for line in ["좋습니다", "rejected", "reject it", "나는 reject: 라고 하지 않는다"] {
                assert_eq!(answer(line, asked), Ok(HumanAnswer::respond(line)), "{line}");
            }
        }
    }

    #[test]
    fn yes_approves_where_approval_is_asked_for_and_is_an_answer_elsewhere() {
        for line in ["yes", "Y", "approve", "예", "네.", "승인"] {
            assert_eq!(answer(line, PLAN), Ok(HumanAnswer::Approve), "{line}");
            assert_eq!(answer(line, CALL), Ok(HumanAnswer::Approve), "{line}");
            assert_eq!(answer(line, STEP), Ok(HumanAnswer::respond(line)), "{line}");
        }
        for line in ["no", "아니요"] {
            assert_eq!(answer(line, CALL), Ok(HumanAnswer::reject("")), "{line}");
            assert_eq!(answer(line, STEP), Ok(HumanAnswer::respond(line)), "{line}");
        }
    }

    #[test]
    fn edit_gives_a_plan_other_steps_and_a_call_another_input() {
        let steps = serde_json::from_value(json!([{"tool": "calc", "input": "1+1"}])).unwrap();
        let line = r#"edit: [{"tool": "calc", "input": "1+1"}]"#;
        assert_eq!(answer(line, PLAN), Ok(HumanAnswer::Edit { steps }));
        let input = json!({"to": "김"});
        assert_eq!(answer(r#"edit: {"to": "김"}"#, CALL), Ok(HumanAnswer::EditInput { input }));
        for (line, asked) in [("edit: x", PLAN), ("edit: {}", PLAN), ("edit: 1+", CALL), ("edit", CALL)] {
            assert!(
                answer(line, asked).is_err_and(|problem| problem.starts_with("edit: expected")),
                "{line}"
            );
        }
        assert_eq!(answer("edit: x", STEP), Ok(HumanAnswer::respond("edit: x")));
    }
}
