//! Models: the doors through which a run asks for words.
//!
//! [`openai`] speaks to any server with an OpenAI-compatible chat-completions endpoint,
//! [`scripted`] answers from a list, [`offline`] by rule. Each is a
//! [`driver::Model`](crate::driver::Model).
//!
//! **Invariant:** no text that leaves this folder in an error holds a configured key.

#[cfg(feature = "http")]
pub(crate) mod http;
pub mod offline;
#[cfg(feature = "http")]
pub mod openai;
pub mod scripted;

#[cfg(feature = "http")]
pub use openai::{OpenAi, OpenAiConfig, StructuredOutput};
pub use scripted::ScriptedModel;
