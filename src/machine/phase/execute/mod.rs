//! Execute: runs the steps of an accepted plan. This phase never makes a plan; a failed step is a
//! result, and `route.rs` decides what follows.
//!
//! One step's way, top to bottom in this file:
//!
//! ```text
//!  advance ─▶ dispatch ─┬─ needs no call ────────────────────────────────────┐
//!     ▲                 ├─ a person does it, or must approve its call ─┐     │
//!     │                 └─ call: a tool · an agent · a nested run ◀──┤     │
//!     │                        ▲          │ answered               │     │
//!     │                        │          ▼                        ▼     ▼
//!     │                        └─ wait ◀─ finish_try ──────────▶ its slot
//!     └─────────────── go_on, by the orchestrator's word ◀──────────┘
//!                         └─ nothing runs any more ─▶ leave_execute
//! ```
//!
//! Steps sit in slots. Answers may come in any order; what the run looks like when EXECUTE is left
//! does not depend on it.

mod call;
mod orchestrate;

use self::call::{nested_input, result_without_call};
use crate::machine::admit::link_edit;
use crate::machine::awaits::Stage;
use crate::machine::need::happens_once;
use crate::machine::person::{Heard, No};
use crate::machine::route::Exit;
use crate::machine::run::{Begin, Incoming, Run};
use crate::machine::state::{ExecuteStage, Feedback, StepOutput, StepRun};
use crate::machine::vocabulary::{Concern, Effect, EffectKind, ErrorCode, Event, HumanAnswer, Place};
use crate::spec::{CompiledAgent, Execution, OnStepFailure, Orchestrate, RoleName};

/// What the re-planner is told after a failed step.
const STEP_FAILED_HINT: &str = "Plan another way to what the failed step was for.";

/// What becomes of a step that may start.
enum Dispatch {
    /// It has its result without a call.
    Recorded(StepRun),
    AskHuman,
    AskCallApproval,
    Call,
    /// It must run alone, and others run.
    NotYet,
}

