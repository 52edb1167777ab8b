//! One document: its name, its stamp and where its text comes from.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

use super::html;
use super::passages::{Markup, split};
use crate::index::{Entry, Stamp};

/// How the names of documents end.
pub(super) const ENDINGS: [&str; 7] = ["md", "markdown", "txt", "html", "htm", "rst", "adoc"];

/// A document of a folder or a built-in one.
#[derive(Debug)]
pub(super) struct Document {
    /// The path from the folder, with `/`, composed; or the name.
    pub name: String,
    pub stamp: Stamp,
    pub content: Content,
}

/// Where the text comes from.
#[derive(Debug)]
pub(super) enum Content {
    File(PathBuf),
    Text(String),
}

/// The ending of a path, if it is one of a document.
pub(super) fn ending(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?;
    ENDINGS.into_iter().find(|known| known.eq_ignore_ascii_case(ending))
}

impl Document {
    /// The text as it is, or why it cannot be read at the moment.
    pub fn text(&self) -> Result<Cow<'_, str>, String> {
        match &self.content {
            Content::Text(text) => Ok(Cow::Borrowed(text)),
            Content::File(path) => super::read::read_text(path).map(Cow::Owned),
        }
    }

    /// The passages of the text by the document's markup, or why it has none.
    pub fn passages(&self, text: &str) -> Result<Vec<Entry>, String> {
        let markup = match ending(Path::new(&self.name)) {
            Some("html" | "htm") => {
                let text: String = html::render_text(text)?.nfc().collect();
                return Ok(split(&text, Markup::Markdown));
            }
            Some("adoc") => Markup::AsciiDoc,
            Some("rst") => Markup::Restructured,
            _ => Markup::Markdown,
        };
        Ok(split(&text.nfc().collect::<String>(), markup))
    }
}
