//! One part of a contract.

use super::number::ArticleNumber;

/// An article of a contract, or another part of it: the preamble, an annex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Article {
    pub(super) label: String,
    pub(super) number: Option<ArticleNumber>,
    pub(super) title: Option<String>,
    pub(super) text: String,
    pub(super) chapter: Option<String>,
    /// The label of the annex or the supplementary provisions it stands in.
    pub(super) annex: Option<String>,
}

impl Article {
    /// What it is called without its title: «제5조», «제5조의2», «부칙 제1조», "Article 5", «별지 1», «전문».
    /// No two parts of a contract have the same; a second «제5조» is `제5조 [2]`.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The number, where it is an article.
    pub fn number(&self) -> Option<ArticleNumber> {
        self.number
    }

    /// The title, where it has one.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// What stands below the heading.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The chapter it stands in, where there are chapters.
    pub fn chapter(&self) -> Option<&str> {
        self.chapter.as_deref()
    }

    /// Its line of the outline: the label and the title, «제5조 (비밀유지)». A source names the part so.
    pub fn part(&self) -> String {
        match &self.title {
            Some(title) => format!("{} ({title})", self.label),
            None => self.label.clone(),
        }
    }
}