impl Run<'_> {
    /// Starts the first steps, if the whole plan is within the limits.
    pub(in crate::machine) fn enter_execute(&mut self, stage: &mut ExecuteStage) {
        if self.allows_plan(0) {
            self.go_on(stage);
        }
    }

    /// Asks what becomes of the rest of the plan, where the policy has it asked, or starts what may
    /// start.
    fn go_on(&mut self, stage: &mut ExecuteStage) {
        if self.rules.policy().orchestrate == Orchestrate::EachStep && self.decision_is_due() {
            return self.ask_decision(stage);
        }
        self.advance(stage);
    }

    /// Starts every step that may start, lowest first, and leaves the phase when none runs any more.
    fn advance(&mut self, stage: &mut ExecuteStage) {
        *stage = ExecuteStage::Running;
        let width = self.rules.policy().execution.width();
        loop {
            let Some(progress) = self.task.progress.as_mut() else { return };
            let schedule = &progress.schedule;
            if schedule.running >= width || schedule.alone {
                return;
            }
            let Some(&step) = schedule.ready.first() else { break };
            // What a person looks at does not depend on which of the steps before answered first.
            if schedule.people.first().is_some_and(|&person| person < step) {
                break;
            }
            let Some(dispatch) = self.dispatch(step) else { break };
            let Some(progress) = self.task.progress.as_mut() else { return };
            match dispatch {
                Dispatch::NotYet => return,
                Dispatch::Recorded(result) => {
                    progress.schedule.ready.remove(&step);
                    progress.finish(step, result);
                    continue;
                }
                Dispatch::AskHuman => {
                    progress.begin(step);
                    return self.ask_person(stage, step, ExecuteStage::AwaitingHuman { step });
                }
                Dispatch::AskCallApproval => {
                    progress.begin(step);
                    return self.ask_person(stage, step, ExecuteStage::AwaitingCallApproval { step });
                }
                Dispatch::Call => {
                    progress.begin(step);
                    self.call(step, 1);
                }
            }
            if self.has_ended() {
                return;
            }
        }
        if self.task.progress.as_ref().is_some_and(|progress| progress.schedule.running == 0) {
            self.leave_execute();
        }
    }

    /// Decides what becomes of a step that may start, and whether it runs alone.
    fn dispatch(&mut self, step: u32) -> Option<Dispatch> {
        let rules = self.rules;
        let progress = self.task.progress.as_mut()?;
        let planned = progress.plan.steps.get(step as usize)?;
        if let Some(result) = result_without_call(progress, step, planned, rules) {
            return Some(Dispatch::Recorded(result));
        }
        let asks_human = rules.policy().approval.steps && planned.is_hitl();
        let asks = asks_human || rules.needs_approval(&planned.tool);
        // One by one, every step runs alone.
        let alone = asks || (rules.policy().execution.width() > 1 && happens_once(planned, rules));
        if alone && progress.schedule.running > 0 {
            return Some(Dispatch::NotYet);
        }
        progress.schedule.alone = alone;
        Some(match (asks_human, asks) {
            (true, _) => Dispatch::AskHuman,
            (false, true) => Dispatch::AskCallApproval,
            (false, false) => Dispatch::Call,
        })
    }

    /// Asks a person to do a step, or whether its tool may be called. They see the very input that the
    /// tool is called with, and are asked once, however often the step is tried.
    fn ask_person(&mut self, stage: &mut ExecuteStage, step: u32, asking: ExecuteStage) {
        if let Some(slot) = self.task.slot(step) {
            *slot = StepRun::WaitingHuman;
        }
        *stage = asking;
        self.ask(Stage::Execute(stage));
    }

    /// Makes one try of a step: calls its tool, asks its agent, or begins a run of its own.
    fn call(&mut self, step: u32, attempt: u32) {
        let rules = self.rules;
        let Some(planned) = self.task.planned(step) else { return };
        let agent = rules.agent(&planned.tool);
        let draft = self.task.draft;
        let id = EffectKind::Step { draft, step, attempt }.into();
        let nested = matches!(agent, Some(CompiledAgent::Spec(_)));
        if let Some(CompiledAgent::Spec(inner)) = agent {
            let Some((input, tainted)) = nested_input(rules, &self.task, step) else { return };
            self.begin(id, inner, Begin { place: Place { draft, step, attempt }, input, tainted });
        }
        if let Some(slot) = self.task.slot(step) {
            *slot = if nested { StepRun::Nested { attempt } } else { StepRun::Running { attempt } };
        }
        match agent {
            Some(CompiledAgent::Spec(_)) => return,
            Some(CompiledAgent::Role(_)) => self.emit(Effect::AskModel { id, role: RoleName::Agent }),
            None => self.emit(Effect::CallTool { id, step }),
        };
    }

    /// Takes an answer to the step that it is for.
    pub(in crate::machine) fn on_execute(&mut self, stage: &mut ExecuteStage) {
        let id = match &self.incoming {
            Some(Incoming::Event(event)) => event.answers().filter(|id| id.path.is_empty()),
            Some(Incoming::NestedEnded { .. }) => {
                if let Some(Incoming::NestedEnded { step, result }) = self.incoming.take() {
                    self.finish_try(stage, step, result);
                }
                return;
            }
            None => None,
        };
        match id.map(|id| id.kind) {
            Some(EffectKind::Orchestrate { .. }) => {
                let goes_on = self.hear_decision(stage);
                if goes_on {
                    self.advance(stage);
                }
            }
            Some(EffectKind::Human { step, .. }) => self.hear_about_step(stage, step),
            Some(EffectKind::ApproveCall { step, .. }) => self.hear_about_call(stage, step),
            Some(EffectKind::Wait { step, attempt, .. }) => {
                if let Some(Event::TimePassed { .. }) = self.take_event() {
                    self.call(step, attempt);
                }
            }
            Some(EffectKind::Step { step, attempt, .. }) => {
                if let Some(result) = self.take_outcome(step, attempt) {
                    self.finish_try(stage, step, result);
                }
            }
            _ => {}
        }
    }

    /// Takes a person's answer about a step: its result, or a no.
    fn hear_about_step(&mut self, stage: &mut ExecuteStage, step: u32) {
        let name = self.task.step_name(step);
        let asked = EffectKind::Human { draft: self.task.draft, step };
        let output = match self.hear(&name, Concern::Step) {
            Some(Heard::Answer(HumanAnswer::Respond { text })) => StepOutput::Text(text),
            Some(Heard::Answer(HumanAnswer::Edit { steps })) => {
                // It passed this very check before it was taken.
                if let Ok(links) = link_edit(self.rules, &self.task, asked, &steps)
                    && let Some(progress) = self.task.progress.as_mut()
                {
                    if let Some(slot) = progress.steps.get_mut(step as usize) {
                        *slot = StepRun::completed(StepOutput::Edited, 1);
                    }
                    progress.replace_pending(steps, links, self.rules);
                }
                StepOutput::Edited
            }
            Some(Heard::Answer(_)) => StepOutput::Approved,
            Some(Heard::No(no)) => return self.reject_step(step, no, 1),
            None => return,
        };
        self.finish_try(stage, step, StepRun::completed(output, 1));
    }

    /// Takes what a person said about a call: the tool is called, their own answer stands in the place
    /// of the call, or a no.
    fn hear_about_call(&mut self, stage: &mut ExecuteStage, step: u32) {
        let name = self.task.step_name(step);
        let answer = match self.hear(&name, Concern::Call) {
            Some(Heard::Answer(answer)) => answer,
            Some(Heard::No(no)) => return self.reject_step(step, no, 0),
            None => return,
        };
        let Some(progress) = self.task.progress.as_mut() else { return };
        match answer {
            HumanAnswer::Respond { text } => {
                let result = StepRun::completed(StepOutput::Text(text), 0);
                return self.finish_try(stage, step, result);
            }
            HumanAnswer::EditInput { input } => progress.replace_input(step, input),
            _ => {}
        }
        let planned = progress.plan.steps.get(step as usize);
        let once = planned.is_some_and(|planned| happens_once(planned, self.rules));
        progress.schedule.alone = self.rules.policy().execution.width() > 1 && once;
        progress.schedule.people.remove(&step);
        *stage = ExecuteStage::Running;
        self.call(step, 1);
        if !self.has_ended() {
            self.advance(stage);
        }
    }

    /// Records a step that is not to be done, after so many tries, and leaves the plan.
    fn reject_step(&mut self, step: u32, no: No, attempts: u32) {
        let name = self.task.step_name(step);
        if let Some(progress) = self.task.progress.as_mut() {
            progress.end(step, StepRun::failed(no.failure(), attempts));
        }
        if let Some(code) = no.ends_the_run(self.rules.policy()) {
            return self.fail(code, format!("{name}: {}", no.reason));
        }
        self.execute_line(false, None);
        self.task.feedback = Some(no.feedback(&name));
        self.leave(Exit::Declined);
    }

    /// Puts what came of a try into its step's slot, or tries again; then goes on.
    fn finish_try(&mut self, stage: &mut ExecuteStage, step: u32, result: StepRun) {
        let failed = matches!(result, StepRun::Failed { .. });
        if failed && self.tries_again(step, result.attempts()) {
            return;
        }
        let Some(progress) = self.task.progress.as_mut() else { return };
        progress.end(step, result);
        let policy = self.rules.policy();
        let judged_at_once =
            policy.execution == Execution::Sequential && policy.on_step_failure != OnStepFailure::Record;
        match failed && judged_at_once {
            true => self.leave_execute(),
            false => self.go_on(stage),
        }
    }

    /// Whether a failed try is followed by another: then the wait for it has begun.
    fn tries_again(&mut self, step: u32, attempt: u32) -> bool {
        let tries = self.rules.policy().step_tries;
        let planned = self.task.planned(step);
        if attempt >= tries.tries || planned.is_none_or(|planned| happens_once(planned, self.rules)) {
            return false;
        }
        let attempt = attempt + 1;
        if let Some(slot) = self.task.slot(step) {
            *slot = StepRun::Waiting { attempt };
        }
        let id = EffectKind::Wait { draft: self.task.draft, step, attempt }.into();
        self.emit(Effect::Wait { id, delay_ms: tries.wait_before(attempt) });
        true
    }

    /// Ends the visit: with results, or with a failed step where the policy does not take that for one.
    fn leave_execute(&mut self) {
        let on_step_failure = self.rules.policy().on_step_failure;
        let failure = match on_step_failure {
            OnStepFailure::Record => None,
            OnStepFailure::Replan | OnStepFailure::Abort => self.task.first_failure(),
        };
        let Some((reason, output)) = failure else {
            self.execute_line(true, None);
            return self.leave(Exit::Executed);
        };
        if on_step_failure == OnStepFailure::Abort {
            return self.fail(ErrorCode::ExecuteError, format!("{reason}: {output}"));
        }
        self.execute_line(false, None);
        // What the tool said is data: the re-planner sees it among the results. The hint is ours.
        let fix_hint = STEP_FAILED_HINT.to_owned();
        self.task.feedback = Some(Feedback { reason, fix_hint, step_failed: true, ..Feedback::default() });
        self.leave(Exit::StepFailed);
    }
}
