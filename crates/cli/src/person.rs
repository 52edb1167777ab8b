//! The person at the terminal: is asked on stderr, answers on stdin; and what they say by flags.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::args::{AnswerArgs, DoubtArgs};
use crate::editor::{is_typed, read_line};
use crate::out::{Look, Style};
use crate::wrap::wrap;
use crate::{out, text};
use planwright::contract::EditedSteps;
use planwright::driver::Resolution;
use planwright::machine::{EffectKind, HumanAnswer};
use planwright::ports::{Human, Question};
use planwright_app::{Class, Error, Pending, Result, RunLocation, parse_calls, read_text, results_text};

/// How often a line that says nothing is asked again before the run is left waiting.
const MOST_UNREAD: u32 = 5;
/// Longest question or JSON file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

struct Person {
    style: Style,
}

/// The person at the terminal, if there is one.
pub fn at_terminal(style: Style) -> Option<Arc<dyn Human>> {
    is_typed().then(|| Arc::new(Person { style }) as Arc<dyn Human>)
}

impl Human for Person {
    fn ask(&self, question: &Question<'_>) -> Option<HumanAnswer> {
        let results = results_text(question.state, question.effect);
        show_question(&results, question.text, question.refused, self.style);
        for _ in 0..MOST_UNREAD {
            // If stdin cannot be read the run waits, and its journal can be resumed.
            let line = read_line(&prompt_for(question.effect.kind, question.calls)).ok().flatten()?;
            match parse_answer(&line, question.effect.kind) {
                _ if line.is_empty() => {}
                Ok(answer) => return Some(answer),
                Err(problem) => show_refusal(&problem, self.style),
            }
        }
        None
    }
}

/// Shows what was found so far and what a person is asked; or why their last answer was refused, and the question.
pub fn show_question(results: &str, question: &str, refused: Option<&str>, style: Style) {
    match refused {
        Some(problem) => show_refusal(problem, style),
        None => show_results(results),
    }
    out::complain(&style.paint(Look::Heading, &text::clean(question)));
}

/// Shows what was found so far, whole; to a person whose screen is shorter, a page at a time.
pub fn show_results(results: &str) {
    let (mut text, mut page) = (text::clean(results), usize::MAX);
    if let Some(rows) = out::stderr_rows().filter(|_| is_typed()) {
        text = out::stderr_columns().map_or(text.clone(), |columns| wrap(&text, columns));
        page = rows.saturating_sub(2).max(1);
    }
    let lines: Vec<&str> = text.lines().collect();
    for (at, lines) in lines.chunks(page).enumerate() {
        // What cannot be asked is not shown.
        if at > 0
            && !matches!(read_line("more: Enter; q goes to the question> "), Ok(Some(said)) if said != "q")
        {
            return;
        }
        out::complain(&lines.join("\n"));
    }
}

fn show_refusal(problem: &str, style: Style) {
    out::complain(&style.paint(Look::Warn, &format!("  refused  {}", text::line(problem))));
}

fn prompt_for(asked: EffectKind, calls: usize) -> String {
    let choices = match asked {
        EffectKind::ApprovePlan { .. } => "yes, reject: REASON or edit: STEPS",
        EffectKind::ApproveCall { .. } if calls > 1 => "yes, yes: 1,3 for some of them, or reject: REASON",
        EffectKind::ApproveCall { .. } => "yes, reject: REASON, edit: INPUT, or the answer itself",
        EffectKind::Pick { .. } => "one of the values; reject: REASON says no",
        _ => "reject: REASON says no",
    };
    format!("answer ({choices})> ")
}

pub fn read_answer(asked: EffectKind, calls: usize) -> Result<Option<HumanAnswer>> {
    let line = read_line(&prompt_for(asked, calls))?.filter(|line| !line.is_empty());
    line.map(|line| parse_answer(&line, asked).map_err(Error::unusable)).transpose()
}

