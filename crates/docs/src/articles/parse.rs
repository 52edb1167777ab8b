//! From the text of a contract to its parts: lines are headings or text, and entries of a table of contents
//! are dropped. `labels` decides what the parts are called.

use std::collections::HashMap;

use super::article::{Article, ArticleNumber};
use super::heading::{Heading, Opens, Section, Sure, recognize_heading};
use super::labels;
use super::line::{bracketed, fold};

/// Most articles and other parts of one contract.
const MAX_PARTS: usize = 10_000;
/// Longest title that is read from the line below a number.
const MAX_TITLE: usize = 80;

impl Section {
    pub fn number(&self) -> Option<ArticleNumber> {
        match self.heading.as_ref()?.opens {
            Opens::Article { number, .. } => Some(number),
            _ => None,
        }
    }

    /// Takes blank lines and drawn lines from the ends, and a title from the first line.
    fn tidy(&mut self) {
        let lines: Vec<&str> = self.text.lines().collect();
        let first = lines.iter().position(|line| !is_drawn(line)).unwrap_or(lines.len());
        let end = lines.iter().rposition(|line| !is_drawn(line)).map_or(first, |last| last + 1);
        let mut lines = &lines[first..end];
        if let Some(Heading { opens: Opens::Article { .. }, title: title @ None, .. }) = &mut self.heading {
            *title = lines.first().and_then(|line| title_alone(line));
            lines = &lines[usize::from(title.is_some())..];
        }
        self.text = lines.join("\n").trim().to_owned();
    }

    /// What an entry of a table of contents has in common with what it is an entry of.
    fn key(&self) -> Option<String> {
        let heading = self.heading.as_ref()?;
        let title = heading.title.iter().flat_map(|title| title.chars());
        let title: String = title.filter(|c| c.is_alphanumeric()).collect();
        Some(match &heading.opens {
            Opens::Article { number, english, .. } => format!("{english} {number} {title}"),
            Opens::Annex { label } | Opens::Chapter { label } => format!("{label} {title}"),
            Opens::Other => title,
        })
    }
}

/// Whether a line is blank or only draws.
fn is_drawn(line: &str) -> bool {
    line.trim().chars().all(|c| matches!(c, '-' | '=' | '*' | '_' | '\u{2500}'..='\u{257f}'))
}

/// The title on a line that holds nothing else: one in brackets.
fn title_alone(line: &str) -> Option<String> {
    let line: String = line.trim().trim_matches('*').chars().map(fold).collect();
    let (title, rest) = bracketed(&line, MAX_TITLE)?;
    (rest.is_empty() && !title.is_empty()).then_some(title)
}

/// The parts of a contract, in order.
pub(super) fn parse_parts(text: &str) -> Result<Vec<Article>, String> {
    let mut sections = split(text)?;
    sections.iter_mut().for_each(Section::tidy);
    drop_contents(&mut sections);
    if !sections.iter().any(|section| section.number().is_some()) {
        return Err("expected articles with headings such as «제1조 (목적)», «제1조 목적» or \"Article 1. \
                    Purpose\", each on a line of its own; found none"
            .to_owned());
    }
    Ok(labels::label(sections))
}

/// Cuts the text at its headings.
fn split(text: &str) -> Result<Vec<Section>, String> {
    let mut sections = vec![Section { heading: None, text: String::new() }];
    let mut before = "";
    let mut last: Option<ArticleNumber> = None;
    // The level of the last article's heading: headings below it belong to its text.
    let mut level: Option<usize> = None;
    for line in text.lines() {
        let begun = sections.len() > 1;
        let heading =
            recognize_heading(line).filter(|heading| stands(heading, has_ended(before), last, level, begun));
        let Some(heading) = heading else {
            if let Some(section) = sections.last_mut() {
                section.text.extend([line, "\n"]);
            }
            before = line;
            continue;
        };
        if sections.len() > MAX_PARTS {
            return Err(format!("expected at most {MAX_PARTS} articles and other parts, found more"));
        }
        let mut text = String::new();
        match &heading.opens {
            Opens::Article { number, body, .. } => {
                (last, level) = (Some(*number), heading.level);
                text = format!("{body}\n");
            }
            Opens::Annex { .. } => last = None,
            Opens::Chapter { .. } | Opens::Other => {}
        }
        // A heading with a sentence behind it on its line ends as that sentence ends.
        before = if text.trim().is_empty() { "" } else { line };
        sections.push(Section { heading: Some(heading), text });
    }
    Ok(sections)
}

/// Whether a line is blank or ends something, so that a heading may follow.
fn has_ended(line: &str) -> bool {
    let line = line.trim().trim_end_matches(['*', '_', '"', '\'', '”', '’', ')', '）', ']', '】']);
    is_drawn(line)
        || line.ends_with(['.', '。', '．', '!', '?', ':', ';', '：', '|', '>', '다', '함', '음', '것'])
}

/// Whether a line that may be a heading is one where it stands.
fn stands(
    heading: &Heading,
    ended: bool,
    last: Option<ArticleNumber>,
    level: Option<usize>,
    begun: bool,
) -> bool {
    let numbered = match &heading.opens {
        Opens::Article { number, .. } => number.follows(last),
        // What Markdown marks below an article's own level is part of its text; so is everything before
        // the first heading of a contract.
        Opens::Other => {
            return begun && level.is_none_or(|level| heading.level.is_some_and(|own| own <= level));
        }
        Opens::Annex { .. } | Opens::Chapter { .. } => true,
    };
    match heading.sure {
        Sure::Yes => true,
        Sure::AfterEnd => ended || heading.listed,
        Sure::InOrder => ended && numbered,
    }
}

/// Drops a table of contents: the headings before all others that come again later, with a page number or
/// with nothing below them. What stands below the last of them belongs to the preamble.
fn drop_contents(sections: &mut Vec<Section>) {
    let keys: Vec<Option<String>> = sections.iter().map(Section::key).collect();
    let places = keys.iter().enumerate().filter_map(|(at, key)| Some((key.as_deref()?, at)));
    let last: HashMap<&str, usize> = places.collect();
    let is_entry = |at: usize| {
        let Section { heading: Some(heading), text } = &sections[at] else { return false };
        let again = keys[at].as_deref().is_some_and(|key| last[key] > at);
        let listed = || sections[1..=at].iter().rev().find_map(Section::number);
        let restarts = || sections[at + 1..].iter().find_map(Section::number) <= listed();
        again && (text.is_empty() || heading.listed || at > 1 && restarts())
    };
    let end = (1..sections.len()).find(|at| !is_entry(*at)).unwrap_or(sections.len());
    let entries: Vec<Section> = sections.drain(1..end).collect();
    let below = entries.iter().map(|entry| entry.text.as_str()).filter(|text| !text.is_empty());
    let preamble: Vec<&str> = std::iter::once(sections[0].text.as_str()).chain(below).collect();
    sections[0].text = preamble.join("\n\n").trim().to_owned();
}
