//! `calc`: exact arithmetic with units.
//!
//! The arithmetic is fend's. This file says what may reach it and what may come back: everything
//! whose answer could change from one day to the next (dates, dice, currencies) or whose cost has no
//! bound (functions of one's own, shifts) is refused before it is read; the rest runs under a
//! budget of work, a deadline and a stack of its own. Where plain arithmetic uses up the budget, it
//! is done again [approximately](approximate). A number is never cut: it comes back whole or not at
//! all.

mod approximate;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use planwright::contract::ToolContract;
use planwright::ports::{Tool, ToolCall, ToolError, ToolErrorKind, ToolOutput};

use planwright::ports::first_chars;

/// Longest expression, in characters.
const MAX_CHARS: usize = 1000;
/// Deepest nesting of brackets: reading them takes time that doubles or triples with each level.
const MAX_DEPTH: usize = 8;
/// Most pairs of brackets.
const MAX_BRACKETS: usize = 60;
/// Most operators, and so signs in a row, statements and the like.
const MAX_OPERATORS: usize = 300;
/// How often the arithmetic may look up from its work. Reached at the same place on every machine,
/// where a deadline is not.
const BUDGET: u64 = 200_000;
/// Used where a call has no time-out.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long after the deadline the answer "interrupted" is waited for.
const GRACE: Duration = Duration::from_millis(250);
/// Evaluation recurses over the expression; this holds the deepest that the bounds above allow.
const STACK_BYTES: usize = 64 << 20;

/// Exact arithmetic with units: `345*872`, `12/4+9`, `5 km in miles`, `20% of 50`.
///
/// Equal expressions give equal texts: there is no clock, no chance, no currency and no memory
/// between calls. Full-width digits, `×`, `÷` and thousands separators are understood.
///
/// ```
/// use planwright::ports::{Tool, ToolCall};
/// use planwright_docs::Calc;
/// use serde_json::json;
///
/// let input = json!("12/4+9");
/// let call = ToolCall { input: &input, idempotency_key: "run/1", timeout: None, max_output_bytes: 4000, once: false };
/// assert_eq!(Calc::new().call(&call).unwrap().text, "12");
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Calc;

impl Calc {
    /// The tool.
    pub fn new() -> Self {
        Calc
    }
}

impl Tool for Calc {
    fn contract(&self) -> ToolContract {
        planwright::agents::tool("calc").expect("agents/tools.toml holds its contract")
    }

    fn call(&self, call: &ToolCall<'_>) -> Result<ToolOutput, ToolError> {
        let expression = readable(call.nonempty_text("an expression such as 12/4+9")?)?;
        refuse_unbounded(&expression)?;
        let result = evaluate(expression, call.timeout.unwrap_or(DEFAULT_TIMEOUT))?;
        if result.is_empty() {
            return Err(ToolError::input("expected an expression with a value, found one without"));
        }
        if result.len() > call.max_output_bytes {
            let most = call.max_output_bytes;
            return Err(too_much(format!("the result takes {} bytes of at most {most}", result.len())));
        }
        Ok(result.into())
    }
}

fn too_much(why: String) -> ToolError {
    ToolError::new(ToolErrorKind::Limit, format!("the calculation is too large: {why}"))
}

/// The expression in the characters that the arithmetic reads.
fn readable(text: &str) -> Result<String, ToolError> {
    if text.chars().nth(MAX_CHARS).is_some() {
        let found = text.chars().count();
        return Err(ToolError::input(format!("expected at most {MAX_CHARS} characters, found {found}")));
    }
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Full-width forms lie at a fixed distance from ASCII.
            '\u{ff01}'..='\u{ff5e}' => plain.extend(char::from_u32(c as u32 - 0xfee0)),
            '×' | '✕' | '✖' | '·' | '⋅' | '∙' => plain.push('*'),
            '÷' | '∕' | '⁄' => plain.push('/'),
            '−' | '–' | '—' => plain.push('-'),
            '²' => plain.push_str("^2"),
            '³' => plain.push_str("^3"),
            '√' => plain.push_str(" sqrt "),
            c if c.is_whitespace() => plain.push(' '),
            c if c.is_control() => {
                return Err(ToolError::input(format!("expected an expression, found the character {c:?}")));
            }
            c => plain.push(c),
        }
    }
    let question = plain.trim().trim_start_matches('=').trim_end_matches(['=', '?', ' ']);
    without_thousands_separators(question.trim())
}

/// `1,234.5` is `1234.5`; `1,5` could mean two things and is refused.
fn without_thousands_separators(text: &str) -> Result<String, ToolError> {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    for (at, &c) in chars.iter().enumerate() {
        let digit_before = at > 0 && chars[at - 1].is_ascii_digit();
        let digits_after = chars[at + 1..].iter().take_while(|c| c.is_ascii_digit()).count();
        if c != ',' || !digit_before || digits_after == 0 {
            out.push(c);
            continue;
        }
        // What stands before a separator: one to three digits, or another group of three.
        let run = chars[..at].iter().rev().take_while(|c| c.is_ascii_digit()).count();
        let grouped = at > run && chars[at - run - 1] == ',';
        let fraction = at > run && chars[at - run - 1] == '.';
        let group_before = if grouped { run == 3 } else { run <= 3 && !fraction };
        if digits_after != 3 || !group_before {
            let from = at - run;
            let number: String = chars[from..=at + digits_after].iter().collect();
            let problem =
                format!("expected a thousands separator before groups of three digits, found {number:?}");
            return Err(ToolError::input(problem));
        }
    }
    Ok(out)
}

