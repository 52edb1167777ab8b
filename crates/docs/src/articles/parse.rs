//! From the text of a contract to its parts: lines are headings or text, entries of a table of contents
//! are dropped, and every part gets a name of its own.

use std::collections::HashMap;

use super::heading::{ArticleNumber, Heading, Kind, Sure, recognize_heading};
use super::line::{bracketed, fold};

const MAX_PARTS: usize = 10_000;
/// Longest title that is read from the line below a number.
const MAX_TITLE: usize = 80;

/// An article of a contract, or another part of it: the preamble, an annex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Article {
    /// Its name without its title: «제5조», «제5조의2», «부칙 제1조», "Article 5", «별지 1», «전문». No two
    /// parts of a contract have the same; a second «제5조» is `제5조 [2]`.
    pub label: String,
    /// The title, if it has one.
    pub title: Option<String>,
    /// What stands below the heading.
    pub text: String,
    /// The chapter it stands in, if the contract has chapters.
    pub chapter: Option<String>,
    pub(super) number: Option<ArticleNumber>,
    /// The label of the annex or the supplementary provisions it stands in.
    pub(super) annex: Option<String>,
}

impl Article {
    /// Its line of the outline: the label and the title, «제5조 (비밀유지)». A source names the part so.
    pub fn part(&self) -> String {
        match &self.title {
            Some(title) => format!("{} ({title})", self.label),
            None => self.label.clone(),
        }
    }
}

struct Section {
    heading: Heading,
    text: String,
}

pub(super) fn parse_parts(text: &str) -> Result<Vec<Article>, String> {
    let (mut preamble, mut sections) = split(text)?;
    preamble = strip_drawn(&preamble).join("\n");
    sections.iter_mut().for_each(Section::tidy);
    drop_contents(&mut preamble, &mut sections);
    let expected =
        "expected articles with headings such as «제1조 (목적)», «제1조 목적» or \"Article 1. Purpose\"";
    match sections.iter().any(|section| section.heading.number.is_some()) {
        true => Ok(name_parts(preamble.trim(), sections)),
        false => Err(format!("{expected}, each on a line of its own; found none")),
    }
}

impl Section {
    /// Takes blank lines and drawn lines from the ends, and a title from the first line.
    fn tidy(&mut self) {
        let mut lines = strip_drawn(&self.text);
        let Heading { number, title, .. } = &mut self.heading;
        if number.is_some() && title.is_none() {
            *title = lines.first().and_then(|line| title_alone(line));
            lines.drain(..usize::from(title.is_some()));
        }
        self.text = lines.join("\n").trim().to_owned();
    }

    /// What an entry of a table of contents has in common with what it is an entry of.
    fn key(&self) -> String {
        let Heading { label, title, .. } = &self.heading;
        let title = title.iter().flat_map(|title| title.chars()).filter(|c| c.is_alphanumeric());
        label.chars().chain([' ']).chain(title).collect()
    }
}

/// The lines between the blank and drawn ones at both ends.
fn strip_drawn(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| !is_drawn(line)).unwrap_or(lines.len());
    let end = lines.iter().rposition(|line| !is_drawn(line)).map_or(first, |last| last + 1);
    lines[first..end].to_vec()
}

/// Whether a line is blank or only draws.
fn is_drawn(line: &str) -> bool {
    line.trim().chars().all(|c| matches!(c, '-' | '=' | '*' | '_' | '\u{2500}'..='\u{257f}'))
}

/// Whether a line is blank or ends something, so that a heading may follow.
fn has_ended(line: &str) -> bool {
    let line = line.trim().trim_end_matches(['*', '_', '"', '\'', '”', '’', ')', '）', ']', '】']);
    is_drawn(line)
        || line.ends_with(['.', '。', '．', '!', '?', ':', ';', '：', '|', '>', '다', '함', '음', '것'])
}

fn title_alone(line: &str) -> Option<String> {
    let line: String = line.trim().trim_matches('*').chars().map(fold).collect();
    let (title, rest) = bracketed(&line, MAX_TITLE)?;
    (rest.is_empty() && !title.is_empty()).then_some(title)
}

