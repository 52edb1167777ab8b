//! `replay`: checks that fixtures, or stored turns, replay the same under the present rules. Nothing is asked of the
//! world, nothing that is stored is changed, and a fixture only by `--update`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::ColorChoice;
use serde_json::{Value, json};

use crate::args::ReplayArgs;
use crate::drift::{diff_frames, drift_lines, explain_drift};
use crate::out::{Exit, Look, Style};
use crate::{out, text};
use planwright::driver::Stopped;
use planwright::journal::{Divergence, Fixture, Outcome, Query, Record, RunStatus, ThreadId, fold};
use planwright::spec::Spec;
use planwright_app::{
    Class, Error, PreparedAgent, Result, drift_json, load_spec, spec_for_fixture, with_tools_of,
};

/// What came of one recording: whether it replays the same, what is shown of it, and what `--json` lists.
type Checked = (Verdict, Vec<String>, Option<Value>);

#[derive(Clone, Copy)]
enum Verdict {
    Same,
    AsRecorded,
    Unfinished,
    Updated,
    Differs,
    Unreadable,
}

/// What each verdict is called, in their order.
const WORDS: [&str; 6] = ["ok", "as recorded", "unfinished", "updated", "drift", "unreadable"];

pub fn replay(args: &ReplayArgs, color: ColorChoice) -> Result<Exit> {
    let style = Style::of(color, &std::io::stdout());
    let (mut counts, mut listed) = ([0; WORDS.len()], Vec::new());
    let mut take = |(verdict, lines, json): Checked| {
        counts[verdict as usize] += 1;
        listed.extend(json);
        if args.json || lines.is_empty() { Ok(()) } else { out::print_lines(&lines) }
    };
    if args.all_stored {
        check_turns(args, style)?.into_iter().try_for_each(&mut take)?;
    } else {
        let specs = args.agents.as_deref().map(find_agents).transpose()?.unwrap_or_default();
        find_fixtures(&args.paths)?
            .iter()
            .try_for_each(|path| take(check_fixture(path, &specs, args, style)))?;
    }
    let [same, as_recorded, unfinished, _, different, unreadable] = counts;
    if args.json {
        let mut object = match args.all_stored {
            true => json!({"ok": same, "diverge": different, "unreadable": unreadable}),
            false => WORDS.iter().zip(counts).map(|(word, count)| (word.replace(' ', "_"), count)).collect(),
        };
        object[if args.all_stored { "turns" } else { "files" }] = json!(listed);
        out::print_json(&object)?;
    } else {
        let all: usize = counts.iter().sum();
        let counted = |thing| text::count(all as u64, thing);
        let others: String = WORDS
            .iter()
            .zip(counts)
            .skip(1)
            .filter(|(_, count)| *count > 0)
            .map(|(word, count)| format!(", {count} {word}"))
            .collect();
        let bad = if unreadable > 0 { format!(", {unreadable} unreadable") } else { String::new() };
        out::print_lines(&[match args.all_stored {
            true => format!("{}: {same} the same, {different} on another path{bad}", counted("stored turn")),
            false => format!("{}: {same} ok{others}", counted("fixture")),
        }])?;
    }
    let fails = different > 0 || args.strict && as_recorded + unfinished > 0;
    let unusable = (unreadable > 0).then_some(Class::Unusable);
    Ok(unusable.or_else(|| fails.then_some(Class::Failed)))
}

/// The fixtures of these paths; folders are searched for `.json` files.
pub fn find_fixtures(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => found.extend(find_files(path, "json", "fixtures")?),
            false => found.push(path.clone()),
        }
    }
    Ok(found)
}

/// The spec files of a folder, by the names of their agents.
fn find_agents(folder: &Path) -> Result<HashMap<String, String>> {
    let mut found = HashMap::new();
    for path in find_files(folder, "toml", "specs of agents")? {
        let file = path.display().to_string();
        let name = load_spec(&file)?.name;
        if let Some(other) = found.insert(name.clone(), file.clone()) {
            return Err(Error::unusable(format!("{file}: an agent is called {name:?} in {other} already")));
        }
    }
    Ok(found)
}

