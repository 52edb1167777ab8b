//! `view`: a run in a browser, or as one page in a file.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Parser;
use serde_json::{Value, json};

use crate::args::{Cli, Command as Typed, ViewArgs};
use crate::serve::start_service;
use crate::{out, text};
use planwright::journal::system::{create_private_folder, random_id};
use planwright_app::{Error, Result, RunView, configured_currency, find_turn};
use planwright_serve::{Announce, in_path};

pub fn view(args: &ViewArgs) -> Result<()> {
    let place = args.store.place()?;
    let mut view = RunView::find(&args.run, &place)?;
    view.currency = configured_currency(args.store.config.as_deref());
    let document = json!({"kind": "run", "view": view});
    if let Some(path) = &args.output {
        return write_page(path, args.force, &args.run, &document);
    }
    let Some(thread) = &view.thread.as_ref().filter(|_| !Path::new(&args.run).is_file()) else {
        let folder = std::env::temp_dir().join(format!("planwright-{:016x}", random_id()));
        let path = folder.join("run.html");
        let fail = |error| Error::caused(format!("{}: cannot be made", folder.display()), error);
        create_private_folder(&folder).map_err(fail)?;
        write_page(&path, true, &args.run, &document)?;
        out::print_text(&path.display().to_string())?;
        if !args.no_open {
            open(&path.display().to_string());
        }
        return Ok(());
    };
    let (_, turn) = find_turn(&args.run, &place)?;
    let page = format!("/#/t/{}/{turn}", in_path(thread));
    let typed = ["planwright", "serve", "--listen", "127.0.0.1:0", "--read-only", "--quiet"];
    let Typed::Serve(mut service) = Cli::parse_from(typed).command else { return Ok(()) };
    service.store = args.store.clone();
    start_service(&service, &Viewer { page, opens: !args.no_open })
}

/// Writes a document as one page, whole.
pub fn write_page(path: &Path, force: bool, title: &str, document: &Value) -> Result<()> {
    // Its policy names the hash of its script and style: nothing is taken out of those.
    let document = document.to_string();
    let page = planwright_page::export(&out::without_keys(title), &out::without_keys(&document));
    out::write_file(path, force, &page)
}

/// Says where the run is shown, and opens it there.
struct Viewer {
    page: String,
    opens: bool,
}

impl Announce for Viewer {
    fn ready(&self, address: SocketAddr) {
        let url = format!("http://{address}{}", self.page);
        let _ = out::print_text(&url);
        if self.opens {
            open(&url);
        }
        out::complain("planwright: Ctrl-C ends it");
    }

    fn note(&self, note: &str) {
        out::remark(&text::line(note));
    }
}

/// Opens a page in the user's browser: the program that BROWSER names, else that of the system.
fn open(page: &str) {
    let named = std::env::var_os("BROWSER").filter(|name| !name.is_empty()).map(PathBuf::from);
    let usual = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let program = named.unwrap_or_else(|| PathBuf::from(usual));
    let mut command = Command::new(&program);
    let opened = command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if opened.is_err() {
        out::remark(&format!("{} is not there: open the page yourself", program.display()));
    }
}
