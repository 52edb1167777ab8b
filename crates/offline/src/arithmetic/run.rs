//! Runs of numbers, operators and units: one pattern, and what speaks against a match.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::super::stem;
use super::super::text::is_hangul;
use super::rewrite::{CUE, TABLES, regex, unit_regex};

const SIGNS: &str = "+-*/^×÷−–⋅∔xX";
/// Signs that may be no arithmetic: `10-15`, `24/7`, `2x4`, and the one between `3 hours 20 minutes`.
const DOUBTFUL: &str = "-/–∔xX";

static RUN: LazyLock<Regex> = LazyLock::new(|| unit_regex(&TABLES.run));
static GLUED_UNIT: LazyLock<Regex> = LazyLock::new(|| regex(r"(\d)([a-df-z]|e[a-z])"));
/// An `x` between numbers, and not that of `hex`.
static TIMES: LazyLock<Regex> = LazyLock::new(|| regex("(^|[^a-z])x"));
static CONVERTS: LazyLock<Regex> = LazyLock::new(|| regex(" (?:to|into|as) "));
/// A function or a conversion is always arithmetic.
static CERTAIN: LazyLock<Regex> = LazyLock::new(|| regex(r"[a-z0-9]\(| (?:in|to|into|as) "));
static BEHIND: LazyLock<Regex> = LazyLock::new(|| unit_regex(&TABLES.behind));
static BEFORE: LazyLock<Regex> = LazyLock::new(|| unit_regex(&TABLES.before));
static LOOK_ALIKE: LazyLock<Regex> = LazyLock::new(|| regex(&TABLES.look_alike));

pub(super) struct Run {
    /// As fend reads it.
    pub text: String,
    pub start: usize,
    pub end: usize,
    /// Whether it can only be arithmetic.
    pub certain: bool,
}

/// The runs of operands and operators in a text.
pub(super) fn find_runs(text: &str) -> Vec<Run> {
    // What only looks like a number is blanked out, its bytes kept.
    let mut masked = text.to_owned();
    for found in LOOK_ALIKE.find_iter(text) {
        let (before, text) = text.split_at(found.start());
        let times = text.starts_with(['x', 'X']) && before.ends_with(|c: char| c.is_ascii_digit());
        if !(times || before.ends_with("lo") && text.starts_with("g10(")) {
            masked.replace_range(found.range(), &"\u{2}".repeat(found.len()));
        }
    }
    RUN.find_iter(&masked).filter_map(|found| to_run(text, found.start(), found.end())).collect()
}

fn to_run(text: &str, mut start: usize, mut end: usize) -> Option<Run> {
    let lean = |text: &str| text.matches('(').count().cmp(&text.matches(')').count());
    let (outside, inside) = (format!("{}{}", &text[..start], &text[end..]), lean(&text[start..end]));
    // `(see 3 + 4)`: the other half of a bracket is outside.
    if inside.is_gt() && outside.contains(')') {
        start += text[start..end].len() - text[start..end].trim_start_matches('(').len();
    } else if inside.is_lt() && outside.contains('(') {
        end = start + text[start..end].trim_end_matches(')').len();
    }
    // A part is never the answer to the whole.
    start = BEFORE.find(&text[..start]).map_or(start, |found| found.start());
    end += BEHIND.find(&text[end..]).map_or(0, |found| found.end());
    let (before, behind) = (&text[..start], &text[end..]);
    let cut_off = before.ends_with(|c: char| c.is_ascii_alphanumeric() || ".,:_".contains(c));
    // The half of something that was not read as a whole (`x + 5 * 3`, `3*4+x`) is no expression.
    let right_half = before.trim_end().ends_with(|c| SIGNS.contains(c) && !"xX".contains(c) || c == '%');
    let goes = behind.trim_start().strip_prefix(|c| SIGNS.contains(c));
    let left_half = goes.is_some_and(|rest| rest.trim_start().starts_with(char::is_alphabetic));
    if cut_off || right_half || left_half || goes_on(behind) {
        return None;
    }
    let run = &text[start..end];
    let signs: Vec<char> = run.chars().filter(|c| SIGNS.contains(*c)).collect();
    let plain = run.replace("**", "^").replace(['×', '⋅'], "*").replace(['−', '–'], "-");
    let plain = TIMES.replace_all(&plain, "$1*");
    let plain = plain.replace('÷', "/").replace('∔', "+").replace('π', "pi").replace(',', "");
    // `5km`, but not `1e9`.
    let out = GLUED_UNIT.replace_all(&plain, "$1 $2");
    let sure =
        signs.iter().any(|sign| !DOUBTFUL.contains(*sign)) || signs.windows(2).any(|pair| pair[0] != pair[1]);
    let certain = sure || out.contains("% of ") || CERTAIN.is_match(&out);
    let any = certain || !signs.is_empty() || out.contains('!');
    let text = CONVERTS.replace_all(&out, " in ").into_owned();
    (any && (!out.contains(" of ") || out.contains("% of "))).then_some(Run { text, start, end, certain })
}

/// Whether a number goes on with what makes it something else: a version, a time, `2nd`, 3장.
fn goes_on(behind: &str) -> bool {
    let Some(first) = behind.chars().next() else { return false };
    match first {
        '.' | ',' | ':' | '_' => behind[1..].starts_with(|c: char| c.is_ascii_digit()),
        c if is_hangul(c) => {
            let word = behind.split(|c| !is_hangul(c)).next().unwrap_or_default();
            !stem::is_ending(word) && !CUE.is_match(word)
        }
        c => c.is_ascii_alphanumeric(),
    }
}
