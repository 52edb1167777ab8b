//! How two texts differ, for people.

use std::collections::BTreeSet;

use planwright::contract::{excerpt, sanitize};

/// Most lines of a difference.
const MAX_LINES: usize = 60;
/// Most characters of one of its lines.
const MAX_CHARS: usize = 400;

/// The lines that only one of two texts has, those of the first behind `-` and those of the second behind `+`.
/// Characters that do not show are written as their numbers. If the texts differ and no line does, one line says so.
pub fn diff_lines(before: &str, after: &str) -> Vec<String> {
    let is_same = before == after;
    let lines = |text: &str| sanitize(text).lines().map(str::to_owned).collect::<Vec<_>>();
    let (before, after) = (lines(before), lines(after));
    let only = |sign: char, these: &[String], others: &[String]| {
        let others: BTreeSet<&String> = others.iter().collect();
        let mine = these.iter().filter(|line| !others.contains(line));
        mine.map(|line| format!("{sign} {}", excerpt(line, MAX_CHARS))).collect::<Vec<_>>()
    };
    let mut diff = only('-', &before, &after);
    diff.extend(only('+', &after, &before));
    if diff.is_empty() && !is_same {
        diff.push(
            "the same lines, but for their order, their number or characters that do not show".to_owned(),
        );
    }
    if diff.len() > MAX_LINES {
        let left_out = diff.len() - MAX_LINES;
        diff.truncate(MAX_LINES);
        diff.push(format!("… {left_out} lines more"));
    }
    diff
}
