//! Models: the doors through which a run asks for words.
//!
//! [`openai`] speaks to any server with an OpenAI-compatible chat-completions endpoint, [`offline`]
//! answers by rule without one, [`scripted`] answers from a list, and [`cache`] remembers what
//! another one answered. Each is a [`driver::Model`](crate::driver::Model).
//!
//! **Invariant:** no text that leaves this folder in an error holds a configured key.

pub mod cache;
#[cfg(feature = "http")]
pub(crate) mod http;
pub mod offline;
#[cfg(feature = "http")]
pub mod openai;
pub mod scripted;

pub use cache::Cached;
pub use offline::Offline;
#[cfg(feature = "http")]
pub use openai::{OpenAi, OpenAiConfig, StructuredOutput};
pub use scripted::ScriptedModel;
