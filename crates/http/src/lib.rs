//! One HTTP client, and what speaks HTTP: the OpenAI-compatible model, `wiki`, `lookup` and `search`, embeddings.

mod client;
mod embeddings;
mod openai;
mod search;
mod wiki;

pub use client::{Retry, credentials, is_credential, show_address};
pub use embeddings::Embeddings;
pub use openai::{OpenAi, OpenAiConfig, StructuredOutput};
pub use search::Search;
pub use wiki::{Lookup, MediaWiki, Wiki};
