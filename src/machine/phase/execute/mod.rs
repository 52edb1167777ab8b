//! Execute: runs the steps of an accepted plan. This phase never makes a plan; a failed step is a
//! result, and `route.rs` decides what follows.
//!
//! One step's way, top to bottom in this file:
//!
//! ```text
//!  advance ─┬─ needs no call ────────────────────────────────────┐
//!     ▲     ├─ a person does it, or must approve its call ─┐     │
//!     │     └─ call: a tool · an agent · a nested run ◀──┤     │
//!     │            ▲          │ answered               │     │
//!     │            │          ▼                        ▼     ▼
//!     │            └─ wait ◀─ finish_try ──────────▶ its slot
//!     └─── go_on, by the orchestrator's word ◀──────────┘
//!             └─ nothing runs any more ─▶ leave_execute
//! ```
//!
//! A step whose input leaves values to a model is asked about before it starts (`hear_value`), one value at a time,
//! and comes to `advance` again. A person is asked about all calls that can be shown at once (`approve.rs`).
//!
//! Steps sit in slots. Answers may come in any order; what the run looks like when EXECUTE is left
//! does not depend on it.

mod approve;
mod call;
mod orchestrate;

use self::call::nested_input;
use crate::contract::{ContractError, Shortfall};
use crate::machine::authority::{Permission, may_pick, permit, refuse};
use crate::machine::awaits::nested_spec;
use crate::machine::batch::find_unfilled;
use crate::machine::reply::No;
use crate::machine::route::Exit;
use crate::machine::run::{Begin, Run, happens_once, may_write};
use crate::machine::state::{Asking, ExecuteStage, StepOutput, StepRun, result_without_call};
use crate::machine::vocabulary::{Concern, EffectKind, ErrorCode, Event, HumanAnswer, Place};
use crate::spec::{Execution, OnStepFailure, Orchestrate};

