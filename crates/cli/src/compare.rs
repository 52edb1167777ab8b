//! `compare`: two runs side by side, and where they part.

use clap::ColorChoice;
use serde_json::json;

use crate::args::CompareArgs;
use crate::out::{Exit, Look, Style};
use crate::view::write_page;
use crate::{out, text};
use planwright_app::{
    Class, ComparedPair, ComparedReplay, ComparedRun, ComparedSide, Comparison, Difference, Error, Result,
    RunView, StorePlace, compare, compare_replay, configured_currency, find_recording, spec_for_fixture,
};

/// Most lines of one difference that are shown.
const MOST_LINES: usize = 20;

pub fn compare_runs(args: &CompareArgs, color: ColorChoice) -> Result<Exit> {
    let place = args.store.place()?;
    let (name, (mut one, mut other, comparison)) = match &args.other {
        Some(other) => {
            let (one, found) = (RunView::find(&args.one, &place)?, RunView::find(other, &place)?);
            let comparison = compare(&one, &found);
            (other.clone(), (one, found, comparison))
        }
        None => (format!("{}, replayed", args.one), replay(args, &place)?),
    };
    if let Some(path) = &args.output {
        one.currency = configured_currency(args.store.config.as_deref());
        other.currency.clone_from(&one.currency);
        let document = json!({"kind": "compare", "comparison": comparison, "a": one, "b": other});
        write_page(path, args.force, &format!("{} and {name}", args.one), &document)?;
    }
    match args.json {
        true => out::print_json(&comparison)?,
        false => {
            out::print_lines(&lines(&comparison, [&args.one, &name], Style::of(color, &std::io::stdout())))?
        }
    }
    Ok((!comparison.equal).then_some(Class::Failed))
}

/// A run and its replay under the present rules, out of the answers that are on record.
fn replay(args: &CompareArgs, place: &StorePlace) -> Result<(RunView, RunView, Comparison)> {
    let (fixture, shown) = find_recording(&args.one, place)?;
    let Some(spec) = spec_for_fixture(&fixture, args.agent.as_deref())? else {
        let problem = format!("{}: no agent is called {:?}", args.one, fixture.spec.name);
        return Err(Error::unusable(problem).hint("--agent FILE names its spec"));
    };
    compare_replay(&fixture, shown, spec)
}

fn lines(comparison: &Comparison, names: [&str; 2], style: Style) -> Vec<String> {
    let Comparison { equal, a, b, parting, differences, effects, steps, replay } = comparison;
    let mut lines = vec![run_line("A", names[0], a), run_line("B", names[1], b)];
    if a.now != b.now {
        let [a, b] = [a, b].map(|run| run.now.as_deref().map_or_else(|| "none".to_owned(), text::line));
        lines.push(format!("the time that models are told does not count: {a} in A, {b} in B"));
    }
    if let Some(replay) = replay {
        lines.extend(replay_lines(replay, style));
    }
    if *equal {
        let same = text::count(effects.len() as u64, "effect");
        lines.push(style.paint(Look::Good, &format!("equal: {same}")));
        return lines;
    }
    if let Some(parting) = parting {
        let at = |record: Option<u64>| record.map_or_else(|| "none".to_owned(), |at| at.to_string());
        let row = parting.row.map(|row| format!(", {}", head(&effects[row]))).unwrap_or_default();
        let (a, b) = (at(parting.a), at(parting.b));
        lines.push(
            style.paint(
                Look::Heading,
                &format!("they part at record {a} of A, {b} of B{row}: {}", parting.what),
            ),
        );
    }
    differences.iter().for_each(|difference| show(difference, "", style, &mut lines));
    let reached = replay.as_ref().and_then(|replay| replay.stopped_at).map_or(effects.len(), |at| at + 1);
    let unreached = effects.len() - reached;
    for (title, pairs) in [("effects", &effects[..reached]), ("steps", steps)] {
        let differing = pairs.iter().filter(|pair| !pair.same).count();
        if differing > 0 {
            lines
                .push(style.paint(Look::Heading, &format!("{title}: {differing} of {} differ", pairs.len())));
        }
        for pair in pairs.iter().filter(|pair| !pair.same) {
            let (mark, look) = match (&pair.a, &pair.b) {
                (Some(_), None) => ("-", Look::Bad),
                (None, Some(_)) => ("+", Look::Good),
                _ => ("~", Look::Warn),
            };
            lines.push(style.paint(look, &format!("  {mark} {}", head(pair))));
            pair.differences.iter().for_each(|difference| show(difference, "    ", style, &mut lines));
        }
    }
    if unreached > 0 {
        let unreached = text::count(unreached as u64, "recorded effect");
        lines.push(format!("{unreached} behind it: not reached by the replay"));
    }
    lines
}

