//! Chance: numbers that nobody else has drawn, for names and ids.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A number that is another at every call. The standard library's hash keys are the one source of chance
/// that needs no further crate; nothing that guards something may rest on it.
pub fn chance() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A name that is given once: `<process id>-<16 random digits>`.
pub fn unique() -> String {
    format!("{}-{:016x}", std::process::id(), chance())
}
