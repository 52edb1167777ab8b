//! `replay`: checks that fixtures, or stored turns, replay the same under the present rules. Nothing is asked of the
//! world, and no fixture is changed.

use std::path::{Path, PathBuf};

use clap::ColorChoice;
use serde_json::{Value, json};
use similar::TextDiff;

use crate::args::ReplayArgs;
use crate::exit::Exit;
use crate::stored::{Checked, Verdict, check_turns};
use crate::style::{Look, Style};
use crate::{out, text};
use planwright::driver::Stopped;
use planwright::journal::{self, Drift, Fixture, Frame};
use planwright::prompt;
use planwright::spec::{CompiledSpec, Spec};
use planwright_app::{Class, DriftJson, Error, Result, load_spec, replaying_agent, spec_for_fixture};

/// Most lines of a diff that are shown.
const MOST_LINES: usize = 60;

pub fn replay(args: &ReplayArgs, color: ColorChoice) -> Result<Exit> {
    let style = Style::of(color, &std::io::stdout());
    let (mut counts, mut listed) = ([0; 3], Vec::new());
    let mut take = |checked: Checked| -> Result<()> {
        counts[checked.verdict as usize] += 1;
        match args.json {
            true if checked.json.is_null() => Ok(()),
            true => {
                listed.push(checked.json);
                Ok(())
            }
            false if checked.lines.is_empty() => Ok(()),
            false => out::print_lines(&checked.lines),
        }
    };
    if args.all_stored {
        let under = args.agent.as_deref().map(load_spec).transpose()?;
        let threads = args.store.place(&args.config)?.threads()?;
        check_turns(&threads, under.as_ref(), style)?.into_iter().try_for_each(&mut take)?;
    } else {
        for path in find_fixtures(&args.paths)? {
            take(check_fixture(&path, args, style))?;
        }
    }
    let [same, different, unreadable] = counts;
    let (differ, list) = if args.all_stored { ("diverge", "turns") } else { ("drift", "files") };
    if args.json {
        out::print_json(&json!({"ok": same, differ: different, "unreadable": unreadable, list: listed}))?;
    } else {
        let all = same + different + unreadable;
        let s = if all == 1 { "" } else { "s" };
        let bad = if unreadable > 0 { format!(", {unreadable} unreadable") } else { String::new() };
        let drift = if different > 0 { format!(", {different} drift") } else { String::new() };
        out::print_lines(&[match args.all_stored {
            true => format!("{all} stored turn{s}: {same} the same, {different} on another path{bad}"),
            false => format!("{all} fixture{s}: {same} ok{drift}{bad}"),
        }])?;
    }
    Ok(match (different, unreadable) {
        (0, 0) => Exit::Done,
        (_, 0) => Exit::Of(Class::Failed),
        _ => Exit::Of(Class::Unusable),
    })
}

/// The fixtures of these paths; folders are searched for `.json` files.
pub fn find_fixtures(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        if !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let before = found.len();
        search(path, &mut found)
            .map_err(|error| Error::caused(format!("{}: cannot be searched", path.display()), error))?;
        if found.len() == before {
            return Err(Error::unusable(format!(
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

fn check_fixture(path: &Path, args: &ReplayArgs, style: Style) -> Checked {
    let fixture = match Fixture::load(path) {
        Ok(fixture) => fixture,
        Err(error) => return unreadable(path, None, &error.to_string(), style),
    };
    let spec = spec_for_fixture(&fixture, args.agent.as_deref(), args.as_recorded);
    let agent = match spec.and_then(replaying_agent) {
        Ok(agent) => agent,
        Err(error) => return unreadable(path, Some(&fixture.spec.name), error.message(), style),
    };
    let (rules, name) = (agent.rules(), &agent.rules().spec().name);
    match agent.replay(&fixture) {
        Ok(_) => Checked {
            verdict: Verdict::Same,
            lines: vec![format!("{}  {}", style.paint(Look::Good, "ok        "), shown_path(path))],
            json: object(path, Some(name), "ok"),
        },
        Err(Stopped::Drifted(drifts)) => {
            let (frames, notes) = (frames(&fixture, rules), notes(&fixture, rules));
            let mut json = object(path, Some(name), "drift");
            json["drift"] = json!(drifts.iter().map(DriftJson::from).collect::<Vec<_>>());
            (json["frames"], json["notes"]) = (json!(frames), json!(notes));
            Checked { verdict: Verdict::Differs, lines: lines(path, &drifts, &frames, &notes, style), json }
        }
        Err(stopped) => unreadable(path, Some(name), &format!("{}: {stopped}", path.display()), style),
    }
}

fn unreadable(path: &Path, agent: Option<&str>, problem: &str, style: Style) -> Checked {
    let word = style.paint(Look::Bad, "unreadable");
    let lines = vec![format!("{word}  {}", text::clean(problem).replace('\n', "\n    "))];
    let mut json = object(path, agent, "unreadable");
    json["problem"] = json!(problem);
    Checked { verdict: Verdict::Unreadable, lines, json }
}

fn object(path: &Path, agent: Option<&str>, status: &str) -> Value {
    json!({
        "file": path.display().to_string(), "status": status, "agent": agent,
        "drift": [], "frames": "", "notes": [], "problem": null,
    })
}

fn shown_path(path: &Path) -> String {
    text::line(&path.display().to_string())
}

/// What may explain a drift.
fn notes(fixture: &Fixture, rules: &CompiledSpec) -> Vec<String> {
    let mut notes = Vec::new();
    let settings = |spec: &Spec| json!({"policy": spec.policy, "limits": spec.limits});
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
        let Some(now) = prompt::frame(rules, role).map(|frame| Frame::of(frame)) else {
            continue;
        };
        if *recorded == now {
            continue;
        }
        let (old, new) = (frame_text(recorded), frame_text(&now));
        let names = (format!("{role}, recorded"), format!("{role}, now"));
        let lines = TextDiff::from_lines(&old, &new);
        diff.push_str(&lines.unified_diff().context_radius(1).header(&names.0, &names.1).to_string());
    }
    diff
}

fn frame_text(frame: &Frame) -> String {
    let mut text = frame.system.join("\n") + "\n";
    let settings = json!({
        "model": frame.model, "temperature": frame.temperature, "max_tokens": frame.max_tokens,
        "schema": frame.schema,
    });
    text.push_str(&serde_json::to_string_pretty(&settings).unwrap_or_default());
    text + "\n"
}

fn lines(path: &Path, drifts: &[Drift], frames: &str, notes: &[String], style: Style) -> Vec<String> {
    let mut lines = vec![format!("{}  {}", style.paint(Look::Warn, "drift     "), shown_path(path))];
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
