//! Models: the doors through which a run asks for words.
//!
//! [`openai`] speaks to any server with an OpenAI-compatible chat-completions endpoint,
//! [`scripted`] answers from a list. Both are a [`driver::Model`](crate::driver::Model).
//!
//! **Invariant:** no text that leaves this folder in an error holds a configured key.

#[cfg(feature = "http")]
pub(crate) mod http;
#[cfg(feature = "http")]
pub mod openai;
pub mod scripted;

#[cfg(feature = "http")]
pub use openai::{OpenAi, OpenAiConfig, StructuredOutput};
pub use scripted::ScriptedModel;
