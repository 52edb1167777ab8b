//! The parts of a contract: articles with their numbers, and what stands beside them.

use std::fmt;

/// The number of an article: 5, or 5 and 2 for «제5조의2» and "Article 5-2".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ArticleNumber {
    pub article: u32,
    /// The number of an article that was inserted behind it later.
    pub branch: Option<u32>,
}

impl fmt::Display for ArticleNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let branch = self.branch.map(|branch| format!("-{branch}")).unwrap_or_default();
        write!(f, "{}{branch}", self.article)
    }
}

impl ArticleNumber {
    /// Reads digits, at most four, or a Roman number of capital letters.
    pub fn parse(article: &str, branch: Option<&str>) -> Option<Self> {
        let digits = |text: &str| if text.len() <= 4 { text.parse().ok() } else { None };
        let article = digits(article).or_else(|| parse_roman(article))?;
        Some(ArticleNumber { article, branch: branch.and_then(digits) })
    }

    /// Whether this one follows that one without a gap.
    pub fn follows(self, before: Option<ArticleNumber>) -> bool {
        let before = before.unwrap_or(ArticleNumber { article: 0, branch: None });
        match self.branch {
            None => self.article == before.article + 1,
            Some(branch) => self.article == before.article && branch == before.branch.unwrap_or(1) + 1,
        }
    }
}

fn parse_roman(letters: &str) -> Option<u32> {
    let (mut total, mut most) = (0_u32, 0);
    for letter in letters.bytes().rev() {
        let known = [(b'I', 1), (b'V', 5), (b'X', 10), (b'L', 50), (b'C', 100)];
        let (_, value) = known.into_iter().find(|(known, _)| *known == letter)?;
        total = if value < most { total.checked_sub(value)? } else { total + value };
        most = most.max(value);
    }
    (total > 0).then_some(total)
}

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
    /// The number, if it is an article.
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
