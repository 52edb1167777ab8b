//! What is found in a text: every e-mail address, URL, number and so on, by fixed rules.

use std::collections::BTreeSet;

use serde_json::Value;

use super::dates::{Time, parse_day};
use super::decimal::Decimal;
use crate::contract::trust::FieldType;

/// Signs of currencies, before or behind a number.
const CURRENCIES: [char; 6] = ['$', '€', '£', '¥', '₩', '₹'];
/// Longest id, in characters.
const MAX_ID: usize = 200;

/// Everything of a type in a text, in order. Two that are written alike but for case are one. What looks like a
/// number and can be read in two ways is returned as `None`.
pub(super) fn find_all(kind: FieldType, text: &str) -> Option<Vec<Value>> {
    let mut found = match kind {
        FieldType::Text | FieldType::Id => vec![Value::from(text)],
        FieldType::Email => texts(find_emails(text)),
        FieldType::Url => texts(find_urls(text)),
        FieldType::Iban => find_ibans(text).into_iter().map(Value::from).collect(),
        FieldType::Date => texts(find_dates(text)),
        FieldType::Number => find_numbers(text, false)?,
        FieldType::Amount => find_numbers(text, true)?,
    };
    let mut seen = BTreeSet::new();
    found.retain(|value| seen.insert(value.to_string().to_lowercase()));
    Some(found)
}

/// Whether a value as a whole is of a type.
pub(super) fn is_of(kind: FieldType, value: &Value) -> bool {
    let whole =
        |text: &str| find_all(kind, text).is_some_and(|found| matches!(&found[..], [one] if *one == text));
    match (kind, value) {
        (FieldType::Text, _) => true,
        (_, Value::Null) => true,
        (FieldType::Number | FieldType::Amount, value) => Decimal::of(value).is_some(),
        (FieldType::Id, Value::Number(number)) => number.is_i64() || number.is_u64(),
        (FieldType::Id, Value::String(id)) => {
            !id.is_empty() && id.chars().count() <= MAX_ID && !id.chars().any(char::is_whitespace)
        }
        (FieldType::Date, Value::String(text)) => Time::parse(text).is_some(),
        (_, Value::String(text)) => whole(text),
        _ => false,
    }
}

fn texts<'a>(found: impl Iterator<Item = &'a str>) -> Vec<Value> {
    found.map(Value::from).collect()
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '%' | '+' | '-')
}

fn find_emails(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('@').filter_map(|(at, _)| {
        let before = text[..at].rfind(|c| !is_of_name(c));
        let begin = before.map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
        let host = &text[at + 1..];
        let host =
            &host[..host.find(|c: char| !c.is_alphanumeric() && c != '.' && c != '-').unwrap_or(host.len())];
        let host = host.trim_end_matches(['.', '-']);
        let top = host.rsplit_once('.').map(|(_, top)| top);
        let is_host = top.is_some_and(|top| top.len() > 1) && !host.contains("..");
        let name = text[begin..at].trim_start_matches('.');
        (is_host && !name.is_empty()).then(|| &text[at - name.len()..at + 1 + host.len()])
    })
}

