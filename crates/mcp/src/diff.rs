//! How two texts differ, for people.

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, UnifiedDiffConfig};
use planwright::contract::{excerpt, sanitize};

/// Most lines of a difference.
const MAX_LINES: usize = 60;
/// Most characters of one of its lines.
const MAX_CHARS: usize = 400;

/// The lines that two texts do not share, those of the first behind `-` and those of the second behind `+`. Characters
/// that do not show are written as their numbers. If the texts differ and no line does, one line says so.
pub fn diff_lines(before: &str, after: &str) -> Vec<String> {
    let shown = [before, after].map(|text| sanitize(text).into_owned() + "\n");
    let lines = InternedInput::new(shown[0].as_str(), shown[1].as_str());
    let printer = BasicLineDiffPrinter(&lines.interner);
    let mut config = UnifiedDiffConfig::default();
    config.context_len(0);
    let changes = Diff::compute(Algorithm::Myers, &lines).unified_diff(&printer, config, &lines).to_string();
    let changes = changes.lines().filter(|line| line.starts_with(['-', '+']));
    let mut diff: Vec<String> =
        changes.map(|line| format!("{} {}", &line[..1], excerpt(&line[1..], MAX_CHARS))).collect();
    if diff.is_empty() && before != after {
        diff.push("the same lines, but for characters that do not show".to_owned());
    }
    if diff.len() > MAX_LINES {
        let left_out = diff.len() - MAX_LINES;
        diff.truncate(MAX_LINES);
        diff.push(format!("… {left_out} lines more"));
    }
    diff
}
