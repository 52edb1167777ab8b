//! `explain`: why a run did what it did.

use crate::args::ExplainArgs;
use crate::{out, text};
use planwright::contract::LabelledPart;
use planwright_app::{Error, ExplainedEffect, Explanation, Refused, Result, find_records};

pub fn explain(args: &ExplainArgs) -> Result<()> {
    let records = find_records(&args.run, &args.store.place()?)?;
    let explained = Explanation::of(&records).map_err(Error::at(&args.run))?;
    if args.json {
        return out::print_json(&explained);
    }
    let mut lines = vec![text::line(&format!("{}: {}", explained.agent, explained.question))];
    lines.extend(explained.effects.iter().flat_map(effect_lines));
    lines.push(match explained.untrusted_since {
        _ if explained.untrusted_history => "untrusted text stands in what was said before".to_owned(),
        Some(effect) => format!("untrusted text was read at {effect}"),
        None => "nothing untrusted was read".to_owned(),
    });
    lines.extend(explained.refused.iter().map(refused_line));
    out::print_lines(&lines)
}

/// An effect and why, and below it who chose each part of what it was called with.
fn effect_lines(effect: &ExplainedEffect) -> Vec<String> {
    let ExplainedEffect { asked, does, reason, outcome, .. } = effect;
    let outcome = outcome.as_deref().unwrap_or("no answer");
    let first = format!("{}  {asked} ({does}): {reason}; {outcome}", effect.effect);
    let mut lines = vec![text::line(&first)];
    lines.extend(effect.arguments.iter().map(|part| part_line(part, "  ")));
    for call in &effect.calls {
        lines.push(format!("  {}", text::line(&call.tool)));
        lines.extend(call.arguments.iter().map(|part| part_line(part, "    ")));
    }
    lines
}

fn part_line(part: &LabelledPart, indent: &str) -> String {
    let place = if part.place.is_empty() { "input" } else { &part.place };
    format!("{indent}{}", text::line(&format!("{place}: {}", part.tell())))
}

fn refused_line(refused: &Refused) -> String {
    let Refused { within, step, draft, tool, code, why, .. } = refused;
    let draft = draft.map(|draft| format!(" of draft {draft}")).unwrap_or_default();
    let within = if within.is_empty() { String::new() } else { format!("{within}: ") };
    text::line(&format!("refused: {within}{step}{draft} ({tool}): {why} ({code})"))
}
