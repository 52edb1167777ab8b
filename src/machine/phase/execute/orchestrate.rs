//! Orchestrate: between the steps, a model looks at the results and decides what becomes of the steps
//! that have not begun. What was done stays as it is, and nothing is run here.

use crate::contract::{Action, Before, Collaboration, Decision, PlanStep};
use crate::machine::run::{Run, leaves_room};
use crate::machine::state::{Decided, ExecuteStage, Progress, StepRun, Task};
use crate::machine::vocabulary::TraceLine;
use crate::spec::CompiledSpec;

impl Run<'_> {
    /// Whether there is something to decide: nothing runs, and the plan has a step to carry out.
    pub(super) fn decision_is_due(&self) -> bool {
        let idle = self.task.progress.as_ref().is_some_and(|progress| progress.schedule.running == 0);
        idle && self.task.drafted().any(|(_, planned, _)| !planned.is_final())
    }

    /// Takes a decision and carries it out. Returns whether there was one.
    pub(super) fn hear_decision(&mut self, stage: &mut ExecuteStage) -> bool {
        let ExecuteStage::Orchestrating(asking) = stage else { return false };
        let read = self.read_reply(asking, |compiled, _, reply| compiled.parse_decision(&reply.text));
        let Some((mut decision, mut fallback)) = read else { return false };
        let task = &mut *self.task;
        let draft = task.current();
        draft.decisions = draft.decisions.saturating_add(1);
        let mut remaining = amend(&decision, task, self.compiled).unwrap_or_else(|problem| {
            decision = Decision { reasoning: problem.clone(), ..Decision::default() };
            fallback = Some(problem);
            None
        });
        // What a model says after untrusted output was read is no cleaner than that.
        let tainted = task.tainted && remaining.is_some();
        task.current().tainted |= tainted;
        let runs = task.progress.iter().flat_map(|progress| &progress.steps);
        let after = runs.filter(|run| run.is_finished()).count() as u32;
        if decision.action == Action::SkipRemaining {
            remaining = Some(Vec::new());
            if let Some(progress) = task.progress.as_mut() {
                progress.skip_pending();
            }
        }
        let decided =
            Decided { draft: task.draft, after, decision: decision.clone(), fallback: fallback.is_some() };
        task.decisions.push(decided);
        self.line(TraceLine::Decision { after, decision: Box::new(decision), fallback, remaining });
        true
    }
}

/// Carries a decision out. Returns the agents of the remaining steps if they changed.
fn amend(
    decision: &Decision,
    task: &mut Task,
    compiled: &CompiledSpec,
) -> Result<Option<Vec<String>>, String> {
    let question = task.query().to_owned();
    let Some(progress) = task.progress.as_mut() else { return Ok(None) };
    let mut rest = Rest::of(progress);
    match (decision.action, &decision.next_agent, &decision.collaboration_needed) {
        (Action::AddAgent, Some(agent), _) => {
            rest.insert(0, agent, decision.task.as_ref().unwrap_or(&question));
        }
        (Action::Collaborate, _, Some(both)) => rest.collaborate(both, decision, &question, progress),
        _ => return Ok(None),
    }
    let most = compiled.spec().limits.max_added_steps;
    let left = most.saturating_sub(task.counters.added_steps);
    if rest.added > left {
        return Err(format!("{} more steps were wanted, {left} of {most} may be added", rest.added));
    }
    // What the plan refers to was there when it was planned, and may have failed since; a name that was
    // given anew means the new step.
    let named = |at: usize| {
        let name = progress.plan.steps[at].name(at);
        rest.steps.iter().any(|step| step.id.as_ref() == Some(&name))
    };
    let done = |at: usize| progress.is_done(at) || !named(at);
    let before = Before { steps: &progress.plan.steps[..rest.base], done: &done };
    let links = compiled.plan().check_steps(before, &rest.steps).map_err(|error| error.to_string())?;
    leaves_room(&task.counters, compiled, &rest.steps)?;
    let names = rest.steps.iter().map(|step| step.tool.clone()).collect();
    progress.replace_pending(&rest.steps, links, compiled);
    task.counters.added_steps += rest.added;
    Ok(Some(names))
}

/// The steps that have not begun, being rearranged. Each carries its name, so that references stay right.
struct Rest {
    base: usize,
    steps: Vec<PlanStep>,
    added: u32,
}

impl Rest {
    fn of(progress: &Progress) -> Self {
        let base = progress.begun();
        let named = |(at, step): (usize, &PlanStep)| PlanStep { id: Some(step.name(at)), ..step.clone() };
        let steps = progress.plan.steps.iter().enumerate().skip(base).map(named).collect();
        Rest { base, steps, added: 0 }
    }

    /// Adds a step, under a name that no step has: the planner's are numbered by position or its own.
    fn insert(&mut self, at: usize, agent: &str, told: &str) -> String {
        self.added += 1;
        let taken = |name: &String| self.steps.iter().any(|step| step.id.as_ref() == Some(name));
        let names = (1u32..).map(|nth| format!("added_{}_{nth}", self.base + 1));
        let name = names.into_iter().find(|name| !taken(name)).unwrap_or_default();
        let (id, task) = (Some(name.clone()), Some(told.to_owned()));
        self.steps.insert(at, PlanStep { id, task, tool: agent.to_owned(), ..PlanStep::default() });
        name
    }

    /// Puts the next step of an agent at a position, a new one if the plan has none. Returns its name.
    fn bring_forward(&mut self, to: usize, agent: &str, told: &str) -> String {
        let Some(nth) = self.steps.iter().skip(to).position(|step| step.tool == agent) else {
            return self.insert(to, agent, told);
        };
        let step = self.steps.remove(to + nth);
        let name = step.id.clone().unwrap_or_default();
        self.steps.insert(to, step);
        name
    }

    /// The primary runs next on what the supporting agent found, or is to find first.
    fn collaborate(
        &mut self,
        both: &Collaboration,
        decision: &Decision,
        question: &str,
        progress: &Progress,
    ) {
        let supports = both.collaboration_type.as_deref().unwrap_or(question);
        let told = decision.task.as_deref().unwrap_or(supports);
        let found = (0..self.base).rev().find(|&at| {
            progress.plan.steps[at].tool == both.supporting_agent
                && matches!(progress.steps[at], StepRun::Completed { .. })
        });
        let (support, next) = match found {
            Some(at) => (progress.plan.steps[at].name(at), 0),
            None => (self.bring_forward(0, &both.supporting_agent, supports), 1),
        };
        self.bring_forward(next, &both.primary_agent, told);
        let primary = &mut self.steps[next];
        primary.input_from = Some(support);
        // If the orchestrator says what is to be done, it knows more than the plan did.
        if decision.task.is_some() {
            primary.task = Some(told.to_owned());
        }
    }
}
