//! One HTTP client, and what speaks HTTP: models behind OpenAI-compatible servers and Anthropic's Messages, `wiki`,
//! `lookup` and `search`, embeddings.

mod anthropic;
mod client;
mod door;
mod embeddings;
mod fallback;
mod openai;
mod responses;
mod search;
mod wiki;

pub use anthropic::Anthropic;
pub use client::{Bare, BareError, BareResponse, Network, Retry, credentials, is_credential, show_address};
pub use door::{Door, ModelConfig, StructuredOutput};
pub use embeddings::Embeddings;
pub use fallback::Fallback;
pub use openai::OpenAi;
pub use responses::Responses;
pub use search::Search;
pub use wiki::{Lookup, MediaWiki, Wiki};
