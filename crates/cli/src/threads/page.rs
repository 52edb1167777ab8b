//! Pages of lists of threads.

use crate::args::PageArgs;
use crate::out;
use planwright::journal::{Cursor, Listed, Order, Query};
use planwright_app::{Error, Result, shell_word};

/// The query for a page, and for one thread more: it shows whether there is another page.
pub fn page_query(args: &PageArgs) -> Result<Query> {
    let after = args.after.as_deref().map(parse_cursor).transpose()?;
    Ok(Query { after, limit: usize::from(args.limit) + 1, ..Query::default() })
}

/// The page, and the cursor of the next one.
pub fn split_page(mut listed: Vec<Listed>, args: &PageArgs, order: Order) -> (Vec<Listed>, Option<String>) {
    let more = listed.len() > usize::from(args.limit);
    listed.truncate(args.limit.into());
    let last = listed.last().filter(|_| more).map(|last| last.cursor(order));
    let next = last.map(|Cursor { at, thread }| format!("{at}:{thread}"));
    (listed, next)
}

/// Names the command for the next page on stderr.
pub fn next_page(command: &str, args: &PageArgs, next: Option<String>) {
    if let Some(next) = next {
        let next = shell_word(next);
        out::complain(&format!(
            "planwright: there are more: {command} --limit {} --after {next}",
            args.limit
        ));
    }
}

fn parse_cursor(text: &str) -> Result<Cursor> {
    let parse = || {
        let (at, thread) = text.split_once(':')?;
        Some(Cursor { at: at.parse().ok()?, thread: thread.parse().ok()? })
    };
    parse().ok_or_else(|| {
        let problem = format!("--after: expected a cursor, such as 1763712000000:보고서, found {text:?}");
        Error::unusable(problem).hint("the page before says it, on stderr or as `next`")
    })
}