/// Reads the question of a run: the argument, or stdin for `-`.
pub fn read_question(argument: &str) -> Result<String> {
    let mut text = argument.to_owned();
    if argument == "-" {
        let (mut bytes, unread) = (Vec::new(), "the question cannot be read from stdin");
        let count = std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes);
        // The end of what is too long may be amid a letter.
        if count.map_err(|error| Error::caused(unread, error))? as u64 > MAX_BYTES {
            return Err(Error::unusable(format!("the question on stdin is longer than {MAX_BYTES} bytes")));
        }
        text = String::from_utf8(bytes).map_err(|error| Error::caused(unread, error))?;
    }
    if text.trim().is_empty() {
        let hint = "planwright run \"your question\", or: echo \"your question\" | planwright run -";
        return Err(Error::unusable("the question is empty").hint(hint));
    }
    Ok(text.trim().to_owned())
}

pub fn confirm(question: &str) -> Result<bool> {
    let line = read_line(&format!("{question} (yes or no)? "))?.unwrap_or_default();
    Ok(["yes", "y", "예", "네"].contains(&line.to_lowercase().as_str()))
}

/// The token for an answer that names none: a person at the terminal is shown what is pending and says yes to it.
/// Without a person the answer is refused: it may be an old one, given again.
pub fn confirm_token(pending: &Pending, location: RunLocation<'_>, style: Style) -> Result<String> {
    if !is_typed() || pending.expired {
        return Err(location.missing_token(pending));
    }
    show_question(&pending.results, &pending.text(), None, style);
    if confirm("is this what is meant")? {
        return Ok(pending.token.clone());
    }
    let class = if pending.is_doubt() { Class::InDoubt } else { Class::Waiting };
    Err(Error::new(class, "nothing was said, and the run waits on"))
}

impl AnswerArgs {
    pub fn answer(&self) -> Result<Option<HumanAnswer>> {
        let AnswerArgs { respond, approve, approve_calls, edit_input, reject, edit, .. } = self;
        if let Some(text) = approve_calls {
            let calls = parse_calls(text)
                .map_err(|problem| Error::unusable(format!("--approve-calls: {problem}")))?;
            return Ok(Some(HumanAnswer::ApproveCalls { calls }));
        }
        if let Some(path) = edit_input {
            let input = read_json("--edit-input: ", path, "a JSON value", Some("such as \"a text\""))?;
            return Ok(Some(HumanAnswer::EditInput { input }));
        }
        if let Some(path) = edit {
            let hint = "such as [{\"tool\": \"calc\", \"input\": \"1+1\"}]";
            let EditedSteps(steps) = read_json("--edit: ", path, "a JSON list of plan steps", Some(hint))?;
            return Ok(Some(HumanAnswer::Edit { steps }));
        }
        let said = respond.as_ref().map(HumanAnswer::respond).or(reject.as_ref().map(HumanAnswer::reject));
        Ok(said.or(approve.then_some(HumanAnswer::Approve)))
    }
}

