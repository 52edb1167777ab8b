//! `compare`: two runs side by side, and where they part.

use std::path::Path;

use clap::ColorChoice;
use serde_json::json;

use crate::args::CompareArgs;
use crate::out::{Exit, Look, Style};
use crate::view::write_page;
use crate::{out, text};
use planwright::driver::Stopped;
use planwright_app::{
    Class, ComparedPair, ComparedRun, ComparedSide, Comparison, Difference, Error, PreparedAgent, Result,
    RunFile, RunView, compare, spec_for_fixture,
};

/// Most lines of one difference that are shown.
const MOST_LINES: usize = 20;

pub fn compare_runs(args: &CompareArgs, color: ColorChoice) -> Result<Exit> {
    let place = args.store.place()?;
    let one = RunView::find(&args.one, &place)?;
    let (name, other) = match &args.other {
        Some(other) => (other.clone(), RunView::find(other, &place)?),
        None => (format!("{}, replayed", args.one), replay(args)?),
    };
    let comparison = compare(&one, &other);
    if let Some(path) = &args.output {
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

/// The run that a fixture becomes under the present rules, out of the answers that it holds.
fn replay(args: &CompareArgs) -> Result<RunView> {
    let path = Path::new(&args.one);
    let place = path.display();
    if !path.is_file() {
        let problem =
            format!("{place}: expected a second run: only a fixture is compared with its own replay");
        return Err(Error::unusable(problem).hint("planwright compare A B"));
    }
    let RunFile::Fixture(fixture) = RunFile::load(path)? else {
        let problem = format!("{place}: expected a fixture, found a journal");
        return Err(Error::unusable(problem).hint("name the run that it is compared with"));
    };
    let Some(spec) = spec_for_fixture(&fixture, args.agent.as_deref())? else {
        let problem = format!("{place}: no agent is called {:?}", fixture.spec.name);
        return Err(Error::unusable(problem).hint("--agent FILE names its spec"));
    };
    let agent = PreparedAgent::replaying(spec, "replay")?.agent;
    let updated = agent.update(&fixture).map_err(|stopped| match stopped {
        Stopped::Drifted(_) => {
            let problem = format!("{place}: its replay asks what was not recorded\n{stopped}");
            let hint = "`planwright run --record` with --record-mode new_episodes asks what is new";
            Error::new(Class::Failed, problem).hint(hint)
        }
        stopped => Error::at(place.to_string())(stopped),
    })?;
    RunFile::Fixture(Box::new(updated)).view(path)
}

fn lines(comparison: &Comparison, names: [&str; 2], style: Style) -> Vec<String> {
    let Comparison { equal, a, b, parting, differences, effects, steps } = comparison;
    let run = |of: &str, name: &str, run: &ComparedRun| {
        let spent = run.tokens.input_tokens + run.tokens.output_tokens;
        let tokens = (spent > 0).then(|| format!(", {spent} tokens"));
        let cost = run.cost.map(|cost| format!(", cost {cost}"));
        let ms = run.ms.map(|ms| format!(", {}", seconds(ms)));
        let more: String = [tokens, cost, ms].into_iter().flatten().collect();
        let (agent, records) = (text::line(&run.agent), text::count(run.records as u64, "record"));
        format!("{of}  {}: {agent}, {}, {records}{more}", text::line(name), run.status)
    };
    let mut lines = vec![run("A", names[0], a), run("B", names[1], b)];
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
    for (title, pairs) in [("effects", effects), ("steps", steps)] {
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
    format!("{} {ids}{took}", text::line(&pair.asked))
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
