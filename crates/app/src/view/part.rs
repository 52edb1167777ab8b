//! One of the runs of a turn as it is drawn: the outermost, or one that is nested in a step of another. The edges of
//! its phase graph that it took, the drafts of its plan, its steps.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;
use serde_json::{Value, json};

use super::timeline::TimelineEffect;
use crate::report::result_text;
use crate::steps::trace_line_json;
use planwright::machine::explore::{Taken, sketch};
use planwright::machine::{EffectKind, Event, HumanAnswer, State, StepRecord, TraceLine, transition};
use planwright::spec::CompiledSpec;

/// An edge of the phase graph of an agent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PhaseEdge {
    /// The phase that ends.
    pub from: String,
    /// How it ends, such as `planned`; `repair` where a reply is asked for again.
    pub exit: String,
    /// The phase that follows.
    pub to: String,
}

/// The edges that the machine of an agent has, found by walking it.
pub(super) fn draw(compiled: &CompiledSpec) -> Vec<PhaseEdge> {
    let edge = |taken| match taken {
        Taken::Move(edge) => Some(PhaseEdge::new(edge.from, edge.exit, edge.to)),
        Taken::Inside(phase, what) if what == "repair" => Some(PhaseEdge::new(phase, what, phase)),
        Taken::Inside(..) => None,
    };
    sketch(compiled).taken.into_iter().filter_map(edge).collect()
}

impl PhaseEdge {
    fn new(from: impl ToString, exit: impl ToString, to: impl ToString) -> Self {
        PhaseEdge { from: from.to_string(), exit: exit.to_string(), to: to.to_string() }
    }
}

/// An edge that a run took.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TakenEdge {
    /// The edge.
    #[serde(flatten)]
    pub edge: PhaseEdge,
    /// The record that it was taken at.
    pub record: u64,
}

/// A line of the trace, and the record that left it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ShownLine {
    /// The record.
    pub record: u64,
    /// The line.
    #[cfg_attr(feature = "schema", schema(value_type = crate::shapes::TraceLine))]
    pub line: Value,
    /// Whether the run had read untrusted output by then.
    pub tainted: bool,
}

/// A draft of a plan.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ShownDraft {
    /// From 1.
    pub draft: u32,
    /// The record that brought it.
    pub record: u64,
    /// Whether the re-planner wrote it.
    pub replanned: bool,
    /// Its steps as they were planned.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<crate::shapes::PlanStep>))]
    pub planned: Vec<Value>,
    /// The steps that a person put in their place.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Vec<crate::shapes::PlanStep>>))]
    pub edited: Option<Vec<Value>>,
    /// Why it was sent back.
    pub sent_back: Option<SentBack>,
    /// Whether the run had read untrusted output when it was planned.
    pub tainted: bool,
}

/// Why a draft was sent back.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SentBack {
    /// The record that sent it back.
    pub record: u64,
    /// Why.
    pub reason: String,
    /// What the next draft should do differently.
    pub fix_hint: String,
    /// Whether the run had read untrusted output by then.
    pub tainted: bool,
}

/// A step of any draft, with what came of it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ShownStep {
    /// The draft that planned it, from 1.
    pub draft: u32,
    /// Its position in its plan, from 1.
    pub step: usize,
    /// Its name.
    pub id: String,
    /// Whether it is of the plan that the run is at.
    pub current: bool,
    /// What was planned.
    #[cfg_attr(feature = "schema", schema(value_type = crate::shapes::PlanStep))]
    pub planned: Value,
    /// `pending`, `running`, `waiting_human`, `in_doubt`, `completed`, `failed` or `skipped`.
    pub status: &'static str,
    /// What came of it.
    pub output: Option<String>,
    /// Where that comes from.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<Object>))]
    pub sources: Vec<Value>,
    /// How often it was tried.
    pub tries: u32,
    /// The name of the step that it repeats, where it was left out for that.
    pub same_as: Option<String>,
    /// Its effects, by their places in the timeline.
    pub effects: Vec<usize>,
    /// The paths of the runs that were nested in it, one for each try.
    pub runs: Vec<String>,
    /// Whether a model that had read untrusted output planned it, or wrote it anew since.
    pub plan_untrusted: bool,
    /// Whether it was given what is untrusted.
    pub read_untrusted: bool,
    /// Whether what came of it is untrusted.
    pub gave_untrusted: bool,
}

