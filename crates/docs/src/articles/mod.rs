//! The articles of a legal contract, and the four tools that read them: `hybrid_search`,
//! `get_article_by_index`, `get_article_by_title` (over the user's contract) and
//! `lookup_standard_contract` (over the standard one it is compared with).
//!
//! A contract is Markdown or plain text whose articles have headings on lines of their own. It is read
//! once and never changed, and what it says is never more than text: the results are untrusted by
//! contract. A legal contract has nothing to do with [`contract`](planwright::contract), which is about what
//! models must say.

mod contract;
mod find;
mod heading;
mod line;
mod parse;
mod tools;

use std::fmt;
use std::path::Path;

use unicode_normalization::UnicodeNormalization;

use planwright::ports::ToolError;

use crate::read::read_text;
pub use parse::Article;
pub use tools::ContractTools;

const MAX_CONTRACT_BYTES: usize = 8 << 20;

/// The articles and the other parts of one contract, in their order.
///
/// ```
/// use planwright_docs::Articles;
///
/// let text = "# 이용계약서\n제1조 (목적)\n이 계약은 이용 조건을 정한다.\n제2조【요금】 월 5만 원으로 한다.";
/// let contract = Articles::parse("이용계약서.md", text).unwrap();
///
/// assert_eq!(contract.outline(), ["전문", "제1조 (목적)", "제2조 (요금)"]);
/// assert_eq!(contract.parts()[2].text, "월 5만 원으로 한다.");
/// assert!(Articles::parse("letter.txt", "Dear Sir,").is_err());
/// ```
#[derive(Clone)]
pub struct Articles {
    name: String,
    parts: Vec<Article>,
}

impl Articles {
    /// Reads a contract: Markdown or plain text with headings like «제1조 (목적)», «제1조의2【정의】»,
    /// «제1조 목적», «Article 1. Purpose» or «## Article 1 — Purpose». `name` is what people know it by.
    ///
    /// # Errors
    /// Where the text has no such heading, more than 8 MiB or more than 10,000 parts; the text says what
    /// was expected.
    pub fn parse(name: &str, text: &str) -> Result<Self, ToolError> {
        let fail = |problem: String| ToolError::input(format!("{name}: {problem}"));
        if text.len() > MAX_CONTRACT_BYTES {
            return Err(fail(format!("expected at most {MAX_CONTRACT_BYTES} bytes, found {}", text.len())));
        }
        let text: String = text.trim_start_matches('\u{feff}').nfc().collect();
        let parts = parse::parse_parts(&text).map_err(fail)?;
        Ok(Articles { name: name.to_owned(), parts })
    }

    /// Reads a contract from a file of UTF-8 or, with a byte order mark, UTF-16. Its name is the file's.
    ///
    /// # Errors
    /// Where the file cannot be read or is no text, and as [`parse`](Articles::parse).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ToolError> {
        let path = path.as_ref();
        let fail = |problem: String| ToolError::input(format!("{}: {problem}", path.display()));
        let read = read_text(path, MAX_CONTRACT_BYTES as u64)
            .map_err(|error| fail(format!("the contract cannot be read: {error}")))?;
        let Some((text, complete)) = read else {
            return Err(fail(format!("expected at most {MAX_CONTRACT_BYTES} bytes, found more")));
        };
        // Binary formats hold a zero sooner or later.
        if !complete || text.contains('\0') {
            let expected = "expected Markdown or plain text in UTF-8 or UTF-16";
            return Err(fail(format!("{expected}, found another encoding or no text")));
        }
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let name: String = name.nfc().collect();
        Articles::parse(&name, &text)
    }

    /// A short contract on software as a service, in Korean: what the tools read if the user names
    /// none. It was written for this crate and binds no one.
    pub fn example() -> Self {
        shipped("소프트웨어 구독 서비스 이용계약서 (예시)", include_str!("contracts/service.ko.md"))
    }

    /// A model contract on the same subject, to compare the user's with. It was written for this crate;
    /// no authority has published it.
    pub fn example_standard() -> Self {
        shipped("소프트웨어 구독 서비스 표준계약서 (예시)", include_str!("contracts/standard.ko.md"))
    }

    /// What people know the contract by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The articles and the other parts, in their order. There is at least one.
    pub fn parts(&self) -> &[Article] {
        &self.parts
    }

    /// The [`part`](Article::part) of each: what there is to be read. The sources of what the tools find
    /// in the user's contract name their parts in the same words.
    pub fn outline(&self) -> Vec<String> {
        self.parts.iter().map(Article::part).collect()
    }
}

impl fmt::Debug for Articles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Articles").field("name", &self.name).field("parts", &self.parts.len()).finish()
    }
}

fn shipped(name: &str, text: &str) -> Articles {
    Articles::parse(name, text).expect("the test `the_shipped_contracts_are_read_whole` reads each of them")
}
