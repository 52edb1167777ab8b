//! Tools and answers as Rust types.

mod answers;
mod async_code;
mod examples;
mod tools;
