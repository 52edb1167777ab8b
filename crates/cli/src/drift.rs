//! Drift: how a replay differs from its fixture, for people.

use serde_json::json;

use crate::out::{Look, Style};
use crate::text;
use planwright::journal::{Drift, Fixture, Frame, first_difference};
use planwright::prompt;
use planwright::spec::{CompiledSpec, Spec};
use planwright_app::diff_text;

/// Most lines of a diff that are shown.
const MOST_LINES: usize = 60;

/// What may explain a drift.
pub fn explain_drift(fixture: &Fixture, compiled: &CompiledSpec) -> Vec<String> {
    let settings = |spec: &Spec| json!({"policy": spec.policy, "limits": spec.limits});
    let mut notes = Vec::new();
    if let Some(difference) = first_difference(&settings(&fixture.spec), &settings(compiled.spec())) {
        let path = difference.path.trim_start_matches("$.");
        let change = format!("{path}: {}, now {}", difference.recorded, difference.now);
        notes.push(format!("recorded under another {change}; --as-recorded replays under the recorded spec"));
    }
    notes
}

/// How the instructions and schemas of the recorded roles differ from the present ones.
pub fn diff_frames(fixture: &Fixture, compiled: &CompiledSpec) -> String {
    let frame_text = |frame: &Frame| {
        let settings = json!({
            "model": frame.model, "temperature": frame.temperature, "max_tokens": frame.max_tokens,
            "schema": frame.schema,
        });
        format!("{}\n{settings:#}", frame.system.join("\n"))
    };
    let mut diff = String::new();
    for (role, recorded) in &fixture.frames {
        let now = prompt::role_frame(compiled, role).map(|frame| Frame::of(frame));
        let Some(now) = now.filter(|now| now != recorded) else { continue };
        let (old, new) = (frame_text(recorded), frame_text(&now));
        let hunks = diff_text(&old, &new, 1);
        diff.push_str(&format!("--- {role}, recorded\n+++ {role}, now\n{hunks}"));
    }
    diff
}

/// Drifts and the diff of the frames for people.
pub fn drift_lines(drifts: &[Drift], frames: &str, style: Style) -> Vec<String> {
    let told: Vec<String> = drifts.iter().map(|drift| text::clean(&drift.to_string())).collect();
    let diff = text::clean(frames);
    let more = diff.lines().count().saturating_sub(MOST_LINES);
    let rest = (more > 0).then(|| format!("… {more} more lines"));
    let lines = told.iter().flat_map(|told| told.lines()).chain(diff.lines().take(MOST_LINES));
    let paint = |line: &str| match line.trim_start().chars().next() {
        Some('-') => style.paint(Look::Bad, line),
        Some('+') => style.paint(Look::Good, line),
        _ => line.to_owned(),
    };
    lines.chain(rest.as_deref()).map(|line| format!("    {}", paint(line))).collect()
}