/// Cuts the text at its headings. Gives what stands before the first of them, too.
fn split(text: &str) -> Result<(String, Vec<Section>), String> {
    let (mut preamble, mut sections) = (String::new(), Vec::<Section>::new());
    let mut before = "";
    let mut last: Option<ArticleNumber> = None;
    // The level of the last article's heading.
    let mut level: Option<usize> = None;
    for line in text.lines() {
        let stands = |heading: &Heading| match (heading.kind, heading.sure) {
            // What Markdown marks below an article's own level is part of its text; so is everything before
            // the first heading of a contract.
            (Kind::Other, _) => {
                let is_beside = |level| heading.level.is_some_and(|own| own <= level);
                !sections.is_empty() && level.is_none_or(is_beside)
            }
            (_, Sure::Yes) => true,
            (_, Sure::AfterEnd) => has_ended(before) || heading.listed,
            (_, Sure::InOrder) => {
                has_ended(before) && heading.number.is_some_and(|number| number.follows(last))
            }
        };
        let Some(heading) = recognize_heading(line).filter(stands) else {
            sections.last_mut().map_or(&mut preamble, |section| &mut section.text).extend([line, "\n"]);
            before = line;
            continue;
        };
        if sections.len() == MAX_PARTS {
            return Err(format!("expected at most {MAX_PARTS} articles and other parts, found more"));
        }
        match heading.kind {
            Kind::Article => (last, level) = (heading.number, heading.level),
            Kind::Annex => last = None,
            Kind::Chapter | Kind::Other => {}
        }
        // A heading with a sentence behind it on its line ends as that sentence ends.
        before = if heading.body.is_empty() { "" } else { line };
        sections.push(Section { text: format!("{}\n", heading.body), heading });
    }
    Ok((preamble, sections))
}

/// Drops a table of contents: the first headings that come again, with a page number or nothing below.
fn drop_contents(preamble: &mut String, sections: &mut Vec<Section>) {
    let keys: Vec<String> = sections.iter().map(Section::key).collect();
    let last: HashMap<&str, usize> = keys.iter().enumerate().map(|(at, key)| (key.as_str(), at)).collect();
    let number = |section: &Section| section.heading.number;
    let is_entry = |&at: &usize| {
        let Section { heading, text } = &sections[at];
        let listed = || sections[..=at].iter().rev().find_map(number);
        let restarts = || sections[at + 1..].iter().find_map(number) <= listed();
        last[keys[at].as_str()] > at && (text.is_empty() || heading.listed || at > 0 && restarts())
    };
    let entries = (0..sections.len()).take_while(is_entry).count();
    for entry in sections.drain(..entries).filter(|entry| !entry.text.is_empty()) {
        preamble.extend(["\n\n", &entry.text]);
    }
}

/// The parts that the sections are. A heading that has nothing of its own but the articles below it is none.
fn name_parts(preamble: &str, sections: Vec<Section>) -> Vec<Article> {
    let first = sections.iter().map(|section| &section.heading).find(|heading| heading.number.is_some());
    let is_english = first.is_some_and(|heading| heading.label.starts_with("Article"));
    let mut labels = Labels::default();
    let (mut annex, mut chapter) = (None::<String>, None);
    let mut parts: Vec<Article> = Vec::with_capacity(sections.len() + 1);
    if !preamble.is_empty() {
        let label = labels.make_unique(if is_english { "Preamble" } else { "전문" }.to_owned());
        let text = preamble.to_owned();
        parts.push(Article { label, title: None, text, chapter: None, number: None, annex: None });
    }
    let mut sections = sections.into_iter().peekable();
    while let Some(Section { heading: Heading { kind, label, number, title, .. }, text }) = sections.next() {
        let is_bare = text.is_empty();
        let is_headed = is_bare && sections.peek().is_some_and(|next| next.heading.number.is_some());
        let named = match kind {
            Kind::Article => {
                let annex = annex.as_ref().map(|annex| format!("{annex} ")).unwrap_or_default();
                Some((labels.make_unique(annex + &label), title))
            }
            Kind::Annex => {
                let label = labels.make_unique(label);
                (annex, chapter) = (Some(label.clone()), None);
                (!is_headed).then_some((label, title))
            }
            Kind::Chapter => {
                chapter =
                    Some(format!("{label} {}", title.as_deref().unwrap_or_default()).trim_end().to_owned());
                (!is_bare).then(|| (labels.make_unique(label), title))
            }
            Kind::Other if is_bare => {
                chapter = title;
                None
            }
            Kind::Other => {
                (annex, chapter) = (None, None);
                Some((labels.make_unique(title.unwrap_or_default()), None))
            }
        };
        let Some((label, title)) = named else { continue };
        let annex = annex.clone().filter(|_| number.is_some());
        parts.push(Article { label, title, text, chapter: chapter.clone(), number, annex });
    }
    parts
}

/// The labels given out, each with the count that comes next: numbers begin again in annexes.
#[derive(Default)]
struct Labels(HashMap<String, usize>);

impl Labels {
    /// The label, with a count behind it if it was given out before.
    fn make_unique(&mut self, label: String) -> String {
        let mut count = self.0.get(&label).copied().unwrap_or(1);
        let mut unique = if count == 1 { label.clone() } else { format!("{label} [{count}]") };
        // Ends: only so many labels have been given out.
        while self.0.contains_key(&unique) {
            count += 1;
            unique = format!("{label} [{count}]");
        }
        self.0.insert(label, count + 1);
        self.0.entry(unique.clone()).or_insert(2);
        unique
    }
}
