//! `calc`: exact arithmetic with units.
//!
//! The arithmetic is fend's. What could answer differently tomorrow (dates, dice, currencies) or has no bound in
//! cost (functions of one's own, shifts) is refused before it is read; the rest runs under a budget of work, a
//! deadline and a stack of its own. Where plain arithmetic uses up the budget, it is done again
//! [approximately](approximate). A number is never cut: it comes back whole or not at all.

mod approximate;

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use planwright::contract::ToolContract;
use planwright::ports::{Tool, ToolCall, ToolError, ToolErrorKind, ToolOutput, first_chars};
use regex_lite::{Captures, Regex};

const MAX_CHARS: usize = 1000;
/// Deepest nesting of brackets: reading them takes time that doubles or triples with each level.
const MAX_DEPTH: usize = 8;
const MAX_BRACKETS: usize = 60;
/// Most operators, and so signs in a row, statements and the like.
const MAX_OPERATORS: usize = 300;
/// How often the arithmetic may look up from its work: the same on every machine, unlike a deadline.
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
/// assert_eq!(Calc::new().call(&ToolCall::new(&input, "run/1")).unwrap().text, "12");
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
        let expression = normalize(call.nonempty_text("an expression such as 12/4+9")?)?;
        refuse_unbounded(&expression)?;
        let result = evaluate(expression, call.timeout.unwrap_or(DEFAULT_TIMEOUT))?;
        match (result.len(), call.max_output_bytes) {
            (0, _) => Err(ToolError::input("expected an expression with a value, found one without")),
            (found, most) if found > most => {
                Err(too_much(format!("the result takes {found} bytes of at most {most}")))
            }
            _ => Ok(result.into()),
        }
    }
}

fn too_much(why: String) -> ToolError {
    ToolError::new(ToolErrorKind::Limit, format!("the calculation is too large: {why}"))
}

/// The expression in the characters that the arithmetic reads.
fn normalize(text: &str) -> Result<String, ToolError> {
    let found = text.chars().count();
    if found > MAX_CHARS {
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
    // `log` is the natural logarithm here, as in most programming languages.
    let plain = strip_thousands_separators(question.trim())?;
    Ok(LOG.replace_all(&plain, "ln").into_owned())
}

static LOG: LazyLock<Regex> = LazyLock::new(|| regex(r"\blog\b"));

/// Digits with dots and commas between them, and those whose commas stand between groups of three.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| regex(r"\.?\d+(?:[.,]\d+)*"));
static GROUPED: LazyLock<Regex> = LazyLock::new(|| regex(r"^\d{1,3}(?:,\d{3})+(?:\.\d+)?$"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("every pattern of calc/ is compiled by its tests")
}

/// `1,234.5` is `1234.5`; `1,5` could mean two things and is refused.
fn strip_thousands_separators(text: &str) -> Result<String, ToolError> {
    let mut numbers = NUMBER.find_iter(text).map(|number| number.as_str());
    if let Some(number) = numbers.find(|number| number.contains(',') && !GROUPED.is_match(number)) {
        let expected = "expected a thousands separator before groups of three digits";
        return Err(ToolError::input(format!("{expected}, found {number:?}")));
    }
    Ok(NUMBER.replace_all(text, |number: &Captures<'_>| number[0].replace(',', "")).into_owned())
}

/// What has no bound in cost or could answer differently tomorrow.
static NOT_OFFERED: LazyLock<[(Regex, &str); 7]> = LazyLock::new(|| {
    [
        ("<<|>>", "shifts are not offered"),
        (r"=>|[:\\]", "functions cannot be defined"),
        ("//", "`//` is not offered, floor(a/b) is"),
        ("@", "dates and settings are not offered"),
        ("\"", "texts are not offered"),
        (r"\b(?:\d*d[\d_]+|roll|sample)\b", "chance is not offered"),
        (r"\b(?:date|today|now|tomorrow|yesterday)\b", "dates are not offered"),
    ]
    .map(|(pattern, what)| (regex(pattern), what))
});

fn refuse_unbounded(expression: &str) -> Result<(), ToolError> {
    let many = |wanted: &str| expression.chars().filter(|c| wanted.contains(*c)).count();
    let deep = format!("brackets are nested deeper than {MAX_DEPTH} levels");
    let not_offered = NOT_OFFERED.iter().find(|(pattern, _)| pattern.is_match(expression));
    let what = match (not_offered, depth(expression)) {
        (Some((_, what)), _) => what,
        (_, None) => "a bracket has no other half",
        (_, Some(depth)) if depth > MAX_DEPTH => deep.as_str(),
        _ if many("(") > MAX_BRACKETS => "there are too many brackets",
        _ if many("+-*/^%!&|~=;") > MAX_OPERATORS => "there are too many operators",
        _ => return Ok(()),
    };
    let shown = first_chars(expression, 80);
    Err(ToolError::input(format!("expected an arithmetic expression; {what}: {shown:?}")))
}

/// How deep the brackets are nested; `None` if one has no other half.
fn depth(expression: &str) -> Option<usize> {
    let (mut open, mut deepest) = (0_usize, 0);
    for c in expression.chars() {
        match c {
            '(' => open += 1,
            ')' => open = open.checked_sub(1)?,
            _ => {}
        }
        deepest = deepest.max(open);
    }
    (open == 0).then_some(deepest)
}

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
    let (answer, answered) = channel();
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
            Err(problem) => {
                let (problem, shown) = (first_chars(&problem, 300), first_chars(&expression, 80));
                Err(ToolError::input(format!("{problem}: {shown:?}")))
            }
        });
    };
    let internal = |problem| ToolError::new(ToolErrorKind::Internal, problem);
    let thread = thread::Builder::new().name("calc".into()).stack_size(STACK_BYTES).spawn(work);
    thread.map_err(|error| internal(format!("no thread for the calculation: {error}")))?;
    answered.recv_timeout(timeout + GRACE).unwrap_or_else(|error| match error {
        RecvTimeoutError::Timeout => Err(late(timeout)),
        RecvTimeoutError::Disconnected => {
            Err(internal("the arithmetic failed on this expression".to_owned()))
        }
    })
}

fn late(timeout: Duration) -> ToolError {
    ToolError::new(ToolErrorKind::Timeout, format!("no result within {} ms", timeout.as_millis()))
}
