//! Bounds: the most that any run of an agent can do, from its spec alone.

use serde::{Deserialize, Serialize};

/// The most that any run can do. Every run whose effects are answered ends within these numbers.
///
/// ```
/// let rules = planwright::agents::shipped("validated").unwrap().check()?;
/// // Three plans and three verdicts, each asked for twice at most, and an answer, asked for twice.
/// assert_eq!(rules.bounds().model_calls, 14);
/// # Ok::<(), planwright::spec::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Most model calls, repairs and those of nested runs included.
    pub model_calls: u32,
    /// Most tool calls, further tries and those of nested runs included.
    pub tool_calls: u32,
    /// Most transitions: one for each answer, the last included.
    pub transitions: u32,
}
