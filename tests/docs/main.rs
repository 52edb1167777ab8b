//! The local document tools.

mod articles;
mod calc;
mod contracts;
mod folder;
mod toolbox;
