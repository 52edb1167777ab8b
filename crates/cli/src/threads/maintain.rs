//! `threads cancel`, `delete`, `prune`, `vacuum` and `check`.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::args::{CancelArgs, CheckArgs, ConfigArgs, DeleteArgs, PruneArgs, StoreArgs};
use crate::exit::Exit;
use crate::{line, out, text};
use planwright::driver::{Prune, Redactor, Stopped};
use planwright_app::{Class, Error, Result, RunLocation, configured_keys};

pub fn cancel(store: &StoreArgs, args: &CancelArgs) -> Result<Exit> {
    let stored = store.place(&args.config)?.thread(&args.thread)?;
    if let Some(doubt) = stored.pending()?.filter(|pending| pending.is_doubt()) {
        let problem = format!("{} is not ended without a word on what is {}", stored.thread, doubt.text());
        let hint = RunLocation::Thread(&stored).command_lines(&doubt);
        return Err(Error::new(Class::InDoubt, problem).hint(hint));
    }
    let keys = configured_keys(args.config.config.as_deref())?;
    match stored.handle().cancel(&args.reason, &keys) {
        Ok(()) => {
            let reason = Redactor::new(keys).text(args.reason.clone());
            out::remark(&format!("{} is ended: {reason}", stored.thread));
            Ok(Exit::Done)
        }
        Err(Stopped::Store(error)) => Err(error.into()),
        Err(Stopped::Journal(error)) => Err(error.into()),
        Err(stopped) => {
            let hint = format!("{}  says how it stands", stored.command("show"));
            Err(Error::unusable(stopped).hint(hint))
        }
    }
}

pub fn delete(store: &StoreArgs, args: &DeleteArgs) -> Result<Exit> {
    let threads = store.place(&args.config)?.threads()?;
    // All are there before one is gone.
    for thread in &args.threads {
        threads.store().turns(thread)?;
    }
    if !args.yes && !confirm_deletion(args)? {
        out::remark("nothing is deleted");
        return Ok(Exit::Done);
    }
    for thread in &args.threads {
        threads.delete(thread)?;
        out::remark(&format!("{thread} is deleted"));
    }
    Ok(Exit::Done)
}

fn confirm_deletion(args: &DeleteArgs) -> Result<bool> {
    let names: Vec<String> = args.threads.iter().map(|thread| text::line(thread.as_str())).collect();
    let names = names.join(", ");
    if !line::is_typed() {
        let problem = format!("{names}: nobody is here to be asked whether to delete");
        return Err(Error::unusable(problem).hint("--yes deletes without asking"));
    }
    line::confirm(&format!("delete {names} with all turns"))
}

pub fn prune(store: &StoreArgs, args: &PruneArgs) -> Result<Exit> {
    let threads = store.place(&args.config)?.threads()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let before = u64::try_from(now.saturating_sub(args.older_than).as_millis()).unwrap_or(u64::MAX);
    let mut what = Prune { dry_run: args.dry_run, ..Prune::before(before) };
    if let Some(status) = &args.status {
        what.statuses = vec![status.clone()];
    }
    let gone = threads.prune(&what)?;
    for listed in &gone {
        out::print_text(&format!("{}  {}", text::time(listed.updated), text::line(listed.thread.as_str())))?;
    }
    let count = match gone.len() {
        1 => "1 thread".to_owned(),
        count => format!("{count} threads"),
    };
    out::remark(&match (gone.len(), args.dry_run) {
        (_, true) => format!("{count} would be deleted"),
        (1, false) => format!("{count} is deleted"),
        _ => format!("{count} are deleted"),
    });
    Ok(Exit::Done)
}

pub fn vacuum(store: &StoreArgs, args: &ConfigArgs) -> Result<Exit> {
    store.place(args)?.threads()?.store().vacuum()?;
    Ok(Exit::Done)
}

pub fn check(store: &StoreArgs, args: &CheckArgs) -> Result<Exit> {
    let damage = store.place(&args.config)?.threads()?.store().check()?;
    if args.json {
        out::print_json(&json!({"damaged": damage}))?;
    } else if damage.is_empty() {
        out::print_text("all is as it was written")?;
    } else {
        damage.iter().try_for_each(|line| out::print_text(&text::line(line)))?;
    }
    Ok(if damage.is_empty() { Exit::Done } else { Exit::Of(Class::Failed) })
}
