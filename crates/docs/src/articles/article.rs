//! The parts of a contract: articles with their numbers, and what stands beside them.

use std::fmt;

/// The number of an article: 5, or 5 and 2 for «제5조의2» and "Article 5-2".
///
/// ```
/// use planwright_docs::articles::ArticleNumber;
///
/// assert_eq!(ArticleNumber { article: 5, branch: Some(2) }.to_string(), "5-2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArticleNumber {
    /// The number itself.
    pub article: u32,
    /// The number of an article that was inserted behind it later.
    pub branch: Option<u32>,
}

impl fmt::Display for ArticleNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.branch {
            Some(branch) => write!(f, "{}-{branch}", self.article),
            None => write!(f, "{}", self.article),
        }
    }
}

impl ArticleNumber {
    /// Reads digits, at most four, or a Roman number of capital letters.
    pub(super) fn parse(article: &str, branch: Option<&str>) -> Option<Self> {
        let digits = |text: &str| if text.len() <= 4 { text.parse().ok() } else { None };
        let article = digits(article).or_else(|| parse_roman(article))?;
        Some(ArticleNumber { article, branch: branch.and_then(digits) })
    }

    /// Whether this one follows that one without a gap.
    pub(super) fn follows(self, before: Option<ArticleNumber>) -> bool {
        let Some(before) = before else { return self.article == 1 && self.branch.is_none() };
        match self.branch {
            None => self.article == before.article + 1,
            Some(branch) => {
                self.article == before.article && branch == before.branch.map_or(2, |branch| branch + 1)
            }
        }
    }
}

fn parse_roman(letters: &str) -> Option<u32> {
    let (mut total, mut most) = (0_u32, 0);
    for letter in letters.bytes().rev() {
        let (_, value) = *[(b'I', 1), (b'V', 5), (b'X', 10), (b'L', 50), (b'C', 100)]
            .iter()
            .find(|(known, _)| *known == letter)?;
        total = if value < most { total.checked_sub(value)? } else { total + value };
        most = most.max(value);
    }
    (total > 0).then_some(total)
}

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
    /// Its name without its title: «제5조», «제5조의2», «부칙 제1조», "Article 5", «별지 1», «전문». No two
    /// parts of a contract have the same; a second «제5조» is `제5조 [2]`.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The number, if it is an article.
    pub fn number(&self) -> Option<ArticleNumber> {
        self.number
    }

    /// The title, if it has one.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// What stands below the heading.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The chapter it stands in, if the contract has chapters.
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
