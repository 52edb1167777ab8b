//! Authority: whether a step may start. A write starts without a person only if it stands in a plan that was
//! frozen before anything untrusted was read; what a later plan adds is refused, or asked of a person.
//!
//! **Invariant:** nothing grants authority but a plan of an untainted run and a person, and each write takes its
//! own.

use super::awaits::nested_spec;
use super::run::{Run, happens_once};
use super::state::{ExecuteStage, Granted, Phase, Progress, State, StepFailure, StepRun, Task};
use super::vocabulary::{Denial, EffectKind, GrantedBy, Steps, TraceLine};
use crate::contract::{LabelledPart, PlanStep, ReadPlan, ToolEffect};
use crate::spec::{CompiledSpec, Containment, OnUnauthorised};

/// Whether a step may start.
pub(super) enum Permission {
    Run,
    /// If a person says yes.
    Ask,
    Refuse(Denial),
}

/// Whether a step may start now, if a person is to be asked about it by the policy or not.
pub(super) fn permit(compiled: &CompiledSpec, task: &Task, step: u32, asks: bool) -> Permission {
    let permission = if asks { Permission::Ask } else { authorise(compiled, task, step) };
    let is_persons = || task.planned(step).is_some_and(PlanStep::is_hitl);
    let most = compiled.spec().limits.max_questions.filter(|_| !is_persons());
    match permission {
        Permission::Ask if most.is_some_and(|most| task.counters.questions >= most) => {
            Permission::Refuse(Denial::QuestionLimit)
        }
        permission => permission,
    }
}

/// Whether a person may be asked which of several values a step is to take: one that may not start anyway is not asked
/// about.
pub(super) fn may_pick(compiled: &CompiledSpec, task: &Task, step: u32) -> bool {
    let most = compiled.spec().limits.max_questions.unwrap_or(u32::MAX);
    task.counters.questions < most
        && !task.choices(compiled, step).is_empty()
        && !matches!(authorise(compiled, task, step), Permission::Refuse(_))
}

/// Whether a step may start now: the one place where authority is asked for.
pub(super) fn authorise(compiled: &CompiledSpec, task: &Task, step: u32) -> Permission {
    let Some(planned) = task.planned(step).filter(|planned| is_guarded(compiled, planned)) else {
        return Permission::Run;
    };
    match find_denial(compiled, task, step, planned) {
        None if find_untrusted(compiled, task, step).is_some() => Permission::Ask,
        None => Permission::Run,
        Some(_) if compiled.policy().on_unauthorised == OnUnauthorised::Ask => Permission::Ask,
        Some(denial) => Permission::Refuse(denial),
    }
}

/// Why the call of a step that a person is asked about would else be refused; `None` if a plan allows it that was
/// frozen before anything untrusted was read.
pub(crate) fn asked_instead(compiled: &CompiledSpec, task: &Task, step: u32) -> Option<Denial> {
    let planned = task.planned(step).filter(|planned| is_guarded(compiled, planned))?;
    // The authority of the call that is due was taken when it was asked about.
    let is_own = |denial: &Denial| *denial == Denial::AuthoritySpent && task.authority.used(step).is_some();
    find_denial(compiled, task, step, planned).filter(|denial| !is_own(denial))
}

/// Why a call may not be made without a person.
fn find_denial(compiled: &CompiledSpec, task: &Task, step: u32, planned: &PlanStep) -> Option<Denial> {
    let is_tainted = task.drafts.last().is_some_and(|draft| draft.tainted);
    let writes = writes(compiled, &planned.tool);
    // What only reads needs authority in a plan that may be anyone's, and takes none.
    if !is_tainted && !writes {
        return None;
    }
    let template = task.call_template(step)?;
    let (is_granted, is_spent) =
        (task.authority.find(&template).is_some(), task.authority.is_spent(&template));
    if is_granted || (!writes && is_spent) {
        None
    } else if !writes && compiled.policy().containment == Containment::Standard {
        Some(Denial::EgressUntrusted)
    } else if is_spent {
        Some(Denial::AuthoritySpent)
    } else if is_tainted && task.draft > 1 {
        Some(Denial::PlanTaintedWrite)
    } else {
        Some(Denial::AuthorityMissing)
    }
}

/// The first part of a call that earlier steps chose, and that no one but a person may put where it stands.
pub(super) fn find_untrusted(compiled: &CompiledSpec, task: &Task, step: u32) -> Option<LabelledPart> {
    let strict = compiled.policy().containment == Containment::Strict;
    let tool = compiled.tool(&task.planned(step)?.tool)?;
    let may_stand = |part: &LabelledPart| match tool.effect {
        ToolEffect::Write => part.label.may_fill(tool.role_at(&part.place), tool.grave, strict),
        ToolEffect::Read => part.label.may_leave(strict) || !(strict || tool.is_egress(&part.place)),
        ToolEffect::Pure => true,
    };
    task.label_parts(compiled, step).into_iter().find(|part| !may_stand(part))
}

