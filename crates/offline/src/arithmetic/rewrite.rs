//! Spoken calculations, English and Korean, rewritten as expressions by `tables/arithmetic.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex_lite::{Captures, Regex};
use serde::Deserialize;

use super::super::lexicon;

/// A pattern with the placeholders of `arithmetic.toml`; case says nothing.
pub(super) fn regex(pattern: &str) -> Regex {
    lexicon::regex(&format!("(?i){pattern}"), &TABLES.placeholders)
}

#[derive(Deserialize)]
pub(super) struct Tables {
    phrases: Vec<(String, String)>,
    pub beyond: Vec<(String, String)>,
    pub declined: Vec<(String, String)>,
    /// Words that ask for a value.
    pub cue: String,
    pub clause_end: String,
    /// Operands, with the signs between them and the unit of the result.
    pub run: String,
    pub behind: String,
    pub before: String,
    /// What looks like numbers to calculate with and is none: names, dates, phone numbers.
    pub look_alike: String,
    numbers: Vec<String>,
    placeholders: BTreeMap<String, String>,
    english_units: String,
    units: BTreeMap<String, String>,
}

pub(super) static TABLES: LazyLock<Tables> =
    LazyLock::new(|| lexicon::parse(include_str!("../tables/arithmetic.toml")));

static REWRITES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    TABLES.phrases.iter().map(|(pattern, meaning)| (regex(pattern), meaning.as_str())).collect()
});

/// A pattern for one of these names. The first that fits is taken: 킬로그램 goes before 킬로.
fn any_of<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut names: Vec<&str> = names.collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.join("|")
}

/// A pattern with `{k}` for a unit, Korean or not, and the names of either language.
pub(super) fn unit_regex(pattern: &str) -> Regex {
    let (english, korean) =
        (TABLES.english_units.split_whitespace(), TABLES.units.keys().map(String::as_str));
    let pattern = pattern.replace("{k}", "({korean_units}|[a-z]+)").replace("{units}", &any_of(english));
    regex(&pattern.replace("{korean_units}", &any_of(korean)))
}

/// `5킬로미터는 몇 마일`, `5km를 마일로`, `30 celsius는 화씨로 몇 도`.
static CONVERT: LazyLock<Regex> = LazyLock::new(|| {
    unit_regex(r"{n} ?{k}(?:은|는|이|가|을|를|면)? ?(?:몇 ?{k}|{k}(?:으로|로)(?: ?몇 ?도)?|{k} ?몇 ?도)")
});
/// `3킬로미터 + 200미터`: a quantity beside a sign.
static QUANTITY: LazyLock<Regex> = LazyLock::new(|| unit_regex("{n} ?{k}"));
static NUMBER_WORD: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"\b({})\b", TABLES.numbers.join("|"))));
pub(super) static CUE: LazyLock<Regex> = LazyLock::new(|| regex(&TABLES.cue));

pub(super) fn rewrite(question: &str) -> String {
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
