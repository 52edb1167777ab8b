//! Runs of numbers, operators and units. Which words are units is for fend to say.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use regex_lite::{Captures, Regex};

use super::super::lexicon::table;
use super::super::stem;
use super::super::text::is_hangul;
use super::rewrite::{CUE, regex};

const MAX_BRACKETS: usize = 4;
/// How often fend may look up from its work on one expression.
const BUDGET: u32 = 20_000;

static OPERAND: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^(?:{n}(e[-+]?\d+)?|((?:sqrt|cbrt|sin|cos|tan|ln|log10|abs)\()|(pi\b|π)|(\()|-)")
});
static OPERATOR: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(?:(\*\*|[-+*/^×÷−–⋅x])|%( of\b)?|(!)|(\))|(?:in|to|into|as) ([a-z]+(?:/[a-z]+)?(?:\^\d)?|%)|{u})",
    )
});
/// What looks like numbers to calculate with and is none: names, dates, phone numbers.
static LOOK_ALIKE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"[a-z_](?:\+\+|-)?\d[\w.-]*|[#§@№_~]\d+|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,4}-\d{3,4}-\d{4}|\d{3,4}-\d{4}|\b0\d+",
    )
});

pub(super) struct Run {
    pub text: String,
    pub end: usize,
    /// Whether it can only be arithmetic: `10-3` and `24/7` may be something else.
    pub certain: bool,
}

/// The places of a text that look like numbers and are none.
pub(super) fn look_alikes(text: &str) -> Vec<(usize, usize)> {
    // `3x4`
    let times =
        |at: usize| text[at..].starts_with(['x', 'X']) && text[..at].ends_with(|c: char| c.is_ascii_digit());
    let found = LOOK_ALIKE.find_iter(text).map(|found| (found.start(), found.end()));
    found.filter(|(from, _)| !times(*from)).collect()
}

/// The longest run of operands and operators from `start` on.
pub(super) fn read_run(text: &str, start: usize, look_alikes: &[(usize, usize)]) -> Option<Run> {
    // The right half of something that was not read as a whole (`x + 5 * 3`) is no expression.
    if text[..start].trim_end().ends_with(['+', '-', '*', '/', '^', '%', '−', '÷', '.']) {
        return None;
    }
    let mut reader = Reader { text, look_alikes, at: start, wants: true, ..Reader::default() };
    while reader.step() {
        if !reader.wants && reader.operators > 0 {
            reader.last = Some((reader.out.len(), reader.at));
        }
    }
    let (len, end) = reader.last?;
    let signs = text[end..reader.at].trim();
    // `3*4+x` goes on with something that is no number.
    if !signs.is_empty() && text[reader.at..].starts_with(char::is_alphabetic) {
        return None;
    }
    reader.out.truncate(len);
    let whole = reader.depth == 0 || reader.certain && !reader.out.starts_with('(');
    whole.then_some(Run { text: reader.out, end, certain: reader.certain })
}

#[derive(Default)]
struct Reader<'a> {
    text: &'a str,
    look_alikes: &'a [(usize, usize)],
    at: usize,
    out: String,
    wants: bool,
    depth: usize,
    operators: usize,
    certain: bool,
    first_sign: Option<&'a str>,
    /// How much was read and written up to the last operand.
    last: Option<(usize, usize)>,
}

impl<'a> Reader<'a> {
    /// Takes the next operand or operator, or says that the run ends before it.
    fn step(&mut self) -> bool {
        let body = self.text[self.at..].trim_start_matches(' ');
        let here = self.text.len() - body.len();
        let spaced = here > self.at && !self.out.is_empty() && !self.out.ends_with(['(', ' ']);
        let Some(found) = (if self.wants { &OPERAND } else { &OPERATOR }).captures(body) else {
            return false;
        };
        let end = here + found[0].len();
        let taken =
            if self.wants { self.operand(&found, here, spaced) } else { self.operator(&found, end, spaced) };
        taken.map(|()| self.at = end).is_some()
    }

    fn put(&mut self, text: &str, spaced: bool) {
        self.out.extend([if spaced { " " } else { "" }, text]);
    }

