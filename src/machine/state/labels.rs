//! Labels: who chose the parts of a step's input. They follow from the plan, the contracts and the run's taint, so they
//! are worked out where they are asked for, and nothing of an output can make one better.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::steps::Progress;
use super::task::Task;
use super::view::known_by;
use crate::contract::{Label, LabelledPart, Origin, OutputField, ToolContract, Trust, label_input};
use crate::machine::vocabulary::GrantedBy;
use crate::spec::{CompiledSpec, Containment};

/// The labels of outputs that are known so far, by position.
type Known = BTreeMap<u32, Label>;

impl Task {
    /// The parts of a step's input that are taken from earlier steps, with their labels.
    pub(crate) fn label_parts(&self, compiled: &CompiledSpec, step: u32) -> Vec<LabelledPart> {
        let granted = self.authority.granted().and_then(|granted| Some((granted, granted.of_step(step)?)));
        if let Some((granted, of)) = granted {
            return label_granted(compiled, &granted.progress, of);
        }
        let Some(progress) = self.progress.as_ref() else { return Vec::new() };
        // Earlier steps stand before later ones, so each is labelled once and after all that it takes from.
        let mut known = Known::new();
        for at in progress.rests_on(step) {
            let label = self.label_output(compiled, progress, at, &known);
            known.insert(at, label);
        }
        label_step(&|tool| compiled.called_tool(tool), progress, step, &known)
    }

    /// The parts of a step's input that stand in no plan that was frozen before anything untrusted was read: what earlier
    /// steps gave, what a person wrote, and all of a call that was planned later.
    pub(crate) fn told_parts(&self, compiled: &CompiledSpec, step: u32) -> Vec<LabelledPart> {
        let mut parts = self.label_parts(compiled, step);
        let input = self.planned(step).and_then(|planned| planned.input.as_ref());
        if let Some(draft) = self.planned_after_untrusted(compiled, step) {
            let whole = LabelledPart::of_whole(input.unwrap_or(&Value::Null), parts).into_iter();
            parts = whole.map(|part| part.planned_in(draft)).collect();
        }
        let progress = self.progress.as_ref();
        for (place, picked) in progress.and_then(|it| it.schedule.chosen.get(&step)).into_iter().flatten() {
            let within = |part: &LabelledPart| part.place.strip_prefix(&**place).is_some_and(is_below);
            parts.retain(|part| !within(part));
            let origin = match (picked, self.authority.used(step)) {
                (Some(picked), _) => format!("picked at {picked}"),
                (None, Some(GrantedBy::Approval(asked))) => format!("edited at {asked}"),
                (None, _) => "edited by a person".to_owned(),
            };
            parts.push(LabelledPart { place: place.clone(), label: Label::Literal, origin });
        }
        parts
    }

    /// The draft that a step is of, if it was planned after untrusted text was read and no frozen plan and no person
    /// holds the same call.
    fn planned_after_untrusted(&self, compiled: &CompiledSpec, step: u32) -> Option<usize> {
        // Without containment no plan is frozen, and a question is as it was.
        if compiled.policy().containment == Containment::Off {
            return None;
        }
        let draft = self.drafts.iter().rposition(|draft| draft.first_step <= step)?;
        // To a plan that holds all it may call, only an orchestrator adds calls.
        let is_added = || self.tainted && self.authority.granted().is_none();
        let is_guarded =
            || self.planned(step).and_then(|planned| compiled.guarded_tool(&planned.tool)).is_some();
        let is_later = self.drafts[draft].tainted || (is_added() && is_guarded());
        (is_later && !self.authority.is_spent(&self.call_template(step)?)).then_some(draft + 1)
    }