/// Refuses what has no bound in cost or could answer differently tomorrow.
fn refuse_unbounded(expression: &str) -> Result<(), ToolError> {
    let refuse = |what: &str| {
        let shown = first_chars(expression, 80);
        Err(ToolError::input(format!("expected an arithmetic expression; {what}: {shown:?}")))
    };
    let offers_no = [
        (&["<<", ">>"][..], "shifts are not offered"),
        (&["=>", ":", "\\"], "functions cannot be defined"),
        (&["@"], "dates and settings are not offered"),
        (&["\""], "texts are not offered"),
    ];
    for (signs, what) in offers_no {
        if signs.iter().any(|sign| expression.contains(sign)) {
            return refuse(what);
        }
    }
    if depth(expression) > MAX_DEPTH {
        return refuse(&format!("brackets are nested deeper than {MAX_DEPTH} levels"));
    }
    let many = |wanted: &str| expression.chars().filter(|c| wanted.contains(*c)).count();
    if many("(") > MAX_BRACKETS {
        return refuse("there are too many brackets");
    }
    if many("+-*/^%!&|~=;") > MAX_OPERATORS {
        return refuse("there are too many operators");
    }
    for word in expression.split(|c: char| !c.is_alphanumeric() && c != '_') {
        if is_dice(word) || ["roll", "sample"].contains(&word) {
            return refuse("chance is not offered");
        }
        if ["date", "today", "now", "tomorrow", "yesterday"].contains(&word) {
            return refuse("dates are not offered");
        }
    }
    Ok(())
}

/// How deep the brackets are nested; closing ones too many count as opened at the front.
fn depth(expression: &str) -> usize {
    let (mut open, mut deepest, mut missing) = (0usize, 0, 0);
    for c in expression.chars() {
        match c {
            '(' => open += 1,
            ')' if open == 0 => missing += 1,
            ')' => open -= 1,
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest + missing
}

/// `d6`, `3d6`.
fn is_dice(word: &str) -> bool {
    let based = ["0x", "0b", "0o"].iter().any(|prefix| word.starts_with(prefix));
    let word = word.trim_start_matches(|c: char| c.is_ascii_digit());
    !based
        && word
            .strip_prefix('d')
            .is_some_and(|faces| !faces.is_empty() && faces.chars().all(|c| c.is_ascii_digit() || c == '_'))
}

/// Looks at the clock and counts the work.
struct Watch {
    deadline: Instant,
    looks: AtomicU64,
}

impl fend_core::Interrupt for Watch {
    fn should_interrupt(&self) -> bool {
        self.looks.fetch_add(1, Ordering::Relaxed) >= BUDGET || Instant::now() >= self.deadline
    }
}

/// Evaluates on a thread of its own: for its stack, and so that a fault in the arithmetic stays there.
fn evaluate(expression: String, timeout: Duration) -> Result<String, ToolError> {
    let (answer, answered) = mpsc::channel();
    let work = move || {
        let watch = Watch { deadline: Instant::now() + timeout, looks: AtomicU64::new(0) };
        let mut context = fend_core::Context::new();
        let result = fend_core::evaluate_with_interrupt(&expression, &mut context, &watch);
        let spent = watch.looks.load(Ordering::Relaxed) > BUDGET;
        // The one who asked may have given up waiting.
        let _ = answer.send(match result {
            Ok(result) => Ok(result.get_main_result().trim().to_owned()),
            Err(_) if spent => approximate::approximate(&expression)
                .ok_or_else(|| too_much("it takes too many operations".into())),
            Err(_) if Instant::now() >= watch.deadline => Err(late(timeout)),
            Err(problem) => Err(ToolError::input(format!(
                "{}: {:?}",
                first_chars(&problem, 300),
                first_chars(&expression, 80)
            ))),
        });
    };
    thread::Builder::new().name("calc".into()).stack_size(STACK_BYTES).spawn(work).map_err(|error| {
        ToolError::new(ToolErrorKind::Internal, format!("no thread for the calculation: {error}"))
    })?;
    answered.recv_timeout(timeout + GRACE).unwrap_or_else(|error| match error {
        mpsc::RecvTimeoutError::Timeout => Err(late(timeout)),
        mpsc::RecvTimeoutError::Disconnected => {
            Err(ToolError::new(ToolErrorKind::Internal, "the arithmetic failed on this expression"))
        }
    })
}

fn late(timeout: Duration) -> ToolError {
    ToolError::new(ToolErrorKind::Timeout, format!("no result within {} ms", timeout.as_millis()))
}
