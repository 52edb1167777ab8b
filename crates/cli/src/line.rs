//! Lines from stdin: bounded, and asked for with a prompt if a person types them.

use std::io::{BufRead, IsTerminal, Read, Write};

use planwright_app::{Error, Result};

/// Longest line that is read, in bytes.
const MOST: u64 = 1 << 20;

/// Whether a person types on stdin and sees what is asked on stderr.
pub fn is_typed() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Reads the next line of stdin without its end; `None` at the end. Only a person who types sees the prompt.
pub fn read_line(prompt: &str) -> Result<Option<String>> {
    if is_typed() {
        let mut stderr = std::io::stderr().lock();
        // Where the prompt cannot be written, the line can still be read.
        let _ = write!(stderr, "{prompt}").and_then(|()| stderr.flush());
    }
    let mut line = String::new();
    let read = std::io::stdin().lock().take(MOST + 1).read_line(&mut line);
    let read = read.map_err(|error| Error::caused("stdin cannot be read", error))?;
    if read as u64 > MOST {
        return Err(Error::unusable(format!("a line on stdin is longer than {MOST} bytes")));
    }
    Ok((read > 0).then(|| line.trim().to_owned()))
}

/// Whether a line says yes to a question of the program's own.
fn is_yes(line: &str) -> bool {
    ["yes", "y", "예", "네"].contains(&line.to_lowercase().as_str())
}

/// Asks the person at the terminal a question of the program's own.
pub fn confirm(question: &str) -> Result<bool> {
    let line = read_line(&format!("{question} (yes or no)? "))?.unwrap_or_default();
    Ok(is_yes(&line))
}
