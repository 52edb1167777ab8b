//! The command-line program. Everything it does is in [`planwright::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    planwright::cli::main()
}
