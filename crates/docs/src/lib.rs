//! The local document tools: `docs` over a folder, the articles of a contract, `calc`.

pub mod articles;
mod calc;
pub mod docs;
mod index;
mod read;
mod terms;

pub use articles::{Articles, ContractTools};
pub use calc::Calc;
pub use docs::Docs;
