//! The handbook: planwright's own documents, for the tool `docs` if the user names no folder.

/// The documents, by the path they have in the repository.
pub fn documents() -> Vec<(String, String)> {
    DOCUMENTS.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// Every document that is built in.
const DOCUMENTS: &[(&str, &str)] = &[
    ("README.md", include_str!("../../../README.md")),
    ("docs/ARCHITECTURE.md", include_str!("../../../docs/ARCHITECTURE.md")),
    ("docs/guide/runs.md", include_str!("../../../docs/guide/runs.md")),
    ("docs/guide/ko.md", include_str!("../../../docs/guide/ko.md")),
    ("docs/guide/agents.md", include_str!("../../../docs/guide/agents.md")),
    ("docs/guide/specs.md", include_str!("../../../docs/guide/specs.md")),
    ("docs/guide/fixtures.md", include_str!("../../../docs/guide/fixtures.md")),
    ("docs/guide/models.md", include_str!("../../../docs/guide/models.md")),
];