/// Whether a step needs authority: a call of a tool that writes or whose arguments leave, and under `strict` one that
/// reads.
#[inline]
fn is_guarded(compiled: &CompiledSpec, planned: &PlanStep) -> bool {
    compiled.guarded_tool(&planned.tool).is_some()
}

fn writes(compiled: &CompiledSpec, tool: &str) -> bool {
    compiled.tool(tool).is_some_and(|tool| tool.effect == ToolEffect::Write)
}

impl Run<'_> {
    /// Freezes the calls of the plan that begins, if nothing untrusted was read before it was made and the question
    /// itself does not say what it calls for.
    pub fn grant_plan(&mut self) {
        if !self.task.current().tainted && self.task.authority.granted().is_none() {
            self.grant(None);
        }
    }

    /// Freezes the calls that a person has approved or written.
    pub fn grant_approved(&mut self, asked: EffectKind) {
        self.grant(Some(asked));
    }

    /// Freezes the calls that the question calls for, and leaves their line.
    pub fn grant_question(&mut self, read: ReadPlan) {
        let plan = read.plan;
        let containment = self.compiled.policy().containment;
        let grants = self.compiled.grants();
        let is_guarded = |step: &PlanStep| {
            grants.and_then(|grants| grants.tool(&step.tool)).is_some_and(|tool| containment.guards(tool))
        };
        let guarded = (0..).zip(&plan.steps).filter(|(_, step)| is_guarded(step)).map(|(at, _)| at);
        let guarded: Vec<u32> = guarded.collect();
        self.line(TraceLine::Grant { steps: Steps::of(&plan) });
        self.task.authority.grant(Granted::new(plan, read.links), &guarded);
    }

    /// Has the call of a step that needs authority stand for a granted one, if there is one.
    pub fn bind_granted(&mut self, step: u32) {
        let compiled = self.compiled;
        if self.task.planned(step).is_some_and(|planned| is_guarded(compiled, planned)) {
            self.task.bind_granted(compiled, step);
        }
    }

    fn grant(&mut self, asked: Option<EffectKind>) {
        let (compiled, task) = (self.compiled, &mut *self.task);
        let Some(progress) = task.progress.as_ref() else { return };
        if compiled.policy().containment == Containment::Off {
            return;
        }
        let pending = progress.slots().filter(|(_, _, run)| !run.is_finished());
        let guarded = pending.filter(|(_, planned, _)| is_guarded(compiled, planned));
        let granted = |(at, planned, _): (usize, &PlanStep, _)| {
            let by = match asked {
                Some(asked) => GrantedBy::Approval(asked.into()),
                None => GrantedBy::Plan { draft: task.draft, step: planned.name(at) },
            };
            Some((progress.template(at as u32)?, by))
        };
        let granted: Vec<_> = guarded.filter_map(granted).collect();
        task.authority.freeze(granted);
    }

    /// Takes the authority of a step that starts, or about which a person is asked: then it is theirs to allow.
    pub fn spend_authority(&mut self, step: u32) {
        let task = &mut *self.task;
        let planned = task.planned(step).filter(|planned| is_guarded(self.compiled, planned));
        if planned.is_none_or(|planned| !writes(self.compiled, &planned.tool)) {
            return;
        }
        let Some(template) = task.call_template(step) else { return };
        if let Some(by) = task.authority.find(&template).cloned() {
            task.authority.note(step, by);
            task.authority.spend(&template);
        }
    }

    /// Notes that a person has allowed the call of a step.
    pub fn note_approval(&mut self, step: u32, asked: EffectKind) {
        let task = &mut *self.task;
        if task.planned(step).is_some_and(|planned| is_guarded(self.compiled, planned)) {
            task.authority.note(step, GrantedBy::Approval(asked.into()));
        }
    }
}

/// Takes back what people have allowed and was not done: an approval is good for one run, and this is a copy of it. A
/// call under way that may be made again is asked about anew; one that may not is in doubt in any case.
pub(crate) fn void_approvals(compiled: &CompiledSpec, state: &mut State) {
    if state.phase.name().is_terminal() {
        return;
    }
    let task = &mut *state.task;
    task.authority.void_approvals();
    task.progress.iter_mut().for_each(Progress::void_approvals);
    let called = task.progress.iter().flat_map(|progress| progress.slots()).find(|(at, planned, run)| {
        let allowed = matches!(task.authority.used(*at as u32), Some(GrantedBy::Approval(_)));
        **run == (StepRun::Running { attempt: 1 }) && allowed && !happens_once(planned, compiled)
    });
    let called = called.map(|(at, ..)| at as u32);
    if let Some(step) = called {
        task.set_slot(step, StepRun::WaitingHuman);
        state.phase = Phase::Execute(ExecuteStage::AwaitingCallApproval { step });
    }
    let mut nested = std::mem::take(&mut state.task.nested);
    for (step, inner) in &mut nested {
        if let Some(compiled) = nested_spec(compiled, &state.task, *step) {
            void_approvals(compiled, inner);
        }
    }
    state.task.nested = nested;
}

/// What a step is recorded as that is refused. No word of it depends on what was planned.
pub(super) fn refuse(denial: Denial) -> StepFailure {
    StepFailure::new(denial.code(), denial.message())
}
