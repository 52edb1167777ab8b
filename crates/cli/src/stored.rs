//! `replay --all-stored`: every stored turn through the present machine. Nothing is asked of the world,
//! and nothing that is stored is changed.

use serde_json::{Value, json};

use super::args::ReplayArgs;
use super::exit::Exit;
use super::failure::Outcome;
use super::store::Place;
use super::style::{Color, Look, Style};
use super::{agent, out, text};
use planwright::driver::Threads;
use planwright::journal::{Divergence, Listed, Order, Query, Record, RunStatus, ThreadId, diverges, fold};
use planwright::spec::Spec;

/// What came of one turn.
struct Checked {
    thread: ThreadId,
    /// From 1.
    turn: u32,
    came: Came,
}

enum Came {
    Same,
    Diverges(Divergence),
    Unreadable(String),
}

pub fn replay(args: &ReplayArgs, color: Color) -> Outcome<Exit> {
    let style = Style::of(color, &std::io::stdout());
    let threads = Place::find(&args.store, args.config.config.as_deref())?.threads()?;
    let under = args.agent.as_deref().map(agent::spec).transpose()?;
    let mut checked = Vec::new();
    each_thread(&threads, |listed| {
        for turn in 0..listed.turns {
            checked.push(check(&threads, &listed.thread, turn, under.as_ref()));
        }
    })?;
    let count = |is: fn(&Came) -> bool| checked.iter().filter(|turn| is(&turn.came)).count();
    let same = count(|came| matches!(came, Came::Same));
    let diverging = count(|came| matches!(came, Came::Diverges(_)));
    let unreadable = checked.len() - same - diverging;
    if args.json {
        let turns: Vec<Value> =
            checked.iter().filter(|turn| !matches!(turn.came, Came::Same)).map(object).collect();
        out::print_json(
            &json!({"ok": same, "diverge": diverging, "unreadable": unreadable, "turns": turns}),
        )?;
    } else {
        let lines = checked.iter().filter_map(|turn| line(turn, style));
        let s = if checked.len() == 1 { "" } else { "s" };
        let bad = if unreadable > 0 { format!(", {unreadable} unreadable") } else { String::new() };
        let end =
            format!("{} stored turn{s}: {same} the same, {diverging} on another path{bad}", checked.len());
        out::print(&(lines.chain([end]).collect::<Vec<_>>().join("\n") + "\n"))?;
    }
    Ok(match (diverging, unreadable) {
        (0, 0) => Exit::Done,
        (_, 0) => Exit::Failed,
        _ => Exit::Unusable,
    })
}

/// Goes through all threads of a store, page by page.
pub fn each_thread(threads: &Threads, mut take: impl FnMut(&Listed)) -> Outcome<()> {
    const PAGE: usize = 200;
    let mut query = Query { limit: PAGE, ..Query::default() };
    loop {
        let page = threads.list(&query)?;
        page.iter().for_each(&mut take);
        match page.last() {
            Some(last) if page.len() == PAGE => query.after = Some(last.cursor(Order::Newest)),
            _ => return Ok(()),
        }
    }
}

fn check(threads: &Threads, thread: &ThreadId, turn: u32, under: Option<&Spec>) -> Checked {
    let came = match threads.store().records(thread, turn) {
        Ok(records) => came(&records, under),
        Err(error) => Came::Unreadable(error.to_string()),
    };
    Checked { thread: thread.clone(), turn: turn + 1, came }
}

fn came(records: &[Record], under: Option<&Spec>) -> Came {
    let under = match (under, records.first()) {
        // Another agent gets the tools that the run had: they are part of every request.
        (Some(under), Some(Record::Header(header))) => {
            Some(agent::with_tools_of(under.clone(), &header.spec))
        }
        _ => None,
    };
    match diverges(records, under.as_ref(), ended(records)) {
        Ok(None) => Came::Same,
        Ok(Some(divergence)) => Came::Diverges(divergence),
        Err(error) => Came::Unreadable(error.to_string()),
    }
}

/// Whether the run had ended. What does not fold any more is found where it diverges.
fn ended(records: &[Record]) -> bool {
    fold(records.iter().cloned()).is_ok_and(|folded| RunStatus::of(&folded).has_ended())
}

fn line(turn: &Checked, style: Style) -> Option<String> {
    let (look, word, said) = match &turn.came {
        Came::Same => return None,
        Came::Diverges(divergence) => (Look::Warn, "diverges  ", divergence.to_string()),
        Came::Unreadable(problem) => (Look::Bad, "unreadable", problem.clone()),
    };
    let place = format!("{}, turn {}", turn.thread, turn.turn);
    Some(format!("{}  {}: {}", style.paint(look, word), text::line(&place), text::line(&said)))
}

fn object(turn: &Checked) -> Value {
    let mut object = json!({
        "thread": turn.thread, "turn": turn.turn, "record": null, "what": null, "difference": null,
        "problem": null,
    });
    match &turn.came {
        Came::Same => {}
        Came::Unreadable(problem) => object["problem"] = json!(problem),
        Came::Diverges(divergence) => {
            object["record"] = json!(divergence.record);
            object["what"] = json!(divergence.what);
            if let Some(difference) = &divergence.difference {
                object["difference"] = json!({
                    "path": difference.path, "recorded": difference.recorded, "now": difference.now,
                });
            }
        }
    }
    object
}
