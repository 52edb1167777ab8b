//! Granting: which step of the plan at hand stands for a granted one, and what agents are handed of the question's
//! authority. Nothing here makes more of it.

use serde_json::Value;

use super::authority::Authority;
use super::granted::{Granted, granted_input, share_targets};
use super::step_run::StepRun;
use super::steps::Progress;
use super::task::Task;
use super::view::known_by;
use crate::contract::ToolEffect;
use crate::machine::vocabulary::GrantedBy;
use crate::spec::CompiledSpec;

impl Task {
    /// What the question calls for with what was read of it so far, as far as a step may be shown that; all of it
    /// without a step.
    pub(crate) fn granted_by_now(&self, compiled: &CompiledSpec, step: Option<u32>) -> Option<Progress> {
        let (contract, granted) = (compiled.grants()?, self.authority.granted()?);
        let mut view = granted.progress.clone();
        let count = self.progress.as_ref().map_or(0, |progress| progress.steps.len() as u32);
        let known = step.map_or_else(|| (0..count).collect(), |step| known_by(compiled, self, step));
        for (at, (draft, of)) in &granted.found {
            if *draft == self.draft && !known.contains(of) {
                view.steps[*at as usize] = StepRun::Pending;
            }
        }
        let Some(progress) = &self.progress else { return Some(view) };
        // A step refers to earlier ones only, so one pass will do.
        for at in 0..view.steps.len() {
            if view.steps[at] != StepRun::Pending {
                continue;
            }
            let Some(wanted) = granted_input(contract, &view, at) else { continue };
            let made = |of: &&u32| {
                let planned = progress.plan.steps.get(**of as usize);
                planned.is_some_and(|planned| planned.tool == view.plan.steps[at].tool)
                    && matches!(progress.steps.get(**of as usize), Some(StepRun::Completed { .. }))
                    && progress.input(**of).is_some_and(|input| *input == wanted)
            };
            if let Some(of) = known.iter().find(made) {
                view.steps[at] = progress.steps[*of as usize].clone();
            }
        }
        Some(view)
    }

    /// Has a step that nothing else allows stand for a granted one, and gives it the input that was granted: for a
    /// write that is left with the same targets, or for a read with the same input.
    pub(crate) fn bind_granted(&mut self, compiled: &CompiledSpec, step: u32) {
        if self.authority.granted().is_none() {
            return;
        }
        if let Some((of, input)) = self.find_granted(compiled, step)
            && let Some(progress) = self.progress.as_mut()
        {
            progress.put_input(step, input);
            self.authority.bind(step, of);
        }
    }

    /// The granted step that a step may stand for, and the input that was granted.
    pub(crate) fn find_granted(&self, compiled: &CompiledSpec, step: u32) -> Option<(u32, Value)> {
        let is_bound = self.authority.granted()?.of_step(step).is_some();
        let own = self.call_template(step)?;
        let tool = compiled.called_tool(&self.planned(step)?.tool)?;
        let other = |by: &GrantedBy| !matches!(by, GrantedBy::Question { .. });
        if is_bound || self.authority.find(&own).is_some_and(other) {
            return None;
        }
        let called = self.progress.as_ref()?.input(step)?.into_owned();
        let (contract, view) = (compiled.grants()?, self.granted_by_now(compiled, Some(step))?);
        let unseen = self.authority.granted()?.unseen;
        let writes = tool.effect == ToolEffect::Write;
        let named = (0..view.steps.len()).filter(|at| view.plan.steps[*at].tool == tool.name);
        let fitting = named.filter_map(|at| {
            let (input, template) = (granted_input(contract, &view, at)?, view.template(at as u32)?);
            let is_left = !writes || self.authority.find(&template).is_some();
            let shares = |granted: &Value, unseen| share_targets(tool, "", (granted, unseen), &called);
            let names = || unseen && view.plan.steps[at].input.as_ref().is_some_and(|it| shares(it, true));
            let fits = input == called || (writes && shares(&input, false)) || names();
            (is_left && fits).then_some((at as u32, input))
        });
        let fitting: Vec<_> = fitting.collect();
        let exact = fitting.iter().position(|(_, input)| *input == called);
        fitting.into_iter().nth(exact.unwrap_or(0))
    }

    /// The input that the call of a step must have that stands for a granted one; nothing inside if what it refers to
    /// was not read.
    pub(crate) fn granted_call(&self, compiled: &CompiledSpec, step: u32) -> Option<Option<Value>> {
        let of = self.authority.granted()?.of_step(step)?;
        let read = compiled.grants().zip(self.granted_by_now(compiled, Some(step)));
        Some(read.and_then(|(contract, view)| granted_input(contract, &view, of as usize)))
    }

    /// What the call of a step is known by: the granted one that it stands for, else itself.
    pub(crate) fn call_template(&self, step: u32) -> Option<String> {
        let granted = self.authority.granted();
        match granted.and_then(|granted| Some((granted, granted.of_step(step)?))) {
            Some((granted, of)) => granted.progress.template(of),
            None => self.progress.as_ref()?.template(step),
        }
    }

    /// The authority that the run of an agent begins with. An agent that may write runs beside nothing and is handed
    /// all that the question has left; any other is shown it.
    pub(crate) fn hand_down(&mut self, compiled: &CompiledSpec, step: u32, unseen: bool) -> Authority {
        let Some(progress) = self.granted_by_now(compiled, Some(step)) else { return Authority::default() };
        let writes = self.planned(step).and_then(|planned| compiled.tool(&planned.tool));
        let writes = writes.is_some_and(|agent| agent.effect == ToolEffect::Write);
        self.authority.hand_down(Granted { unseen, ..Granted::shown(progress) }, writes)
    }

    /// Takes back what the run of an agent has left of the question's authority, and what it has read.
    pub(crate) fn take_back(&mut self, inner: Authority, read: Option<Progress>, place: (u32, u32)) {
        self.authority.take_back(inner, read, place);
    }
}
