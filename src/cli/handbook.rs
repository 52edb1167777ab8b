//! The handbook: planwright's own documents, for the tool `docs` where the user names no folder.

/// The documents, by the path they have in the repository.
pub fn documents() -> Vec<(String, String)> {
    DOCUMENTS.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// Every document that is built in. README.md, docs/ARCHITECTURE.md and docs/guide/*.md belong
/// here: `("README.md", include_str!("../../README.md"))`.
const DOCUMENTS: &[(&str, &str)] = &[];
