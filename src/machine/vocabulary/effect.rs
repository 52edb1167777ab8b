//! Effects: what a run asks of the world.

use serde::{Deserialize, Serialize};

use super::effect_id::EffectId;
use super::event::Event;
use crate::spec::RoleName;

/// What a run asks of the world. Small: [`Request::of`](crate::prompt::Request::of) renders what is asked
/// from the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Effect {
    /// Ask the model in one of its roles.
    AskModel {
        /// The id its answer must carry.
        id: EffectId,
        /// The role to ask.
        role: RoleName,
    },
    /// Call one tool once. Whether to try again is a rule of the machine, never of the driver.
    CallTool {
        /// The id its answer must carry.
        id: EffectId,
        /// The step's position in the plan, from 0.
        step: u32,
    },
    /// Ask a person: to do a step, to approve its call, or to approve a plan. The answer may come next
    /// week.
    AskHuman {
        /// The id its answer must carry.
        id: EffectId,
        /// The step's position in the plan, from 0; of a plan, that of its first step.
        step: u32,
    },
    /// Let time pass before another try.
    Wait {
        /// The id its answer must carry.
        id: EffectId,
        /// How long, in milliseconds.
        delay_ms: u64,
    },
}

impl Effect {
    /// The id that the answer must carry.
    pub fn id(&self) -> EffectId {
        match self {
            Effect::AskModel { id, .. }
            | Effect::CallTool { id, .. }
            | Effect::AskHuman { id, .. }
            | Effect::Wait { id, .. } => *id,
        }
    }

    /// Whether an event of this kind answers it.
    pub(in crate::machine) fn is_answered_by(&self, event: &Event) -> bool {
        match event {
            Event::ModelReplied { .. } | Event::ModelFailed { .. } => matches!(self, Effect::AskModel { .. }),
            Event::ToolReturned { .. } => matches!(self, Effect::CallTool { .. }),
            Event::HumanAnswered { .. } | Event::Expired { .. } => matches!(self, Effect::AskHuman { .. }),
            Event::TimePassed { .. } => matches!(self, Effect::Wait { .. }),
            Event::Cancelled { .. } | Event::DeadlinePassed => true,
        }
    }

    /// The effect under another id.
    pub(in crate::machine) fn under(mut self, other: EffectId) -> Self {
        match &mut self {
            Effect::AskModel { id, .. }
            | Effect::CallTool { id, .. }
            | Effect::AskHuman { id, .. }
            | Effect::Wait { id, .. } => *id = other,
        }
        self
    }
}
