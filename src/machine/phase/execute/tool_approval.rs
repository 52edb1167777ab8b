//! Tool approval: a step whose tool is called only when a person approves it. They see the very input
//! that the tool is called with, and are asked once, however often the step is tried.

use crate::machine::awaits::Stage;
use crate::machine::person::{Heard, No};
use crate::machine::run::Run;
use crate::machine::state::{ExecuteStage, StepOutput, StepRun};
use crate::machine::vocabulary::{Concern, HumanAnswer};

/// What a person said about a call.
pub(super) enum CallAnswer {
    /// The tool is to be called.
    Approved,
    /// Their own answer stands in the place of the call.
    Instead(StepRun),
    No(No),
}

impl Run<'_> {
    /// Asks a person whether the tool of a step may be called.
    pub(super) fn ask_call_approval(&mut self, stage: &mut ExecuteStage, step: u32) {
        if let Some(slot) = self.task.slot(step) {
            *slot = StepRun::WaitingHuman;
        }
        *stage = ExecuteStage::AwaitingCallApproval { step };
        self.task.current().calls_asked.push(step);
        self.ask(Stage::Execute(stage));
    }

    pub(super) fn hear_call_approval(&mut self, step: u32) -> Option<CallAnswer> {
        let name = self.task.step_name(step);
        Some(match self.hear(&name, Concern::Call)? {
            Heard::No(no) => CallAnswer::No(no),
            Heard::Answer(HumanAnswer::Respond { text }) => {
                CallAnswer::Instead(StepRun::completed(StepOutput::Text(text), 0))
            }
            Heard::Answer(HumanAnswer::EditInput { input }) => {
                if let Some(progress) = self.task.progress.as_mut() {
                    progress.replace_input(step, input);
                }
                CallAnswer::Approved
            }
            Heard::Answer(_) => CallAnswer::Approved,
        })
    }
}