    fn operand(&mut self, found: &Captures<'a>, here: usize, spaced: bool) -> Option<()> {
        let [number, exponent, function, pi, bracket] =
            [1, 2, 3, 4, 5].map(|at| found.get(at).map(|group| group.as_str()));
        if let Some(number) = number {
            let masked = self.look_alikes.iter().any(|(from, to)| (*from..*to).contains(&here));
            if masked || goes_on(&self.text[here + found[0].len()..]) {
                return None;
            }
            self.put(&(number.replace(',', "") + exponent.unwrap_or_default()), spaced);
        } else {
            self.put(if pi.is_some() { "pi" } else { &found[0] }, spaced);
        }
        self.certain |= function.is_some();
        self.operators += usize::from(function.is_some());
        self.depth += usize::from(function.or(bracket).is_some());
        self.wants = number.or(pi).is_none();
        Some(())
    }

    fn operator(&mut self, found: &Captures<'a>, end: usize, spaced: bool) -> Option<()> {
        let [sign, of, factorial, closing, to, unit] =
            [1, 2, 3, 4, 5, 6].map(|at| found.get(at).map(|group| group.as_str()));
        let behind = &self.text[end..];
        let digit_follows = behind.trim_start().starts_with(|c: char| c.is_ascii_digit());
        if let Some(sign) = sign {
            let shown = match sign {
                "**" => "^",
                "x" | "X" if !digit_follows => return None,
                "×" | "⋅" | "x" | "X" => "*",
                "÷" => "/",
                "−" | "–" => "-",
                sign => sign,
            };
            // `18+ 20` is no sum, `2x4` may be a size.
            let even = spaced == behind.starts_with(' ');
            self.certain |= even && ["+", "*", "^", "×", "÷", "−", "⋅", "**"].contains(&sign);
            self.certain |= self.first_sign.is_some_and(|first| first != shown);
            self.first_sign = self.first_sign.or(Some(shown));
            self.put(shown, spaced);
            (self.wants, self.operators) = (true, self.operators + 1);
        } else if let Some(to) = to.filter(|to| is_unit(to)) {
            self.put(&format!("in {to}"), true);
            (self.certain, self.operators) = (true, self.operators + 1);
        } else if let Some(unit) = unit.filter(|unit| is_unit(unit)) {
            if !self.out.ends_with(|c: char| c.is_ascii_digit()) {
                return None;
            }
            // `5 ft 11 inches`
            self.put(&format!("{unit}{}", if digit_follows { " +" } else { "" }), true);
            self.wants = digit_follows;
        } else if to.or(unit).is_some() {
            return None;
        } else if closing.is_some() {
            self.depth = self.depth.checked_sub(1)?;
            self.put(")", false);
        } else {
            self.put(&found[0], false);
            self.wants = of.is_some();
            self.certain |= self.wants;
            self.operators += usize::from(self.wants || factorial.is_some());
        }
        Some(())
    }
}

/// Whether a number goes on behind its digits with what makes it something else: a version, a time,
/// `3D`, `2nd`, 3장.
fn goes_on(behind: &str) -> bool {
    let Some(first) = behind.chars().next() else { return false };
    let digit = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    if matches!(first, '.' | ',' | ':' | '_') {
        return digit(&behind[1..]);
    }
    if is_hangul(first) {
        let word = behind.split(|c| !is_hangul(c)).next().unwrap_or_default();
        return !stem::is_ending(word) && !CUE.is_match(word);
    }
    let word = behind.split(|c: char| !c.is_ascii_alphanumeric() && c != '/').next().unwrap_or_default();
    let word = word.split_once('/').filter(|_| !is_unit(word)).map_or(word, |(unit, _)| unit);
    let times = word.strip_prefix(['x', 'X']).is_some_and(digit);
    !word.is_empty() && !times && !is_unit(word)
}

/// Whether fend knows a word as a unit, and nothing else in English means more by it.
fn is_unit(word: &str) -> bool {
    let letter = word.len() == 1;
    let other = letter && !"mgslLhB".contains(word) || !letter && table("stop").has(&word.to_lowercase());
    word == "%" || !other && evaluates(&format!("1 {word}"))
}

struct Budget(AtomicU32);

impl fend_core::Interrupt for Budget {
    fn should_interrupt(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) >= BUDGET
    }
}

/// Whether an expression has a value that is soon found.
pub(super) fn evaluates(expression: &str) -> bool {
    let budget = Budget(AtomicU32::new(0));
    expression.matches('(').count() <= MAX_BRACKETS
        && fend_core::evaluate_with_interrupt(expression, &mut fend_core::Context::new(), &budget).is_ok()
}
