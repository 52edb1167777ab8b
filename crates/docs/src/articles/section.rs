//! A heading with the text below it.

use super::heading::{Heading, Opens};
use super::number::{ArticleNumber, Scan, folded};

/// Longest title that is read from the line below a number.
const MAX_TITLE_CHARS: usize = 80;

/// A heading with the text below it.
pub(super) struct Section {
    /// `None`: what stands before the first heading.
    pub heading: Option<Heading>,
    pub text: String,
}

impl Section {
    pub fn number(&self) -> Option<ArticleNumber> {
        match self.heading.as_ref()?.opens {
            Opens::Article { number, .. } => Some(number),
            _ => None,
        }
    }

    /// Takes blank lines and drawn lines from the ends, and a title from the first line.
    pub fn tidy(&mut self) {
        let drawn = |line: &&str| {
            let line = line.trim();
            line.is_empty()
                || line.chars().all(|c| matches!(c, '-' | '=' | '*' | '_' | '\u{2500}'..='\u{257f}'))
        };
        let lines: Vec<&str> = self.text.lines().collect();
        let first = lines.iter().position(|line| !drawn(line)).unwrap_or(lines.len());
        let end = lines.iter().rposition(|line| !drawn(line)).map_or(first, |last| last + 1);
        let mut lines = &lines[first..end];
        if let Some(heading) = &mut self.heading
            && matches!(heading.opens, Opens::Article { .. })
            && heading.title.is_none()
            && let Some(title) = lines.first().and_then(|line| title_alone(line))
        {
            heading.title = Some(title);
            lines = &lines[1..];
        }
        self.text = lines.join("\n").trim().to_owned();
    }

    /// What an entry of a table of contents has in common with what it is an entry of.
    pub fn key(&self) -> Option<String> {
        let heading = self.heading.as_ref()?;
        let title: String =
            heading.title.iter().flat_map(|title| title.chars()).filter(|c| c.is_alphanumeric()).collect();
        Some(match &heading.opens {
            Opens::Article { number, english, .. } => format!("{english} {number} {title}"),
            Opens::Annex { label } | Opens::Chapter { label } => format!("{label} {title}"),
            Opens::Other => title,
        })
    }
}

/// The title on a line that holds nothing else: one in brackets.
fn title_alone(line: &str) -> Option<String> {
    let chars: Vec<char> = line.trim().trim_matches('*').chars().map(folded).collect();
    let mut scan = Scan::new(&chars);
    let title = scan.bracketed(MAX_TITLE_CHARS)?;
    scan.rest().is_empty().then_some(title)
}
