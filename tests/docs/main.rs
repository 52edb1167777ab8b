//! The local document tools.

mod articles;
mod cache;
mod calc;
mod contracts;
mod folder;
mod toolbox;
