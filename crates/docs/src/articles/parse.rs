//! From the text of a contract to its parts: lines are read as headings or as text, entries of a table of
//! contents are dropped. What the parts are called is decided in `labels`.

use std::collections::HashMap;

use super::article::Article;
use super::heading::{Heading, Line, Opens, Sure, has_ended};
use super::labels;
use super::number::ArticleNumber;
use super::recognize::recognize_heading;
use super::section::Section;

/// Most articles and other parts of one contract.
pub(super) const MAX_PARTS: usize = 10_000;
/// The parts of a contract, in order.
pub(super) fn parts(text: &str) -> Result<Vec<Article>, String> {
    let mut sections = split(text)?;
    for section in &mut sections {
        section.tidy();
    }
    without_contents(&mut sections);
    if !sections.iter().any(|section| section.number().is_some()) {
        return Err("expected articles with headings such as «제1조 (목적)», «제1조 목적» or \"Article 1. \
                    Purpose\", each on a line of its own; found none"
            .to_owned());
    }
    Ok(labels::labelled(sections))
}

/// Cuts the text at its headings.
fn split(text: &str) -> Result<Vec<Section>, String> {
    let mut sections = vec![Section { heading: None, text: String::new() }];
    let mut before = "";
    let mut last: Option<ArticleNumber> = None;
    // The level of the last article's heading: headings below it belong to its text.
    let mut level: Option<usize> = None;
    for line in text.lines() {
        let parsed = Line::of(line);
        let heading = parsed.as_ref().and_then(recognize_heading).filter(|heading| {
            let ended = before.trim().is_empty() || has_ended(before);
            let begun = sections.len() > 1;
            stands(heading, ended, last, level.filter(|_| begun), begun)
        });
        let Some((parsed, heading)) = parsed.as_ref().zip(heading) else {
            if let Some(section) = sections.last_mut() {
                section.text.push_str(line);
                section.text.push('\n');
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
                last = Some(*number);
                level = heading.level;
                text.push_str(&parsed.from(*body));
                text.push('\n');
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
        // What Markdown marks below an article's own level is part of its text; so is everything
        // before the first heading of a contract.
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
fn without_contents(sections: &mut Vec<Section>) {
    let keys: Vec<Option<String>> = sections.iter().map(Section::key).collect();
    let mut last: HashMap<&str, usize> = HashMap::new();
    for (at, key) in keys.iter().enumerate() {
        if let Some(key) = key {
            last.insert(key, at);
        }
    }
    let is_entry = |at: usize| {
        let Section { heading: Some(heading), text } = &sections[at] else { return false };
        let again = keys[at].as_deref().and_then(|key| last.get(key)).is_some_and(|last| *last > at);
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