/// One of the runs of a turn.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RunPart {
    /// The effect that it is nested in, such as `step.1.2.1`; empty for the outermost.
    pub path: String,
    /// The agent, under which `graphs` has its phases; behind the agents that it is nested in, after a `/`.
    pub agent: String,
    /// What it was asked.
    pub question: String,
    /// Whether what asked it had read untrusted output by then.
    pub question_untrusted: bool,
    /// The phase that it is in.
    pub phase: String,
    /// Its answer.
    pub answer: Option<String>,
    /// Why it ended without one.
    pub error: Option<String>,
    /// The answer, or why there is none, as the user is told.
    pub result: Option<String>,
    /// Whether it has read untrusted output.
    pub tainted: bool,
    /// The edges that it took, in order.
    pub taken: Vec<TakenEdge>,
    /// The drafts of its plan, in order.
    pub drafts: Vec<ShownDraft>,
    /// The steps of all drafts, in order.
    pub steps: Vec<ShownStep>,
    /// The lines of its trace.
    pub trace: Vec<ShownLine>,
}

/// A run that is walked, record by record.
pub(super) struct PartWalk<'r> {
    pub path: String,
    pub agent: String,
    pub compiled: &'r CompiledSpec,
    pub state: State,
    began_tainted: bool,
    taken: Vec<TakenEdge>,
    drafts: Vec<ShownDraft>,
    /// The record of each line of the trace, and whether the run was tainted by then.
    lines: Vec<(u64, bool)>,
}

impl<'r> PartWalk<'r> {
    pub fn new(path: String, agent: String, compiled: &'r CompiledSpec, state: State, record: u64) -> Self {
        let lines = vec![(record, state.is_tainted()); state.trace().len()];
        let (taken, drafts, began_tainted) = (Vec::new(), Vec::new(), state.is_tainted());
        PartWalk { path, agent, compiled, state, began_tainted, taken, drafts, lines }
    }

    /// Moves the run by an event.
    pub fn step(mut self, record: u64, event: Event) -> Result<Self, String> {
        let kind = event.effect().map(|effect| effect.kind);
        let step = transition(self.compiled, self.state, event).map_err(|refused| refused.to_string())?;
        self.taken.extend(step.moves.iter().map(|edge| {
            let edge = PhaseEdge::new(edge.from, edge.exit, edge.to);
            TakenEdge { edge, record }
        }));
        self.state = step.state;
        for at in self.lines.len()..self.state.trace().len() {
            let line = (record, self.state.is_tainted());
            self.lines.push(line);
            note_line(&self.state.trace()[at], kind, line, &mut self.taken, &mut self.drafts);
        }
        Ok(self)
    }

    /// What is shown of it. `timeline` holds the effects of all runs, `tainted` the paths of those that have read
    /// untrusted output.
    pub fn finish(
        self,
        timeline: &[TimelineEffect],
        effects: &EffectsOfSteps,
        tainted: &HashSet<String>,
    ) -> RunPart {
        let PartWalk { path, agent, state, began_tainted, taken, drafts, lines, .. } = self;
        let is_amended = lines.iter().zip(state.trace()).any(|((_, tainted), line)| {
            *tainted && matches!(line, TraceLine::Decision { remaining: Some(_), .. })
        });
        let trace = lines.into_iter().zip(state.trace());
        let trace = trace.map(|((record, tainted), line)| {
            let line = trace_line_json(line, state.intent());
            ShownLine { record, line, tainted }
        });
        RunPart {
            agent,
            question: state.input().question.clone(),
            question_untrusted: began_tainted,
            phase: state.phase().to_string(),
            answer: state.answer().map(str::to_owned),
            error: state.error().map(ToString::to_string),
            result: result_text(&state),
            tainted: state.is_tainted(),
            taken,
            steps: show_steps(&state, &path, timeline, effects, tainted, (&drafts, is_amended)),
            drafts,
            trace: trace.collect(),
            path,
        }
    }
}