/// The files below a folder that end so, in order.
fn find_files(folder: &Path, ending: &str, what: &str) -> Result<Vec<PathBuf>> {
    let (mut found, place) = (Vec::new(), folder.display());
    search(folder, ending, &mut found)
        .map_err(|error| Error::caused(format!("{place}: cannot be searched"), error))?;
    if found.is_empty() {
        return Err(Error::unusable(format!("{place}: expected {what} (*.{ending}), found none")));
    }
    found.sort();
    Ok(found)
}

fn search(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // Hidden ones are not meant; links to folders are not followed: they may lead in a circle.
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if entry.file_type()?.is_dir() {
            search(&entry.path(), ending, found)?;
        } else if entry.path().extension().is_some_and(|found| found == ending) {
            found.push(entry.path());
        }
    }
    Ok(())
}

fn check_fixture(path: &Path, specs: &HashMap<String, String>, args: &ReplayArgs, style: Style) -> Checked {
    let file = path.display().to_string();
    let mut json = json!({
        "file": file, "status": "ok", "agent": null, "drift": [], "frames": "", "notes": [], "problem": null,
    });
    let found = replay_fixture(path, specs, args, &mut json, style);
    let (verdict, told, lines) = found.unwrap_or_else(|problem| {
        json["problem"] = json!(problem);
        (Verdict::Unreadable, problem, Vec::new())
    });
    let look = match verdict {
        Verdict::Same | Verdict::Updated => Look::Good,
        Verdict::Unreadable => Look::Bad,
        Verdict::AsRecorded | Verdict::Unfinished | Verdict::Differs => Look::Warn,
    };
    let word = WORDS[verdict as usize];
    json["status"] = json!(word.replace(' ', "_"));
    let head = style.paint(look, &format!("{word:<11}"));
    let told = text::clean(&told).replace('\n', "\n    ");
    (verdict, [vec![format!("{head} {told}")], lines].concat(), Some(json))
}

/// Replays a fixture. Gives what came of it, its file with what is to be said of it, and how it drifts, a line each;
/// or why it cannot be replayed.
fn replay_fixture(
    path: &Path,
    specs: &HashMap<String, String>,
    args: &ReplayArgs,
    json: &mut Value,
    style: Style,
) -> Result<(Verdict, String, Vec<String>), String> {
    let file = text::line(&path.display().to_string());
    let fixture = Fixture::load(path).map_err(|error| error.to_string())?;
    let name = &fixture.spec.name;
    json["agent"] = json!(name);
    let agent = args.agent.as_deref().or_else(|| specs.get(name).map(String::as_str));
    let known = if args.as_recorded { Ok(None) } else { spec_for_fixture(&fixture, agent) };
    let known = known.map_err(|error| error.message)?;
    let is_known = known.is_some();
    let spec = known.unwrap_or_else(|| fixture.spec.clone());
    let agent = PreparedAgent::replaying(spec, "replay").map_err(|error| error.message)?.agent;
    let compiled = agent.compiled();
    json["agent"] = json!(compiled.spec().name);
    let drifts = match agent.replay(&fixture) {
        Ok(_) if is_known => return Ok((Verdict::Same, file, Vec::new())),
        Ok(_) if args.as_recorded => return Ok((Verdict::AsRecorded, file, Vec::new())),
        Ok(_) => {
            let why = match &args.agents {
                Some(folder) => format!("no agent is called {name:?} in {}", folder.display()),
                None => format!("no agent is called {name:?}; --agents DIR names the folder of its spec"),
            };
            json["problem"] = json!(why);
            return Ok((Verdict::AsRecorded, format!("{file}: {why}"), Vec::new()));
        }
        Err(Stopped::Interrupted(stopped)) => {
            let why = stopped.cause.message;
            let advice = "`planwright run --record` with this file and its question goes on";
            json["problem"] = json!(why);
            return Ok((Verdict::Unfinished, format!("{file}: {why}"), vec![format!("    {advice}")]));
        }
        Err(Stopped::Drifted(drifts)) => drifts,
        Err(stopped) => return Err(format!("{}: {stopped}", path.display())),
    };
    let (frames, notes) = (diff_frames(&fixture, compiled), explain_drift(&fixture, compiled));
    json["drift"] = drifts.iter().map(drift_json).collect();
    (json["frames"], json["notes"]) = (json!(frames), json!(notes));
    let mut lines = drift_lines(&drifts, &frames, style);
    lines.extend(notes.iter().map(|note| format!("    note: {}", text::line(note))));
    if !args.update {
        return Ok((Verdict::Differs, file, lines));
    }
    match agent.update(&fixture) {
        Ok(updated) => {
            let answers = |outcome: &Outcome| matches!(outcome, Outcome::Answer(_));
            if answers(&fixture.outcome) && !answers(&updated.outcome) {
                let why = "not updated: the run ends without an answer now, and what was answered after would be lost";
                json["problem"] = json!(why);
                lines.push(format!("    {why}"));
                return Ok((Verdict::Differs, file, lines));
            }
            updated.save(path).map_err(|error| error.to_string())?;
            let mut notes = notes;
            let before = notes.len();
            if updated.outcome != fixture.outcome {
                notes.push("the run ends otherwise now; look at its outcome before you keep it".to_owned());
            }
            let dropped = fixture.exchanges.len().saturating_sub(updated.exchanges.len());
            if dropped > 0 {
                notes.push(format!("{dropped} recorded answers are no longer asked for, and are gone"));
            }
            lines.extend(notes[before..].iter().map(|note| format!("    note: {note}")));
            json["notes"] = json!(notes);
            Ok((Verdict::Updated, file, lines))
        }
        Err(stopped) => {
            let advice = "--record with --record-mode new_episodes asks what is new, and all asks everything";
            let why = format!("not updated: {stopped}; `planwright run` {advice}");
            json["problem"] = json!(why);
            lines.push(format!("    {}", text::line(&why)));
            Ok((Verdict::Differs, file, lines))
        }
    }
}