impl Run<'_> {
    /// Starts the first steps, if the whole plan is within the limits.
    pub(in crate::machine) fn enter_execute(&mut self, stage: &mut ExecuteStage) {
        if self.allows_plan(0) {
            self.go_on(stage);
        }
    }

    /// Asks what becomes of the rest of the plan, if the policy has it asked, or starts what may start.
    fn go_on(&mut self, stage: &mut ExecuteStage) {
        if self.compiled.policy().orchestrate == Orchestrate::EachStep && self.decision_is_due() {
            *stage = ExecuteStage::Orchestrating(Asking::first());
        } else {
            self.advance(stage);
        }
    }

    /// Starts every step that may start, lowest first, and leaves the phase when none runs any more.
    fn advance(&mut self, stage: &mut ExecuteStage) {
        *stage = ExecuteStage::Running;
        let compiled = self.compiled;
        let width = compiled.policy().execution.width();
        while !self.has_ended() {
            let Some(progress) = &self.task.progress else { return };
            let schedule = &progress.schedule;
            if schedule.running >= width || schedule.alone {
                return;
            }
            // What a person looks at does not depend on which of the steps before answered first.
            let next = schedule.ready.first();
            let next = next.filter(|step| schedule.people.first().is_none_or(|person| person >= step));
            let Some(step) = next else {
                if schedule.running == 0 {
                    self.leave_execute();
                }
                return;
            };
            let allowed = schedule.approved.get(&step).copied();
            if allowed.is_none() {
                self.bind_granted(step);
            }
            let Some(progress) = &self.task.progress else { return };
            let schedule = &progress.schedule;
            let Some(planned) = progress.plan.steps.get(step as usize) else { return };
            let result = result_without_call(progress, step, planned, compiled);
            let result = result.or_else(|| self.task.standing_write(compiled, step));
            let picks =
                result.as_ref().is_some_and(StepRun::is_ambiguous) && may_pick(compiled, &self.task, step);
            let result = result.filter(|_| !picks);
            let mut asks = picks || (allowed.is_none() && schedule.people.contains(&step));
            let permission = match result.is_none() && !picks && allowed.is_none() {
                true => permit(compiled, &self.task, step, asks),
                false => Permission::Run,
            };
            asks |= matches!(permission, Permission::Ask);
            let result = match permission {
                Permission::Refuse(denial) => Some(StepRun::failed(refuse(denial), 0)),
                Permission::Run | Permission::Ask => result,
            };
            // One by one, every step runs alone.
            let fills = match result.is_none() && !picks {
                true if progress.open_hole(step).is_some() => Some(step),
                true if asks && !planned.is_hitl() => find_unfilled(compiled, &self.task, step),
                _ => None,
            };
            let alone = asks || fills.is_some() || (width > 1 && may_write(planned, compiled));
            let is_persons = asks && planned.is_hitl();
            let must_wait = alone && schedule.running > 0 && result.is_none();
            let Some(progress) = self.task.progress.as_mut().filter(|_| !must_wait) else { return };
            if let Some(result) = result {
                progress.leave_out(step, result);
                continue;
            }
            if let Some(step) = fills {
                *stage = ExecuteStage::Filling { step, asking: Asking::first() };
                return;
            }
            progress.schedule.alone = alone;
            progress.begin(step);
            if picks {
                self.task.counters.questions += 1;
                self.set_step(step, StepRun::WaitingHuman);
                *stage = ExecuteStage::AwaitingPick { step, nth: 1 };
                return;
            }
            self.spend_authority(step);
            if let Some(asked) = allowed {
                self.take_approval(step, asked);
            }
            if !asks {
                self.call(step, 1);
                continue;
            }
            // They see the very input of the call, and are asked once, however often it is tried.
            self.task.counters.questions += u32::from(!is_persons);
            self.set_step(step, StepRun::WaitingHuman);
            *stage = match is_persons {
                true => ExecuteStage::AwaitingHuman { step },
                false => ExecuteStage::AwaitingCallApproval { step },
            };
            return;
        }
    }

    /// Makes one try of a step: calls its tool, asks its agent, or begins a run of its own.
    fn call(&mut self, step: u32, attempt: u32) {
        let (compiled, draft) = (self.compiled, self.task.draft);
        let Some(inner) = nested_spec(compiled, &self.task, step) else {
            return self.set_step(step, StepRun::Running { attempt });
        };
        if let Some((input, tainted)) = nested_input(compiled, &self.task, step, true) {
            self.set_step(step, StepRun::Nested { attempt });
            let place = Place { draft, step, attempt };
            self.begin(inner, Begin { place, input, tainted, refused: None });
        }
    }

    /// Takes an answer to the step that it is for.
    pub(in crate::machine) fn on_execute(&mut self, stage: &mut ExecuteStage) {
        if let Some(ended) = self.ended.take() {
            return self.finish_try(stage, ended.0, ended.1);
        }
        match self.event.as_ref().and_then(Event::effect).map(|id| id.kind) {
            Some(EffectKind::Orchestrate { .. }) if self.hear_decision(stage) => self.advance(stage),
            Some(EffectKind::Fill { step, .. }) => self.hear_value(stage, step),
            Some(EffectKind::Human { step, .. }) => self.hear_about_step(stage, step),
            Some(EffectKind::ApproveCall { step, .. }) => self.hear_about_calls(stage, step),
            Some(EffectKind::Pick { step, nth, .. }) => self.hear_pick(stage, step, nth),
            Some(EffectKind::Wait { step, attempt, .. }) => {
                self.event = None;
                self.call(step, attempt);
            }
            Some(EffectKind::Step { step, attempt, .. }) => {
                if let Some(result) = self.take_outcome(step, attempt) {
                    self.finish_try(stage, step, result);
                }
            }
            _ => {}
        }
    }

    /// Takes what a model wrote for a value that the input of a step leaves open. A step without it has failed.
    fn hear_value(&mut self, stage: &mut ExecuteStage, step: u32) {
        let ExecuteStage::Filling { asking, .. } = stage else { return };
        let read = self.read_reply(asking, |compiled, task, reply| {
            let hole = task.progress.as_ref().and_then(|progress| progress.open_hole(step));
            let (hole, _) = hole.ok_or_else(|| ContractError::at("$", "expected nothing to be filled"))?;
            compiled.parse_filling(&reply.text, hole.schema)
        });
        let failed = self.ended.take();
        let Some(progress) = self.task.progress.as_mut() else { return };
        match (read, failed) {
            (Some((value, _)), _) => progress.fill(step, value),
            (None, Some(failed)) => {
                progress.leave_out(step, failed.1);
            }
            (None, None) => return,
        }
        self.advance(stage);
    }

    /// Takes a person's answer about a step: its result, or a no.
    fn hear_about_step(&mut self, stage: &mut ExecuteStage, step: u32) {
        let name = self.task.step_name(step);
        let asked = EffectKind::Human { draft: self.task.draft, step };
        let output = match self.hear(&name, Concern::Step) {
            Some(Ok(HumanAnswer::Respond { text })) => StepOutput::Text(text),
            Some(Ok(HumanAnswer::Edit { steps })) => {
                // The edit may refer to the step that it answers.
                self.task.set_slot(step, StepRun::completed(StepOutput::Edited, 1));
                self.take_edit(asked, &steps);
                self.grant_approved(asked);
                StepOutput::Edited
            }
            Some(Ok(_)) => StepOutput::Approved,
            Some(Err(no)) => return self.reject_step(step, no, 1),
            None => return,
        };
        self.finish_try(stage, step, StepRun::completed(output, 1));
    }

    /// Takes which of several values a step is to take. The step starts anew then: what else it needs is asked for.
    fn hear_pick(&mut self, stage: &mut ExecuteStage, step: u32, nth: u32) {
        let name = self.task.step_name(step);
        match self.hear(&name, Concern::Value) {
            Some(Ok(HumanAnswer::Respond { text })) => self.task.take_pick(self.compiled, step, &text, nth),
            Some(Err(no)) => return self.reject_calls(stage, step, &[step], no),
            _ => return,
        }
        let (compiled, task) = (self.compiled, &mut *self.task);
        if nth < compiled.most_picks() && may_pick(compiled, task, step) {
            task.counters.questions += 1;
            *stage = ExecuteStage::AwaitingPick { step, nth: nth + 1 };
            return;
        }
        let Some(progress) = task.progress.as_mut() else { return };
        let planned = progress.plan.steps.get(step as usize);
        match planned.and_then(|planned| result_without_call(progress, step, planned, compiled)) {
            Some(result) => {
                progress.end(step, result);
                self.go_on(stage);
            }
            None => {
                progress.put_back(step);
                self.advance(stage);
            }
        }
    }

    /// Records a step that is not to be done, after so many tries, and leaves the plan.
    fn reject_step(&mut self, step: u32, no: No, attempts: u32) {
        let name = self.task.step_name(step);
        if let Some(progress) = self.task.progress.as_mut() {
            progress.end(step, StepRun::failed(no.failure(), attempts));
        }
        if let Some(code) = no.ends_the_run(self.compiled.policy()) {
            return self.fail(code, format!("{name}: {}", no.reason));
        }
        self.execute_line(false, None);
        self.task.feedback = Some(no.feedback(&name).into());
        self.leave(Exit::Declined);
    }

    /// Puts what came of a try into its step's slot, or tries again; then goes on.
    fn finish_try(&mut self, stage: &mut ExecuteStage, step: u32, result: StepRun) {
        let failed = result.has_failed();
        if failed && !result.found_nothing() && self.tries_again(step, result.attempts()) {
            return;
        }
        let Some(progress) = self.task.progress.as_mut() else { return };
        progress.end(step, result);
        let policy = self.compiled.policy();
        let judged_at_once =
            policy.execution == Execution::Sequential && policy.on_step_failure != OnStepFailure::Record;
        match failed && judged_at_once {
            true => self.leave_execute(),
            false => self.go_on(stage),
        }
    }

    /// Whether a failed try is followed by another: then the wait for it has begun.
    fn tries_again(&mut self, step: u32, attempt: u32) -> bool {
        let tries = self.compiled.policy().step_tries;
        let planned = self.task.planned(step);
        if attempt >= tries.tries || planned.is_none_or(|planned| happens_once(planned, self.compiled)) {
            return false;
        }
        self.set_step(step, StepRun::Waiting { attempt: attempt + 1 });
        true
    }

    /// Ends the visit: with results, or with a failed step where the policy does not take that for one.
    fn leave_execute(&mut self) {
        let on_step_failure = self.compiled.policy().on_step_failure;
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
        self.task.feedback = Some(self.task.step_feedback(reason, Shortfall::Failed.advice()).into());
        self.leave(Exit::StepFailed);
    }
}
