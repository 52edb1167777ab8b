//! One HTTP client, and what speaks HTTP: models behind OpenAI-compatible servers and Anthropic's Messages, `wiki`,
//! `lookup` and `search`, embeddings.

/// The way to the server, which each tool that has a client lets its user set.
macro_rules! client_methods {
    () => {
        /// Trusts these certificates and goes through this proxy.
        ///
        /// # Errors
        /// If the file holds no certificate, or the address is none of a proxy.
        pub fn through(mut self, network: &crate::Network) -> Result<Self, ToolError> {
            self.client.go_through(network).map_err(ToolError::input)?;
            Ok(self)
        }

        /// Sets how often and how patiently a failed request is made again.
        #[must_use]
        pub fn retry(mut self, retry: crate::Retry) -> Self {
            self.client.retry = retry;
            self
        }
    };
}

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
