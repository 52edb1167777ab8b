//! Arithmetic in a question: what is said in words becomes an expression, by `tables/arithmetic.toml`.
//!
//! Numbers that are not meant for it are left alone: dates, versions, phone numbers, names such as
//! `GPT-4`, and `24/7` or `10-15` unless nothing else is asked. An expression without a value is found too:
//! `calc` says why it has none.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use planwright::contract::first_chars;
use regex_lite::{Captures, Regex};
use serde::Deserialize;

use super::lexicon::{self, table};
use super::stem;
use super::terms::terms;
use super::text::is_hangul;

const MAX_EXPRESSIONS: usize = 3;
const MAX_QUESTION_CHARS: usize = 600;
const MAX_CHARS: usize = 300;

/// Stands where an expression stood. Not in the question: control characters are taken out before.
pub(super) const MARK: char = '\u{1}';

static CLAUSE_END: LazyLock<Regex> = LazyLock::new(|| regex(&TABLES.clause_end));
/// What cannot be worked out, with the key of what is said: what no document says either, and what one may say.
static DECLINED: LazyLock<[Vec<(Regex, &str)>; 2]> = LazyLock::new(|| {
    let read = |(pattern, key): &'static (String, String)| (regex(pattern), key.as_str());
    [&TABLES.beyond, &TABLES.declined].map(|list| list.iter().map(read).collect())
});

/// What `calc` can work out, in the question's order, and the question with a [`MARK`] in the place of each.
pub(super) fn find(question: &str) -> (Vec<String>, String) {
    let (question, behind) = question.split_at(first_chars(question, MAX_QUESTION_CHARS).len());
    let text = rewrite(question);
    let (mut expressions, mut rest, mut kept) = (Vec::new(), String::new(), 0);
    for run in find_runs(&text) {
        let fits = run.text.chars().count() <= MAX_CHARS
            && run.start >= kept
            && (run.certain || asks_for_value(&text, run.start, run.end));
        if fits && expressions.len() < MAX_EXPRESSIONS {
            rest.extend([&text[kept..run.start], " \u{1} "]);
            expressions.push(run.text);
            kept = run.end;
        }
    }
    rest.push_str(&text[kept..]);
    let rest = if expressions.is_empty() { question.to_owned() } else { without_cues(&rest) };
    (expressions, rest + behind)
}

/// Why a question asks for what arithmetic cannot do (dates, rates of exchange), as the key of what is said:
/// whatever the documents say, or unless they say it.
pub(super) fn declines(question: &str) -> [Option<&'static str>; 2] {
    let question = first_chars(question, MAX_QUESTION_CHARS);
    let why = |(asks, key): &(Regex, &'static str)| asks.is_match(question).then_some(*key);
    DECLINED.each_ref().map(|list| list.iter().find_map(why))
}

/// Whether the clause asks for the value of `start..end` and for nothing else, or says so.
fn asks_for_value(text: &str, start: usize, end: usize) -> bool {
    let before = CLAUSE_END.find_iter(&text[..start]).last().map_or(0, |found| found.end());
    let behind = CLAUSE_END.find(&text[end..]).map_or(text.len(), |found| end + found.start());
    let around = [&text[before..start], &text[end..behind]];
    let only_asks = |part: &&str| terms(part).iter().all(|term| table("measures").has(&term.text));
    around.iter().any(|part| CUE.is_match(part)) || around.iter().all(only_asks)
}

/// Takes the words that only asked for a value out of the clauses with an expression.
fn without_cues(text: &str) -> String {
    let mut from = 0;
    let bounds = CLAUSE_END.find_iter(text).map(|end| end.end()).chain([text.len()]);
    let clauses = bounds.map(|to| &text[std::mem::replace(&mut from, to)..to]);
    clauses
        .map(|clause| if clause.contains(MARK) { CUE.replace_all(clause, " ") } else { clause.into() })
        .collect()
}

/// A pattern with the placeholders of `arithmetic.toml`; upper and lower case are one.
fn regex(pattern: &str) -> Regex {
    lexicon::regex(&format!("(?i){pattern}"), &TABLES.placeholders)
}

#[derive(Deserialize)]
struct Tables {
    phrases: Vec<(String, String)>,
    beyond: Vec<(String, String)>,
    declined: Vec<(String, String)>,
    /// Words that ask for a value.
    cue: String,
    clause_end: String,
    /// Operands, with the signs between them and the unit of the result.
    run: String,
    behind: String,
    before: String,
    /// What looks like numbers to calculate with and is none: names, dates, phone numbers.
    look_alike: String,
    numbers: Vec<String>,
    placeholders: BTreeMap<String, String>,
    english_units: String,
    units: BTreeMap<String, String>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| lexicon::parse(include_str!("tables/arithmetic.toml")));

static REWRITES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    TABLES.phrases.iter().map(|(pattern, meaning)| (regex(pattern), meaning.as_str())).collect()
});