/// Notes what a line of the trace says of the drafts, and the edges that are no change of phase.
fn note_line(
    line: &TraceLine,
    kind: Option<EffectKind>,
    (record, tainted): (u64, bool),
    taken: &mut Vec<TakenEdge>,
    drafts: &mut Vec<ShownDraft>,
) {
    let as_json = |steps: &[_]| steps.iter().map(|step| json!(step)).collect::<Vec<Value>>();
    match line {
        TraceLine::Plan { ok: true, used_replan_planner, steps: Some(steps), .. }
            if !steps.as_slice().is_empty() =>
        {
            let Some(EffectKind::Plan { draft, .. }) = kind else { return };
            let (planned, replanned) = (as_json(steps.as_slice()), *used_replan_planner);
            let (edited, sent_back) = (None, None);
            drafts.push(ShownDraft { draft, record, replanned, planned, edited, sent_back, tainted });
        }
        TraceLine::ReplanTrigger { reason, fix_hint, .. } => {
            let (reason, fix_hint) = (reason.clone(), fix_hint.clone());
            let why = SentBack { record, reason, fix_hint, tainted };
            drafts.last_mut().into_iter().for_each(|draft| draft.sent_back = Some(why.clone()));
        }
        TraceLine::Human { answer: HumanAnswer::Edit { steps }, .. } => {
            drafts.last_mut().into_iter().for_each(|draft| draft.edited = Some(as_json(steps)));
        }
        TraceLine::Repair { of, .. } => {
            taken.push(TakenEdge { edge: PhaseEdge::new(of, "repair", of), record });
        }
        _ => {}
    }
}

/// The effects of each step, by the path of its run, its draft and its position; and the runs nested in it.
pub(super) type EffectsOfSteps = HashMap<(String, u32, u32), (Vec<usize>, Vec<String>)>;

/// The fields of a step that are words of a plan.
const WORDS: [&str; 6] = ["tool", "with", "input", "task", "description", "hitl_question"];

/// The steps of all drafts. With the drafts comes whether a decision changed one after untrusted output was read.
fn show_steps(
    state: &State,
    path: &str,
    timeline: &[TimelineEffect],
    effects: &EffectsOfSteps,
    tainted: &HashSet<String>,
    (drafts, is_amended): (&[ShownDraft], bool),
) -> Vec<ShownStep> {
    let current = state.current_steps().next().map(|record| record.plan);
    let mut shown: Vec<ShownStep> = Vec::new();
    // Of the steps of one plan: their names, and whether what they have seen is untrusted.
    let (mut plan, mut seen) = (0, BTreeMap::<String, bool>::new());
    let mut first = 0;
    for StepRecord { plan: of, draft, step_index, step, status, output, sources, tries, same_as, .. } in
        state.steps()
    {
        if of != plan {
            (plan, first) = (of, shown.len());
            seen.clear();
        }
        let key = (path.to_owned(), draft, step_index as u32);
        let (effects, runs) = effects.get(&key).cloned().unwrap_or_default();
        let needs = step.depends_on.iter().chain(&step.input_from);
        let same_as = same_as.and_then(|at| shown.get(first + at as usize));
        let read_untrusted = needs.into_iter().any(|need| seen.get(need) == Some(&true));
        let gave_untrusted = effects.iter().any(|at| timeline[*at].untrusted)
            || runs.iter().any(|run| tainted.contains(run))
            || same_as.is_some_and(|same| same.gave_untrusted);
        let planned = json!(step);
        let says_it = |one: &Value| WORDS.iter().all(|field| one[field] == planned[field]);
        let plan_untrusted = drafts.iter().find(|one| one.draft == draft).is_some_and(|of| {
            of.tainted || is_amended && !of.edited.as_ref().unwrap_or(&of.planned).iter().any(says_it)
        });
        let id = step.name(step_index);
        seen.insert(id.clone(), read_untrusted || gave_untrusted);
        shown.push(ShownStep {
            draft,
            step: step_index + 1,
            id,
            current: current == Some(of),
            planned,
            status,
            output: output.map(str::to_owned),
            sources: sources.iter().map(|source| json!(source)).collect(),
            tries,
            same_as: same_as.map(|same| same.id.clone()),
            effects,
            runs,
            plan_untrusted,
            read_untrusted,
            gave_untrusted,
        });
    }
    shown
}
