//! What the parts of a contract are called. Numbers begin again in annexes and supplementary provisions,
//! and may come twice for no reason; no two parts get the same label all the same.

use std::collections::HashMap;

use super::article::Article;
use super::heading::{Heading, Opens};
use super::number::ArticleNumber;
use super::section::Section;

/// Gives every part a label of its own.
#[derive(Default)]
struct Labels {
    /// The labels given out, each with the count that comes next.
    used: HashMap<String, usize>,
    annex: Option<String>,
    chapter: Option<String>,
}

/// The parts that the sections of a contract are.
pub(super) fn labelled(sections: Vec<Section>) -> Vec<Article> {
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