/// A pattern with `{k}` for a unit, Korean or not, and the names of either language.
fn unit_regex(pattern: &str) -> Regex {
    // The first that fits is taken: 킬로그램 goes before 킬로.
    let any_of = |mut names: Vec<&str>| {
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        names.join("|")
    };
    let english = any_of(TABLES.english_units.split_whitespace().collect());
    let korean = any_of(TABLES.units.keys().map(String::as_str).collect());
    let pattern = pattern.replace("{k}", "({korean_units}|[a-z]+)").replace("{units}", &english);
    regex(&pattern.replace("{korean_units}", &korean))
}

/// `5킬로미터는 몇 마일`, `5km를 마일로`, `30 celsius는 화씨로 몇 도`.
static CONVERT: LazyLock<Regex> = LazyLock::new(|| {
    unit_regex(r"{n} ?{k}(?:은|는|이|가|을|를|면)? ?(?:몇 ?{k}|{k}(?:으로|로)(?: ?몇 ?도)?|{k} ?몇 ?도)")
});
/// `3킬로미터 + 200미터`: a quantity beside a sign.
static QUANTITY: LazyLock<Regex> = LazyLock::new(|| unit_regex("{n} ?{k}"));
static NUMBER_WORD: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"\b({})\b", TABLES.numbers.join("|"))));
static CUE: LazyLock<Regex> = LazyLock::new(|| regex(&TABLES.cue));

fn rewrite(question: &str) -> String {
    let mut text = question.replace(['$', '€', '£', '₩'], "");
    // `plus two`; any other word stays (`one of the plans`).
    let signs = ["plus", "minus", "times", "divided by", "multiplied by", "percent"];
    text = replace_beside(&NUMBER_WORD, &text, &signs, |found| {
        let value = TABLES.numbers.iter().position(|word| found[0].eq_ignore_ascii_case(word));
        value.map(|value| value.to_string()).unwrap_or_default()
    });
    for (regex, meaning) in REWRITES.iter() {
        text = regex.replace_all(&text, *meaning).into_owned();
    }
    // What fend calls a unit.
    let unit = |name: &str| TABLES.units.get(name).map_or_else(|| name.to_owned(), String::clone);
    let convert = |found: &Captures<'_>| {
        let to = (3..6).find_map(|at| found.get(at)).map_or("", |to| to.as_str());
        format!("{} {} in {}", &found[1], unit(&found[2]), unit(to))
    };
    text = CONVERT.replace_all(&text, convert).into_owned();
    let signs = ["+", "-", "*", "/", "−", "÷"];
    replace_beside(&QUANTITY, &text, &signs, |found| format!("{} {}", &found[1], unit(&found[2])))
}

/// The text with what stands beside one of these signs replaced.
fn replace_beside(
    regex: &Regex,
    text: &str,
    signs: &[&str],
    replacement: impl Fn(&Captures<'_>) -> String,
) -> String {
    let replace = |found: &Captures<'_>| {
        let beside = found.get(0).is_some_and(|all| {
            let before = text[..all.start()].trim_end().to_lowercase();
            let behind = text[all.end()..].trim_start().to_lowercase();
            signs.iter().any(|sign| before.ends_with(sign) || behind.starts_with(sign))
        });
        if beside { replacement(found) } else { found[0].to_owned() }
    };
    regex.replace_all(text, replace).into_owned()
}

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

struct Run {
    /// As fend reads it.
    text: String,
    start: usize,
    end: usize,
    /// Whether it can only be arithmetic.
    certain: bool,
}

/// The runs of operands and operators in a text.
fn find_runs(text: &str) -> Vec<Run> {
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
