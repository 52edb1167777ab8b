//! One HTTP client, and what speaks HTTP: the OpenAI-compatible model, `wiki`, `lookup` and `search`, embeddings.

mod embeddings;
mod http;
pub mod openai;
pub mod retry;
mod search;
mod transport;
mod wiki;

pub use embeddings::Embeddings;
pub use openai::{OpenAi, OpenAiConfig, StructuredOutput};
pub use search::Search;
pub use wiki::{Lookup, Wiki};
