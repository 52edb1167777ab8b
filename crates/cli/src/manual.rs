//! `completions` and `man`: what shells and manuals are told about the commands, out of their definition.

use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};
use clap_mangen::Man;

use crate::args::Cli;
use crate::out;
use planwright_app::{Error, Result};

pub fn print_completions(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "planwright", &mut script);
    out::print(&String::from_utf8_lossy(&script))
}

/// Prints the page of the program, or of the command that the words name.
pub fn print_man(words: &[String]) -> Result<()> {
    let mut program = Cli::command();
    program.build();
    let find = |command: &Command, word: &String| command.find_subcommand(word).cloned();
    let command = words.iter().try_fold(program, |command, word| find(&command, word));
    let command = command.ok_or_else(|| {
        let problem = format!("there is no command {:?}", words.join(" "));
        Error::unusable(problem).hint("planwright --help lists them")
    })?;
    let mut page = Vec::new();
    Man::new(command)
        .render(&mut page)
        .map_err(|error| Error::caused("the page cannot be written", error))?;
    out::print(&String::from_utf8_lossy(&page))
}