impl DoubtArgs {
    pub fn resolution(&self) -> Option<Resolution> {
        let DoubtArgs { happened, did_not_happen, stop } = self.clone();
        let happened = happened.map(|output| Resolution::Happened { output });
        let stopped = stop.map(|reason| Resolution::Stop { reason });
        happened.or(stopped).or(did_not_happen.then_some(Resolution::DidNotHappen))
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
    let length = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    if length > MAX_BYTES {
        return Err(Error::unusable(format!("{place}: expected at most {MAX_BYTES} bytes, found {length}")));
    }
    serde_json::from_slice(read_text(&place, path)?.as_bytes()).map_err(|error| {
        let problem = format!("{place}: expected {expected}: {error}");
        Error { hint: hint.map(str::to_owned), ..Error::unusable(problem) }
    })
}

/// The words with which a person says yes.
const YES: [&str; 7] = ["yes", "y", "approve", "approved", "예", "네", "승인"];

/// Parses a line that answers a person's question. For a step, `reject: REASON` is a no and everything else an
/// answer. For a plan or a call, `yes` approves, `yes: 1,3` some of several calls, `edit: JSON` approves with other steps or another input, `no` and
/// `reject: REASON` say no; any other line is an answer in the place of the call.
pub fn parse_answer(line: &str, asked: EffectKind) -> Result<HumanAnswer, String> {
    if let Some(reason) = argument_of("reject", line) {
        return Ok(HumanAnswer::reject(reason));
    }
    let is_plan = matches!(asked, EffectKind::ApprovePlan { .. });
    if !is_plan && !matches!(asked, EffectKind::ApproveCall { .. }) {
        return Ok(HumanAnswer::respond(line));
    }
    let some = YES.iter().find_map(|word| argument_of(word, line)).filter(|_| !is_plan && line.contains(':'));
    if let Some(text) = some {
        if text.is_empty() {
            return Err("yes: expected positions such as 1,3, or `yes` alone for all calls".to_owned());
        }
        return parse_calls(text).map(|calls| HumanAnswer::ApproveCalls { calls });
    }
    let word = line.trim_end_matches(['.', '!']).to_lowercase();
    match (word.as_str(), argument_of("edit", line)) {
        (word, _) if YES.contains(&word) => Ok(HumanAnswer::Approve),
        ("no" | "n" | "아니요" | "아니오" | "거절", _) => Ok(HumanAnswer::reject("")),
        (_, None) => Ok(HumanAnswer::respond(line)),
        (_, Some(json)) if is_plan => {
            let steps = parse_edit(json, "a JSON list of plan steps");
            steps.map(|EditedSteps(steps)| HumanAnswer::Edit { steps })
        }
        (_, Some(json)) => {
            let expected = "an input as JSON, such as \"a text\"";
            parse_edit(json, expected).map(|input| HumanAnswer::EditInput { input })
        }
    }
}

fn parse_edit<T: DeserializeOwned>(json: &str, expected: &str) -> Result<T, String> {
    serde_json::from_slice(json.as_bytes()).map_err(|error| format!("edit: expected {expected}: {error}"))
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

    const STEP: EffectKind = EffectKind::Human { draft: 1, step: 0 };
    const PLAN: EffectKind = EffectKind::ApprovePlan { draft: 1 };
    const CALL: EffectKind = EffectKind::ApproveCall { draft: 1, step: 0 };

    #[test]
    fn line_means_what_the_question_asks_for() {
        let no = |reason: &str| HumanAnswer::reject(reason);
        let said = |line: &str| HumanAnswer::respond(line);
        let json = r#"[{"tool": "calc", "input": "1+1"}]"#;
        let (steps, input) = (serde_json::from_str(json).unwrap(), serde_json::from_str(json).unwrap());
        let edit = format!("edit: {json}");
        let mut rows = vec![
            (&*edit, said(&edit), HumanAnswer::Edit { steps }, HumanAnswer::EditInput { input }),
            ("no", said("no"), no(""), no("")),
            ("아니요", said("아니요"), no(""), no("")),
        ];
        let reasons = [("reject: 너무 비쌉니다", "너무 비쌉니다"), ("Reject:no", "no"), ("reject", "")];
        for (line, reason) in reasons.into_iter().chain([("REJECT : x", "x")]) {
            rows.push((line, no(reason), no(reason), no(reason)));
        }
        for line in ["좋습니다", "rejected", "reject it", "나는 reject: 라고 하지 않는다"] {
            rows.push((line, said(line), said(line), said(line)));
        }
        for line in ["yes", "Y", "approve", "예", "네.", "승인"] {
            rows.push((line, said(line), HumanAnswer::Approve, HumanAnswer::Approve));
        }
        let some = HumanAnswer::ApproveCalls { calls: parse_calls("1,3").unwrap() };
        for line in ["yes: 1,3", "YES: 1,3", "예: 1,3", "승인: 1,3", "approve: 1,3"] {
            rows.push((line, said(line), said(line), some.clone()));
        }
        assert!(parse_answer("yes:", CALL).is_err() && parse_answer("예: 1 3", CALL).is_err());
        for (line, step, plan, call) in rows {
            for (asked, meant) in [(STEP, step), (PLAN, plan), (CALL, call)] {
                assert_eq!(parse_answer(line, asked), Ok(meant), "{line}");
            }
        }
        let typo = r#"edit: [{"tool": "calc", "inptu": "1+1"}]"#;
        for (line, asked) in
            [("edit: x", PLAN), ("edit: {}", PLAN), (typo, PLAN), ("edit: 1+", CALL), ("edit", CALL)]
        {
            let problem = parse_answer(line, asked).unwrap_err();
            assert!(problem.starts_with("edit: expected"), "{line}: {problem}");
        }
    }
}
