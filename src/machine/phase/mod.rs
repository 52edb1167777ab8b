//! The phases, one after the other. A phase names the run, its state and the vocabulary, and no other
//! phase: it ends in an exit, and `route.rs` says what follows.

mod ending;
mod execute;
mod plan;
mod validate;
mod write;
