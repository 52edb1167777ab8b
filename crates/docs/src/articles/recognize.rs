//! Which heading a line is, in either language.

use super::heading::{Heading, Line, Opens, Sure};
use super::{english, korean};

/// Most characters of a heading that is none of an article.
const MAX_OTHER_CHARS: usize = 120;

/// The line as a heading, if it may be one.
pub(super) fn recognize_heading(line: &Line) -> Option<Heading> {
    let (opens, title, sure) = korean::article(line)
        .or_else(|| english::article(line))
        .or_else(|| korean::section(line))
        .or_else(|| english::section(line))
        .or_else(|| {
            let title: String = line.text.iter().take(MAX_OTHER_CHARS).collect();
            line.level.map(|_| (Opens::Other, Some(title), Sure::Yes))
        })?;
    Some(Heading { opens, title, sure, level: line.level, listed: line.listed })
}
