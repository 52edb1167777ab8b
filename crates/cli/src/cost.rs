//! `cost`: what the stored runs have spent, by day, agent, thread, model or role.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::args::CostArgs;
use crate::{out, text};
use planwright::machine::Usage;
use planwright_app::{Result, Spending, SpendingLine, SpendingReport, Spent, variant};

pub fn cost(args: &CostArgs) -> Result<()> {
    let mut spending = Spending::new(args.by, args.since.unwrap_or(0), args.store.config.as_deref())?;
    if args.journals.is_empty() {
        spending.add_threads(&args.store.place()?.threads()?)?;
    }
    // A file that is named twice was spent once.
    let files = args.journals.iter().map(|path| (path.canonicalize().unwrap_or_else(|_| path.clone()), path));
    let files: BTreeMap<PathBuf, &PathBuf> = files.collect();
    files.values().try_for_each(|path| spending.add_journal(path))?;
    let report = spending.report();
    report.unreadable.iter().for_each(|problem| out::remark(&format!("left out: {problem}")));
    if args.json {
        return out::print_json(&report);
    }
    let SpendingReport { by, currency, lines, total, .. } = report;
    if lines.is_empty() {
        let since = args.since.map_or_else(String::new, |since| format!(" since {}", text::time(since)));
        out::remark(&format!("no model was asked{since} in a run that is kept; --thread NAME keeps one"));
        return Ok(());
    }
    let has_cost = total.cost.is_some();
    let currency = currency.as_deref().map(text::line).unwrap_or_default();
    let row = |name: &str, spent: &Spent| {
        let Usage { input_tokens, output_tokens, .. } = spent.tokens;
        let cost = match spent.cost {
            Some(cost) => format!("{cost} {currency}").trim_end().to_owned(),
            None if has_cost && spent.unpriced_calls > 0 => "?".to_owned(),
            None => String::new(),
        };
        let [runs, calls] = [spent.runs, spent.calls].map(|count| count.to_string());
        [text::line(name), runs, calls, input_tokens.to_string(), output_tokens.to_string(), cost]
    };
    let rows = lines.iter().map(|SpendingLine { name, spent }| row(name, spent)).chain([row("all", &total)]);
    let by = variant(&by);
    let head = [&*by, "runs", "calls", "tokens read", "written", if has_cost { "cost" } else { "" }];
    // No sum is cut.
    out::print_lines(&text::table(head, rows, None))?;
    if total.unpriced_calls > 0 {
        let calls = text::count(total.unpriced_calls, "call");
        out::remark(&format!(
            "the price of {calls} is not known: [prices.\"MODEL\"] in the configuration file names it"
        ));
    }
    if total.tokens.estimated_tokens > 0 {
        out::remark(&format!(
            "{} tokens are estimated: the server does not count",
            total.tokens.estimated_tokens
        ));
    }
    Ok(())
}
