//! `replay`: checks that fixtures replay the same under the present rules. Nothing is asked of the
//! world, and no fixture is changed.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use similar::TextDiff;

use super::args::ReplayArgs;
use super::exit::Exit;
use super::failure::{Failure, Outcome};
use super::object::drift_json;
use super::style::{Color, Look, Style};
use super::{agent, out, text};
use planwright::driver::Stopped;
use planwright::journal::{self, Drift, Fixture, Frame};
use planwright::spec::CompiledSpec;

/// Most lines of a diff that are shown.
const MOST_LINES: usize = 60;

/// What came of one fixture.
enum Checked {
    Same,
    Drifted {
        drifts: Vec<Drift>,
        /// How the roles' instructions differ, as a unified diff.
        frames: String,
        notes: Vec<String>,
    },
    Unreadable(String),
}

pub fn replay(args: &ReplayArgs, color: Color) -> Outcome<Exit> {
    let style = Style::of(color, &std::io::stdout());
    let (mut same, mut drifted, mut unreadable) = (0, 0, 0);
    let mut files = Vec::new();
    for path in self::files(&args.paths)? {
        let (agent, checked) = check(&path, args);
        match &checked {
            Checked::Same => same += 1,
            Checked::Drifted { .. } => drifted += 1,
            Checked::Unreadable(_) => unreadable += 1,
        }
        match args.json {
            true => files.push(object(&path, agent, &checked)),
            false => out::print(&(lines(&path, &checked, style).join("\n") + "\n"))?,
        }
    }
    if args.json {
        out::print_json(&json!({"ok": same, "drift": drifted, "unreadable": unreadable, "files": files}))?;
    } else {
        let all = same + drifted + unreadable;
        let s = if all == 1 { "" } else { "s" };
        let drift = if drifted > 0 { format!(", {drifted} drift") } else { String::new() };
        let bad = if unreadable > 0 { format!(", {unreadable} unreadable") } else { String::new() };
        out::print(&format!("{all} fixture{s}: {same} ok{drift}{bad}\n"))?;
    }
    Ok(match (drifted, unreadable) {
        (0, 0) => Exit::Done,
        (_, 0) => Exit::Failed,
        _ => Exit::Unusable,
    })
}

/// The files that are meant; folders are searched for `.json` files.
pub fn files(paths: &[PathBuf]) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        if !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let before = found.len();
        search(path, &mut found)
            .map_err(|error| Failure::caused(format!("{}: cannot be searched", path.display()), error))?;
        if found.len() == before {
            return Err(Failure::unusable(format!(
                "{}: expected fixtures (*.json), found none",
                path.display()
            )));
        }
        found[before..].sort();
    }
    Ok(found)
}

fn search(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // Hidden ones are not meant; links to folders are not followed: they may lead in a circle.
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if entry.file_type()?.is_dir() {
            search(&entry.path(), found)?;
        } else if entry.path().extension().is_some_and(|ending| ending == "json") {
            found.push(entry.path());
        }
    }
    Ok(())
}

fn check(path: &Path, args: &ReplayArgs) -> (Option<String>, Checked) {
    let fixture = match Fixture::load(path) {
        Ok(fixture) => fixture,
        Err(error) => return (None, Checked::Unreadable(error.to_string())),
    };
    let agent =
        agent::for_fixture(&fixture, args.agent.as_deref(), args.as_recorded).and_then(agent::replaying);
    let agent = match agent {
        Ok(agent) => agent,
        Err(failure) => return (Some(fixture.spec.name), Checked::Unreadable(failure.error.to_string())),
    };
    let rules = agent.rules();
    let checked = match agent.replay(&fixture) {
        Ok(_) => Checked::Same,
        Err(Stopped::Drifted(drifts)) => {
            Checked::Drifted { drifts, frames: frames(&fixture, rules), notes: notes(&fixture, rules) }
        }
        Err(stopped) => Checked::Unreadable(format!("{}: {stopped}", path.display())),
    };
    (Some(rules.spec().name.clone()), checked)
}

