//! `threads`: conversations that outlive their process, seen and gone on with.

mod forget;
mod fork;
mod go_on;
mod list;
mod records;
mod show;

pub use list::{cursor, written};

use super::args::{ThreadsArgs, ThreadsCommand};
use super::exit::Exit;
use super::failure::Outcome;
use super::fixture;
use super::style::Color;

pub fn threads(args: &ThreadsArgs, color: Color) -> Outcome<Exit> {
    let store = &args.store;
    match &args.command {
        ThreadsCommand::List(args) => list::list(store, args),
        ThreadsCommand::Show(args) => show::show(store, args),
        ThreadsCommand::Resume(args) => go_on::resume(store, args, color),
        ThreadsCommand::Answer(args) => go_on::answer(store, args, color),
        ThreadsCommand::Settle(args) => go_on::settle(store, args, color),
        ThreadsCommand::Cancel(args) => go_on::cancel(store, args),
        ThreadsCommand::Fork(args) => fork::fork(store, args),
        ThreadsCommand::Export(args) => fixture::from(store, args),
        ThreadsCommand::Delete(args) => forget::delete(store, args),
        ThreadsCommand::Prune(args) => forget::prune(store, args),
        ThreadsCommand::Vacuum(args) => forget::vacuum(store, args),
        ThreadsCommand::Check(args) => forget::check(store, args),
    }
}