    /// The label below which nothing is that a step returned.
    fn label_output(&self, compiled: &CompiledSpec, progress: &Progress, at: u32, known: &Known) -> Label {
        let Some(planned) = progress.plan.steps.get(at as usize) else { return Label::Filled };
        if planned.is_hitl() {
            return Label::Literal;
        }
        let parts = label_step(&|tool| compiled.called_tool(tool), progress, at, known);
        let worst = parts.into_iter().map(|part| part.label).max().unwrap_or_default();
        match compiled.called_tool(&planned.tool) {
            Some(_) => worst,
            // An agent wrote it: after something untrusted was read, or before.
            None if self.may_read_untrusted(compiled, at) => Label::Filled,
            None => worst.max(Label::System),
        }
    }

    /// Whether the agent that does a step may read anything untrusted: what it is shown, or what its own tools return.
    /// That does not depend on which of the steps beside it has ended by now.
    fn may_read_untrusted(&self, compiled: &CompiledSpec, step: u32) -> bool {
        let tool = |at: u32| self.planned(at).and_then(|planned| compiled.tool(&planned.tool));
        let is_untrusted = |at: u32| {
            tool(at).is_some_and(|tool| {
                tool.trust == Trust::Untrusted || tool.fields.values().any(OutputField::is_untrusted)
            })
        };
        let is_whole = self.planned(step).is_some_and(|planned| {
            let agents = &compiled.spec().agents;
            agents.iter().any(|agent| agent.name == planned.tool && agent.spec.is_some())
        });
        let tainted = self.drafts.last().is_some_and(|draft| draft.tainted);
        tainted
            || (is_whole && is_untrusted(step))
            || known_by(compiled, self, step).into_iter().any(is_untrusted)
    }
}

/// Whether the rest of a JSON pointer is that of the place itself, or of one in it.
fn is_below(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

impl Progress {
    /// The steps that a step's input is taken from, those of these steps among them, ascending.
    pub(super) fn rests_on(&self, step: u32) -> impl Iterator<Item = u32> + use<> {
        let mut found = BTreeSet::new();
        let mut open = vec![step];
        while let Some(at) = open.pop() {
            let named =
                self.schedule.links.references.get(&at).into_iter().flat_map(|named| named.values().copied());
            open.extend(named.chain(self.source(at)).filter(|from| found.insert(*from)));
        }
        found.into_iter()
    }
}

/// The parts of a granted call. All its steps are calls of tools, of this agent or of one that does a step.
fn label_granted(compiled: &CompiledSpec, granted: &Progress, of: u32) -> Vec<LabelledPart> {
    let tools = |tool: &str| compiled.grants()?.tool(tool);
    let mut known = Known::new();
    for at in granted.rests_on(of) {
        let parts = label_step(&tools, granted, at, &known);
        known.insert(at, parts.into_iter().map(|part| part.label).max().unwrap_or_default());
    }
    label_step(&tools, granted, of, &known)
}

fn label_step<'a>(
    tools: &dyn Fn(&str) -> Option<&'a ToolContract>,
    progress: &Progress,
    step: u32,
    known: &Known,
) -> Vec<LabelledPart> {
    let planned = |at: u32| progress.plan.steps.get(at as usize);
    let origin = |at: u32| {
        let label = known.get(&at).copied().unwrap_or(Label::Filled);
        Some(Origin { tool: tools(&planned(at)?.tool), label })
    };
    let labelled = match (progress.schedule.links.references.get(&step), progress.source(step)) {
        (Some(named), _) => planned(step)
            .and_then(|planned| planned.input.as_ref())
            .map(|input| label_input(input, &|name| origin(*named.get(name)?))),
        (None, Some(from)) => {
            let reference = json!({"$from": planned(from).map(|planned| planned.name(from as usize))});
            Some(label_input(&reference, &|_| origin(from)))
        }
        (None, None) => return Vec::new(),
    };
    // A plan with an expression that is none is not accepted; of a state from elsewhere nothing is taken on trust.
    let worst = || LabelledPart { place: String::new(), label: Label::Filled, origin: String::new() };
    labelled.and_then(Result::ok).unwrap_or_else(|| vec![worst()])
}