fn run_line(of: &str, name: &str, run: &ComparedRun) -> String {
    let spent = run.tokens.input_tokens + run.tokens.output_tokens;
    let tokens = (spent > 0).then(|| format!(", {spent} tokens"));
    let cost = run.cost.map(|cost| format!(", cost {cost}"));
    let ms = run.ms.map(|ms| format!(", {}", seconds(ms)));
    let more: String = [tokens, cost, ms].into_iter().flatten().collect();
    let (agent, records) = (text::line(&run.agent), text::count(run.records as u64, "record"));
    format!("{of}  {}: {agent}, {}, {records}{more}", text::line(name), run.status)
}

/// How a replay drifts, in the words of `replay`, and where it stopped.
fn replay_lines(replay: &ComparedReplay, style: Style) -> Vec<String> {
    let told = replay.drift.iter().filter_map(|drift| drift["message"].as_str());
    let mut lines: Vec<String> = told.map(|told| style.paint(Look::Warn, &text::clean(told))).collect();
    if let Some(stopped) = &replay.stopped {
        lines.push(style.paint(Look::Warn, &format!("the replay stopped: {}", text::line(stopped))));
        lines.push("`planwright run --record` with --record-mode new_episodes asks what is new".to_owned());
    }
    lines.extend(replay.misfit.as_ref().map(|misfit| format!("A is shown up to {}", text::line(misfit))));
    lines
}

/// Who is asked, under which id in which run, and what both took.
fn head(pair: &ComparedPair) -> String {
    let id = |side: &ComparedSide| match side.path.is_empty() {
        true => text::line(&side.id),
        false if side.record.is_some() => text::line(&side.id),
        false => text::line(&format!("{}/{}", side.path, side.id)),
    };
    let ids = match (&pair.a, &pair.b) {
        (Some(a), Some(b)) if a.id == b.id => id(a),
        (Some(a), Some(b)) => format!("{} → {}", id(a), id(b)),
        (Some(a), None) => format!("{} (only in A)", id(a)),
        (None, Some(b)) => format!("{} (only in B)", id(b)),
        (None, None) => String::new(),
    };
    let [a, b] = [&pair.a, &pair.b].map(|side| side.as_ref().and_then(|side| side.ms));
    let took = a.zip(b).map(|(a, b)| format!(", {} → {}", seconds(a), seconds(b))).unwrap_or_default();
    let spent = |side: &ComparedSide| {
        let tokens = side.tokens.map(|tokens| tokens.input_tokens + tokens.output_tokens);
        let cost = side.cost.map(|cost| format!(" for {cost}")).unwrap_or_default();
        tokens.filter(|tokens| *tokens > 0).map(|tokens| format!("{tokens} tokens{cost}"))
    };
    let [a, b] = [&pair.a, &pair.b].map(|side| side.as_ref().and_then(spent));
    let read = if a == b {
        String::new()
    } else {
        let [a, b] = [a, b].map(|spent| spent.unwrap_or_else(|| "none".to_owned()));
        format!(", {a} → {b}")
    };
    format!("{} {ids}{took}{read}", text::line(&pair.asked))
}

fn seconds(ms: u64) -> String {
    format!("{:.1} s", ms as f64 / 1_000.0)
}

fn show(difference: &Difference, indent: &str, style: Style, lines: &mut Vec<String>) {
    let of = difference.of.as_ref().map(|of| format!(" of {}", text::line(of))).unwrap_or_default();
    lines.push(format!("{indent}{}{of}", difference.what));
    let clean = text::clean(&difference.diff);
    let more = clean.lines().count().saturating_sub(MOST_LINES);
    let paint = |line: &str| match line.chars().next() {
        Some('-') => style.paint(Look::Bad, line),
        Some('+') => style.paint(Look::Good, line),
        _ => line.to_owned(),
    };
    lines.extend(clean.lines().take(MOST_LINES).map(|line| format!("{indent}  {}", paint(line))));
    lines.extend((more > 0).then(|| format!("{indent}  … {more} more lines; --json has them")));
}
