//! What the parts of a contract are called. Numbers begin again in annexes and supplementary provisions, and
//! a number may come twice by mistake; no two parts get the same label all the same.

use std::collections::HashMap;

use super::article::{Article, ArticleNumber};
use super::heading::{Heading, Opens, Section};

/// Gives every part a label of its own.
#[derive(Default)]
struct Labels {
    /// The labels given out, each with the count that comes next.
    used: HashMap<String, usize>,
    annex: Option<String>,
    chapter: Option<String>,
}

/// The parts that the sections of a contract are.
pub(super) fn label(sections: Vec<Section>) -> Vec<Article> {
    let english = sections.iter().find_map(|section| match section.heading.as_ref()?.opens {
        Opens::Article { english, .. } => Some(english),
        _ => None,
    });
    let preamble = if english == Some(true) { "Preamble" } else { "전문" };
    let mut labels = Labels::default();
    let mut parts: Vec<Article> = Vec::with_capacity(sections.len());
    let mut sections = sections.into_iter().peekable();
    while let Some(Section { heading, text }) = sections.next() {
        let bare = text.is_empty();
        let headed = bare && sections.peek().is_some_and(|next| next.number().is_some());
        let opened = match heading {
            None => (!bare).then(|| (labels.unique(preamble.to_owned()), None, None)),
            Some(heading) => labels.open(heading, bare, headed),
        };
        let Some((label, number, title)) = opened else { continue };
        let annex = labels.annex.clone().filter(|_| number.is_some());
        parts.push(Article { label, number, title, text, chapter: labels.chapter.clone(), annex });
    }
    parts
}

type Opened = (String, Option<ArticleNumber>, Option<String>);

impl Labels {
    /// The label, number and title of a part; `None` for a heading that has nothing of its own but the
    /// articles below it.
    fn open(&mut self, heading: Heading, bare: bool, headed: bool) -> Option<Opened> {
        let Heading { opens, title, .. } = heading;
        match opens {
            Opens::Article { number, english, .. } => {
                let label = match (english, number.branch) {
                    (true, _) => format!("Article {number}"),
                    (false, None) => format!("제{}조", number.article),
                    (false, Some(branch)) => format!("제{}조의{branch}", number.article),
                };
                let annex = self.annex.as_ref().map(|annex| format!("{annex} ")).unwrap_or_default();
                Some((self.unique(annex + &label), Some(number), title))
            }
            Opens::Annex { label } => {
                let label = self.unique(label);
                (self.annex, self.chapter) = (Some(label.clone()), None);
                (!headed).then_some((label, None, title))
            }
            Opens::Chapter { label } => {
                let title_behind = title.as_ref().map(|title| format!(" {title}")).unwrap_or_default();
                self.chapter = Some(format!("{label}{title_behind}"));
                (!bare).then(|| (self.unique(label), None, title))
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

    /// The label, with a count behind it if it was given out before.
    fn unique(&mut self, label: String) -> String {
        let mut count = self.used.get(&label).copied().unwrap_or(1);
        let mut unique = if count == 1 { label.clone() } else { format!("{label} [{count}]") };
        // Ends: only so many labels have been given out.
        while self.used.contains_key(&unique) {
            count += 1;
            unique = format!("{label} [{count}]");
        }
        self.used.insert(label, count + 1);
        self.used.entry(unique.clone()).or_insert(2);
        unique
    }
}