/// Takes every turn of every thread through the present machine, under another spec than its own if one is named.
fn check_turns(args: &ReplayArgs, style: Style) -> Result<Vec<Checked>> {
    let agent = args.agent.as_deref();
    let under = agent.map(load_spec).transpose()?;
    let threads = args.store.place()?.threads()?;
    let (mut checked, mut query) = (Vec::new(), Query::default());
    loop {
        let page = threads.list(&query)?;
        for listed in &page {
            for turn in 0..listed.turns {
                let records =
                    threads.store().records(&listed.thread, turn).map_err(|error| error.to_string());
                let result = records.and_then(|records| find_divergence(&records, agent, under.as_ref()));
                checked.push(check_turn(&listed.thread, turn + 1, result, style));
            }
        }
        match page.last() {
            Some(last) if page.len() == query.limit => query.after = Some(last.cursor(query.order)),
            _ => return Ok(checked),
        }
    }
}

/// Where the present machine takes another path than the records; or why they cannot be read.
fn find_divergence(
    records: &[Record],
    agent: Option<&str>,
    under: Option<&Spec>,
) -> Result<Option<Divergence>, String> {
    let under = match (under, records.first()) {
        (Some(under), Some(Record::Header(header))) => {
            Some(with_tools_of(under.clone(), &header.spec, agent))
        }
        _ => None,
    };
    // What does not fold any more is found where it diverges.
    let has_ended = fold(records.iter().cloned()).is_ok_and(|folded| RunStatus::of(&folded).has_ended());
    Divergence::find(records, under.as_ref(), has_ended).map_err(|error| error.to_string())
}

fn check_turn(
    thread: &ThreadId,
    turn: u32,
    result: Result<Option<Divergence>, String>,
    style: Style,
) -> Checked {
    let mut json = json!({
        "thread": thread, "turn": turn, "record": null, "what": null, "difference": null, "problem": null,
    });
    let (verdict, head, why) = match result {
        Ok(None) => return (Verdict::Same, Vec::new(), None),
        Ok(Some(divergence)) => {
            (json["record"], json["what"]) = (json!(divergence.record), json!(divergence.what));
            (Verdict::Differs, style.paint(Look::Warn, "diverges  "), divergence.to_string())
        }
        Err(problem) => {
            json["problem"] = json!(problem);
            (Verdict::Unreadable, style.paint(Look::Bad, "unreadable"), problem)
        }
    };
    let place = text::line(&format!("{thread}, turn {turn}"));
    (verdict, vec![format!("{head}  {place}: {}", text::line(&why))], Some(json))
}
