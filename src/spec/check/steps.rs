//! How the steps of a plan run.

use super::refuse::{Checked, MAX_TRIES, refuse};
use crate::spec::{Execution, Orchestrate, Spec};

/// Most steps that may be allowed to run side by side.
const MAX_WIDTH: u32 = 256;
/// Longest first wait before another try, in milliseconds.
const MAX_WAIT_MS: u64 = 3_600_000;

pub(super) fn check_steps(spec: &Spec) -> Checked {
    let policy = &spec.policy;
    match policy.execution {
        Execution::Parallel { width: 0 } => {
            return refuse("policy.execution.width", "expected at least 1, found 0");
        }
        Execution::Parallel { width } if width > MAX_WIDTH => {
            return refuse("policy.execution.width", "expected at most 256");
        }
        _ => {}
    }
    let tries = policy.step_tries;
    if tries.tries == 0 || tries.tries > MAX_TRIES {
        let problem = format!("expected 1 to {MAX_TRIES}, found {}", tries.tries);
        return refuse("policy.step_tries.tries", problem);
    }
    if tries.wait_ms > MAX_WAIT_MS {
        return refuse("policy.step_tries.wait_ms", format!("expected at most {MAX_WAIT_MS}"));
    }
    if policy.orchestrate == Orchestrate::EachStep {
        if policy.execution != Execution::Sequential {
            return refuse(
                "policy.orchestrate",
                "decides between one step and the next; expected `execution = { mode = \"sequential\" }`",
            );
        }
        if spec.agents.is_empty() {
            return refuse("policy.orchestrate", "has no agent to add; expected at least one of `agents`");
        }
    }
    Ok(())
}