/// What may explain a drift.
fn notes(fixture: &Fixture, rules: &CompiledSpec) -> Vec<String> {
    let mut notes = Vec::new();
    let settings = |spec: &planwright::spec::Spec| json!({"policy": spec.policy, "limits": spec.limits});
    let difference = journal::first_difference(&settings(&fixture.spec), &settings(rules.spec()));
    if let Some(difference) = difference {
        notes.push(format!(
            "recorded under another {}: {}, now {}; --as-recorded replays under the recorded spec",
            difference.path.trim_start_matches("$."),
            difference.recorded,
            difference.now
        ));
    }
    if let journal::Outcome::Interrupted(why) = &fixture.outcome {
        notes.push(format!("the recording is unfinished: {why}"));
    }
    notes
}

/// How the instructions and schemas of the recorded roles differ from the present ones.
fn frames(fixture: &Fixture, rules: &CompiledSpec) -> String {
    let mut diff = String::new();
    for (role, recorded) in &fixture.frames {
        let Some(now) = planwright::prompt::frame(rules, role).map(|frame| Frame::of(frame)) else {
            continue;
        };
        if *recorded == now {
            continue;
        }
        let (old, new) = (readable(recorded), readable(&now));
        let names = (format!("{role}, recorded"), format!("{role}, now"));
        let lines = TextDiff::from_lines(&old, &new);
        diff.push_str(&lines.unified_diff().context_radius(1).header(&names.0, &names.1).to_string());
    }
    diff
}

fn readable(frame: &Frame) -> String {
    let mut text = frame.system.join("\n") + "\n";
    let settings = json!({
        "model": frame.model, "temperature": frame.temperature, "max_tokens": frame.max_tokens,
        "schema": frame.schema,
    });
    text.push_str(&serde_json::to_string_pretty(&settings).unwrap_or_default());
    text + "\n"
}

fn lines(path: &Path, checked: &Checked, style: Style) -> Vec<String> {
    let path = text::line(&path.display().to_string());
    let (drifts, frames, notes) = match checked {
        Checked::Same => return vec![format!("{}  {path}", style.paint(Look::Good, "ok        "))],
        Checked::Unreadable(problem) => {
            let word = style.paint(Look::Bad, "unreadable");
            return vec![format!("{word}  {}", text::clean(problem).replace('\n', "\n    "))];
        }
        Checked::Drifted { drifts, frames, notes } => (drifts, frames, notes),
    };
    let mut lines = vec![format!("{}  {path}", style.paint(Look::Warn, "drift     "))];
    let said = drifts
        .iter()
        .flat_map(|drift| text::clean(&drift.to_string()).lines().map(str::to_owned).collect::<Vec<_>>());
    let diff: Vec<String> = text::clean(frames).lines().map(str::to_owned).collect();
    let more = diff.len().saturating_sub(MOST_LINES);
    let rest = (more > 0).then(|| format!("… {more} more lines"));
    let all = said.chain(diff.into_iter().take(MOST_LINES)).chain(rest);
    lines.extend(all.map(|line| format!("    {}", paint(&line, style))));
    lines.extend(notes.iter().map(|note| format!("    note: {}", text::line(note))));
    lines
}

fn paint(line: &str, style: Style) -> String {
    match line.trim_start().chars().next() {
        Some('-') => style.paint(Look::Bad, line),
        Some('+') => style.paint(Look::Good, line),
        _ => line.to_owned(),
    }
}

fn object(path: &Path, agent: Option<String>, checked: &Checked) -> Value {
    let mut object = json!({
        "file": path.display().to_string(), "status": "ok", "agent": agent,
        "drift": [], "frames": "", "notes": [], "problem": null,
    });
    match checked {
        Checked::Same => {}
        Checked::Unreadable(problem) => {
            object["status"] = json!("unreadable");
            object["problem"] = json!(problem);
        }
        Checked::Drifted { drifts, frames, notes } => {
            object["status"] = json!("drift");
            object["drift"] = drifts.iter().map(drift_json).collect();
            object["frames"] = json!(frames);
            object["notes"] = json!(notes);
        }
    }
    object
}
