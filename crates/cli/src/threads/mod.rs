//! `threads`: conversations that outlive their process, seen and gone on with.

mod fork;
mod list;
mod maintain;
mod page;
mod records;
mod show;

use clap::ColorChoice;

use crate::args::{ThreadsArgs, ThreadsCommand};
use crate::exit::Exit;
use crate::fixture::make_fixture;
use crate::resume::{answer_thread, resolve_thread, resume_thread};
pub use page::{next_page, page_query, split_page};
use planwright_app::Result;

pub fn threads(args: &ThreadsArgs, color: ColorChoice) -> Result<Exit> {
    let store = &args.store;
    match &args.command {
        ThreadsCommand::List(args) => list::list(store, args),
        ThreadsCommand::Show(args) => show::show(store, args),
        ThreadsCommand::Resume(args) => resume_thread(store, args, color),
        ThreadsCommand::Answer(args) => answer_thread(store, args, color),
        ThreadsCommand::Resolve(args) => resolve_thread(store, args, color),
        ThreadsCommand::Cancel(args) => maintain::cancel(store, args),
        ThreadsCommand::Fork(args) => fork::fork(store, args),
        ThreadsCommand::Export(args) => make_fixture(store, args),
        ThreadsCommand::Delete(args) => maintain::delete(store, args),
        ThreadsCommand::Prune(args) => maintain::prune(store, args),
        ThreadsCommand::Vacuum(args) => maintain::vacuum(store, args),
        ThreadsCommand::Check(args) => maintain::check(store, args),
    }
}
