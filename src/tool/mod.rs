//! Tools: the doors through which a plan's steps reach the world.
//!
//! A tool is a [`Tool`](crate::driver::Tool): a contract and a blocking call. The shipped ones are
//! `calc` (feature `calc`), `docs` and the four that read a legal contract (feature `docs`), `wiki`,
//! `lookup` and `search` (feature `http`); their contracts are data, in [`agents`](crate::agents).
//! [`FnTool`] makes one of a closure, and a [`ToolBox`] holds those that a run may call.
//! Tools that look for meaning turn texts into vectors through an [`Embedder`].
//!
//! What a tool found comes with its sources, so that an answer can name them.
//!
//! **Invariant:** a tool decides nothing about the run. Whatever goes wrong is a
//! [`ToolError`](crate::driver::ToolError), and the machine says what follows. No tool prints, none
//! keeps anything from one call to the next that would change an answer, and none lets a key out.

mod embedder;
mod function;
mod toolbox;

#[cfg(feature = "docs")]
pub mod articles;
#[cfg(feature = "calc")]
mod calc;
#[cfg(feature = "docs")]
pub mod docs;
#[cfg(feature = "http")]
mod embeddings;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "docs")]
mod index;
#[cfg(feature = "http")]
pub mod retry;
#[cfg(feature = "http")]
mod search;
#[cfg(feature = "http")]
mod wiki;

#[cfg(feature = "docs")]
pub use articles::{Articles, ContractTools};
#[cfg(feature = "calc")]
pub use calc::Calc;
#[cfg(feature = "docs")]
pub use docs::Docs;
pub use embedder::Embedder;
#[cfg(feature = "http")]
pub use embeddings::Embeddings;
pub use function::FnTool;
#[cfg(feature = "http")]
pub use search::Search;
pub use toolbox::ToolBox;
#[cfg(feature = "http")]
pub use wiki::{Lookup, Wiki};

/// The contract that is shipped for a tool of this folder.
#[cfg(any(feature = "calc", feature = "docs", feature = "http"))]
fn shipped(name: &str) -> crate::contract::ToolContract {
    crate::agents::tool(name).expect("agents/tools.toml holds a contract for every tool in tool/")
}

/// The call's text without the blanks around it.
#[cfg(any(feature = "calc", feature = "docs", feature = "http"))]
fn words<'a>(call: &crate::driver::ToolCall<'a>, wanted: &str) -> Result<&'a str, crate::driver::ToolError> {
    let text = call.text()?.trim();
    if text.is_empty() {
        return Err(crate::driver::ToolError::new(
            "input",
            format!("expected {wanted}, found an empty text"),
        ));
    }
    Ok(text)
}

/// The first `most` characters.
#[cfg(any(feature = "calc", feature = "docs", feature = "http"))]
fn cut(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

/// The results as compact JSON, without the last ones where all of them would be too long.
#[cfg(any(feature = "docs", feature = "http"))]
fn json_within<T: serde::Serialize>(results: &mut Vec<T>, most_bytes: usize) -> String {
    loop {
        let json = serde_json::to_string(results).expect("records of texts are JSON");
        if json.len() <= most_bytes || results.is_empty() {
            return json;
        }
        results.pop();
    }
}

/// The sources without those that were there before, in their order.
#[cfg(any(feature = "docs", feature = "http"))]
fn each_once(sources: Vec<crate::contract::Source>) -> Vec<crate::contract::Source> {
    let mut different = Vec::with_capacity(sources.len());
    for source in sources {
        if !different.contains(&source) {
            different.push(source);
        }
    }
    different
}
