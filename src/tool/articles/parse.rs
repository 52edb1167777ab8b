//! From the text of a contract to its parts: lines are read as headings or as text, entries of a table of
//! contents are dropped, and every part gets a label of its own.

use std::collections::HashMap;

use super::Article;
use super::heading::{Heading, Line, Opens, has_ended};
use super::number::{ArticleNumber, Scan, folded};

/// Most articles and other parts of one contract.
pub(super) const MAX_PARTS: usize = 10_000;
/// Longest title that is read from the line below a number.
const MAX_TITLE_CHARS: usize = 80;

/// A heading with the text below it.
struct Section {
    /// `None`: what stands before the first heading.
    heading: Option<Heading>,
    text: String,
}

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
    Ok(labelled(sections))
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
        let heading = parsed.as_ref().and_then(Line::heading).filter(|heading| {
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
    use super::heading::Sure;
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

impl Section {
    fn number(&self) -> Option<ArticleNumber> {
        match self.heading.as_ref()?.opens {
            Opens::Article { number, .. } => Some(number),
            _ => None,
        }
    }

    /// Takes blank lines and drawn lines from the ends, and a title from the first line.
    fn tidy(&mut self) {
        let drawn = |line: &&str| {
            let line = line.trim();
            line.is_empty()
                || line.chars().all(|c| matches!(c, '-' | '=' | '*' | '_' | '\u{2500}'..='\u{257f}'))
        };
        let lines: Vec<&str> = self.text.lines().collect();
        let first = lines.iter().position(|line| !drawn(&line)).unwrap_or(lines.len());
        let end = lines.iter().rposition(|line| !drawn(&line)).map_or(first, |last| last + 1);
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
    fn key(&self) -> Option<String> {
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

/// Gives every part a label of its own.
#[derive(Default)]
struct Labels {
    /// The labels given out, each with the count that comes next.
    used: HashMap<String, usize>,
    annex: Option<String>,
    chapter: Option<String>,
}

fn labelled(sections: Vec<Section>) -> Vec<Article> {
    let english = sections.iter().find_map(|section| match section.heading.as_ref()?.opens {
        Opens::Article { english, .. } => Some(english),
        _ => None,
    });
    let opens_articles: Vec<bool> = sections.iter().skip(1).map(|next| next.number().is_some()).collect();
    let mut labels = Labels::default();
    let mut parts: Vec<Article> = Vec::with_capacity(sections.len());
    for (at, Section { heading, text }) in sections.into_iter().enumerate() {
        let bare = text.is_empty();
        let headed = bare && opens_articles.get(at) == Some(&true);
        let (label, number, title) = match heading {
            None if bare => continue,
            None => (
                labels.unique(if english == Some(true) { "Preamble" } else { "전문" }.to_owned()),
                None,
                None,
            ),
            Some(heading) => match labels.opened(heading, bare, headed) {
                Some(part) => part,
                None => continue,
            },
        };
        let Labels { annex, chapter, .. } = &labels;
        let annex = annex.clone().filter(|_| number.is_some());
        parts.push(Article { label, number, title, text, chapter: chapter.clone(), annex });
    }
    parts
}

type Opened = (String, Option<ArticleNumber>, Option<String>);

impl Labels {
    /// The label, number and title of a part; `None` where a heading has nothing of its own: only the
    /// articles below it.
    fn opened(&mut self, heading: Heading, bare: bool, headed: bool) -> Option<Opened> {
        let Heading { opens, title, .. } = heading;
        match opens {
            Opens::Article { number, english, .. } => {
                let label = label_of(number, english);
                let label =
                    self.annex.as_ref().map_or_else(|| label.clone(), |annex| format!("{annex} {label}"));
                Some((self.unique(label), Some(number), title))
            }
            Opens::Annex { label } => {
                let label = self.unique(label);
                (self.annex, self.chapter) = (Some(label.clone()), None);
                (!headed).then_some((label, None, title))
            }
            Opens::Chapter { label } => {
                let whole = title.as_ref().map_or_else(|| label.clone(), |title| format!("{label} {title}"));
                self.chapter = Some(whole);
                if bare { None } else { Some((self.unique(label), None, title)) }
            }
            Opens::Other if bare => {
                self.chapter = title;
                None
            }
            Opens::Other => {
                (self.annex, self.chapter) = (None, None);
                Some((self.unique(title.unwrap_or_default()), None, None))
            }
        }
    }

    /// The label, with a count behind it where it was there before.
    fn unique(&mut self, label: String) -> String {
        let mut count = self.used.get(&label).copied().unwrap_or(1);
        let mut own = if count == 1 { label.clone() } else { format!("{label} [{count}]") };
        // Ends: only so many labels have been given out.
        while self.used.contains_key(&own) {
            count += 1;
            own = format!("{label} [{count}]");
        }
        self.used.insert(label, count + 1);
        self.used.entry(own.clone()).or_insert(2);
        own
    }
}

/// `제5조`, `제5조의2`, `Article 5`, `Article 5-2`.
fn label_of(number: ArticleNumber, english: bool) -> String {
    match (english, number.branch) {
        (true, _) => format!("Article {number}"),
        (false, None) => format!("제{}조", number.article),
        (false, Some(branch)) => format!("제{}조의{branch}", number.article),
    }
}