fn find_urls(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`' | '|' | '\\'));
    words.filter_map(|word| {
        let begins = |at: usize| {
            ["https://", "http://", "www."].iter().any(|scheme| {
                word.as_bytes()
                    .get(at..at + scheme.len())
                    .is_some_and(|found| found.eq_ignore_ascii_case(scheme.as_bytes()))
            })
        };
        let begin = word.char_indices().map(|(at, _)| at).find(|at| begins(*at))?;
        let mut url = &word[begin..];
        // A bracket that was opened before the address closes behind it.
        let mut surplus = url.matches(')').count().saturating_sub(url.matches('(').count());
        loop {
            let closes = surplus > 0 && url.ends_with(')');
            surplus -= usize::from(closes);
            if !closes && !url.ends_with(['.', ',', ';', ':', '!', '?', '\'', ']', '}', '*']) {
                break;
            }
            url = &url[..url.len() - 1];
        }
        (url.len() > "www.".len() && url.contains('.')).then_some(url)
    })
}

fn find_ibans(text: &str) -> Vec<String> {
    let (mut found, mut end) = (Vec::new(), 0);
    for (at, _) in text.match_indices(|c: char| c.is_ascii_uppercase()) {
        if at < end || text[..at].ends_with(char::is_alphanumeric) {
            continue;
        }
        if let Some((iban, length)) = read_iban(&text[at..]) {
            found.push(iban);
            end = at + length;
        }
    }
    found
}

/// The longest account number with which a text begins, and how many bytes of it that is.
fn read_iban(text: &str) -> Option<(String, usize)> {
    let (mut compact, mut longest) = (String::new(), None);
    for (at, c) in text.char_indices() {
        match c {
            'A'..='Z' | '0'..='9' => compact.push(c),
            ' ' if compact.len() % 4 == 0 => continue,
            _ => break,
        }
        let ends = text[at + 1..].chars().next().is_none_or(|next| !next.is_alphanumeric());
        match compact.len() {
            15..=34 if ends && has_check_digits(&compact) => longest = Some((compact.clone(), at + 1)),
            35.. => break,
            _ => {}
        }
    }
    longest
}

fn has_check_digits(iban: &str) -> bool {
    let (head, tail) = iban.split_at(4);
    let (country, check) = head.split_at(2);
    if !country.bytes().all(|byte| byte.is_ascii_uppercase())
        || !check.bytes().all(|byte| byte.is_ascii_digit())
    {
        return false;
    }
    let rest = tail.chars().chain(head.chars()).fold(0_u32, |rest, c| match c.to_digit(36) {
        Some(digit) if digit < 10 => (rest * 10 + digit) % 97,
        Some(digit) => (rest * 100 + digit) % 97,
        None => rest,
    });
    rest == 1
}

fn find_dates(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '-' && c != ':');
    words.filter_map(|word| {
        let date = word.get(..10)?;
        let rest = &word[10..];
        (parse_day(date).is_some() && (rest.is_empty() || rest.starts_with('T'))).then_some(date)
    })
}

/// The numbers of a text, or those beside a currency. `None` where one can be read in two ways.
fn find_numbers(text: &str, with_currency: bool) -> Option<Vec<Value>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_code = |word: Option<&&str>| {
        word.is_some_and(|word| {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric());
            word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_uppercase())
        })
    };
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let word = word
            .trim_matches(['(', ')', '[', ']', '"', '\'', '!', '?', ';', ':', '*'])
            .trim_end_matches(['.', ',']);
        let bare = word.trim_matches(CURRENCIES).trim_end_matches('%');
        let (sign, digits) =
            bare.strip_prefix('-').map_or(("", bare), |digits| ("-", digits.trim_start_matches(CURRENCIES)));
        let signs = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
        if !digits.starts_with(|c: char| c.is_ascii_digit()) || !digits.chars().all(signs) {
            continue;
        }
        let beside = || is_code(words.get(at + 1)) || (at > 0 && is_code(words.get(at - 1)));
        if with_currency && !word.contains(CURRENCIES) && !beside() {
            continue;
        }
        found.push(read_number(sign, digits)?.to_value()?);
    }
    Some(found)
}

/// `1,234.50`: commas stand between thousands only.
fn read_number(sign: &str, digits: &str) -> Option<Decimal> {
    let (whole, part) = digits.split_once('.').map_or((digits, None), |(whole, part)| (whole, Some(part)));
    let groups: Vec<&str> = whole.split(',').collect();
    let fits = groups.len() == 1
        || ((1..=3).contains(&groups[0].len()) && groups[1..].iter().all(|one| one.len() == 3));
    let part = part.map_or(String::new(), |part| format!(".{part}"));
    if fits { Decimal::parse(&format!("{sign}{}{part}", groups.concat())) } else { None }
}
