//! Human: a step that a person does. Nothing else moves until they have answered.

use crate::machine::awaits::Stage;
use crate::machine::edit::link_rest_edit;
use crate::machine::person::{Heard, No};
use crate::machine::run::Run;
use crate::machine::state::{ExecuteStage, StepOutput, StepRun};
use crate::machine::vocabulary::{Concern, HumanAnswer};

impl Run<'_> {
    /// Asks a person about a step.
    pub(super) fn ask_human(&mut self, stage: &mut ExecuteStage, step: u32) {
        if let Some(slot) = self.task.slot(step) {
            *slot = StepRun::WaitingHuman;
        }
        *stage = ExecuteStage::AwaitingHuman { step };
        self.ask(Stage::Execute(stage));
    }

    /// Takes what they said: the step's result, or a no.
    pub(super) fn hear_human(&mut self, step: u32) -> Option<Result<StepRun, No>> {
        let name = self.task.step_name(step);
        let answer = match self.hear(&name, Concern::Step)? {
            Heard::Answer(answer) => answer,
            Heard::No(no) => return Some(Err(no)),
        };
        let output = match answer {
            HumanAnswer::Respond { text } => StepOutput::Text(text),
            HumanAnswer::Edit { steps } => {
                // It passed this very check before it was taken.
                if let Ok(links) = link_rest_edit(self.rules, &self.task, &steps)
                    && let Some(progress) = self.task.progress.as_mut()
                {
                    if let Some(slot) = progress.steps.get_mut(step as usize) {
                        *slot = StepRun::completed(StepOutput::Edited, 1);
                    }
                    progress.replace_pending(steps, links, self.rules);
                }
                StepOutput::Edited
            }
            _ => StepOutput::Approved,
        };
        Some(Ok(StepRun::completed(output, 1)))
    }
}
