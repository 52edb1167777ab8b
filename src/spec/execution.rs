//! Execution: how many steps run at a time.

use serde::{Deserialize, Serialize};

/// How the steps of a plan run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case", try_from = "Written")]
pub enum Execution {
    /// One by one, in plan order.
    #[default]
    Sequential,
    /// Each as soon as the steps it waits for are finished, at most `width` at a time. A write that
    /// is not idempotent runs alone.
    Parallel {
        /// Most steps at a time.
        width: u32,
    },
}

impl Execution {
    /// Most steps that run at a time.
    pub fn width(self) -> u32 {
        match self {
            Execution::Sequential => 1,
            Execution::Parallel { width } => width,
        }
    }
}

/// The same as it is written: `width` goes with one of the modes and not with the other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    mode: Mode,
    width: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Sequential,
    Parallel,
}

impl TryFrom<Written> for Execution {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        match (written.mode, written.width) {
            (Mode::Sequential, None) => Ok(Execution::Sequential),
            (Mode::Sequential, Some(_)) => Err("`width` is never read: `mode` is \"sequential\""),
            (Mode::Parallel, Some(width)) => Ok(Execution::Parallel { width }),
            (Mode::Parallel, None) => Err("`width` is needed: `mode` is \"parallel\""),
        }
    }
}
