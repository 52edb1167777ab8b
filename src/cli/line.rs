//! Lines from stdin: bounded, and asked for with a prompt where a person types them.

use std::io::{BufRead, IsTerminal, Read, Write};

use super::failure::{Failure, Outcome};
use crate::machine::HumanAnswer;

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

/// What a person's line says about a step: `reject: reason` is a no, everything else an answer.
pub fn answer(line: &str) -> HumanAnswer {
    const REJECT: &str = "reject";
    let word = line.get(..REJECT.len()).filter(|word| word.eq_ignore_ascii_case(REJECT));
    let rest = word.and_then(|_| line.get(REJECT.len()..)).map(str::trim_start);
    match rest.and_then(|rest| if rest.is_empty() { Some("") } else { rest.strip_prefix(':') }) {
        Some(reason) => HumanAnswer::reject(reason.trim()),
        None => HumanAnswer::respond(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reject_at_the_beginning_of_a_line_is_a_no() {
        for (line, reason) in [
            ("reject: 너무 비쌉니다", "너무 비쌉니다"),
            ("Reject:no", "no"),
            ("reject", ""),
            ("REJECT : x", "x"),
        ] {
            assert_eq!(answer(line), HumanAnswer::reject(reason), "{line}");
        }
        for line in ["좋습니다", "rejected", "reject it", "나는 reject: 라고 하지 않는다", "네"]
        {
            assert_eq!(answer(line), HumanAnswer::respond(line), "{line}");
        }
    }
}
