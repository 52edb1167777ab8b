//! Two runs side by side: what belongs together, where they part, how they differ.
//!
//! What counts is what was asked of the world and what came of it. Times, the one that models are told among them, tokens,
//! prices and which server answered are shown and do not count, so that a run that is repeated is equal to the first.

use serde::Serialize;
use serde_json::{Value, json};

use super::RunView;
use super::align::align;
use super::asked::WhatWasAsked;
use super::difference::{Difference, Diffs, instructions};
use super::part::{RunPart, ShownStep};
use super::timeline::TimelineEffect;
use planwright::machine::Usage;
use planwright::spec::Money;

/// Two runs, compared.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Comparison {
    /// Whether nothing differs that counts: times, tokens, prices and servers do not.
    pub equal: bool,
    /// The one run.
    pub a: ComparedRun,
    /// The other.
    pub b: ComparedRun,
    /// The first point where they part.
    pub parting: Option<Parting>,
    /// How they differ as a whole: the question, the agent, what each role is instructed, how they ended.
    pub differences: Vec<Difference>,
    /// Their effects, side by side.
    pub effects: Vec<ComparedPair>,
    /// Their steps, side by side.
    pub steps: Vec<ComparedPair>,
    /// What is said of the replay, where the other run is the replay of the one.
    pub replay: Option<ComparedReplay>,
}

/// One of two runs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ComparedRun {
    /// The thread; nothing where the run stands alone.
    pub thread: Option<String>,
    /// The turn, from 1.
    pub turn: u32,
    /// The agent.
    pub agent: String,
    /// Where it stands.
    #[cfg_attr(feature = "schema", schema(value_type = crate::shapes::TurnStatus))]
    pub status: &'static str,
    /// How many records it has.
    pub records: usize,
    /// The time that models are told, where they are told one. It makes no difference.
    pub now: Option<String>,
    /// What it took, in milliseconds, where that is on record.
    pub ms: Option<u64>,
    /// What was read and written.
    #[cfg_attr(feature = "schema", schema(value_type = crate::shapes::Usage))]
    pub tokens: Usage,
    /// What that cost, where prices are known.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub cost: Option<Money>,
}

/// The first point where two runs part.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Parting {
    /// The record of the one; nothing where it has none there.
    pub a: Option<u64>,
    /// The record of the other.
    pub b: Option<u64>,
    /// The row of `effects`; nothing where they part before any.
    pub row: Option<usize>,
    /// What differs there, as in the first of the differences; `missing` where one has no such effect.
    pub what: &'static str,
}

/// Two effects or two steps that belong together; one alone, where the other run has none.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ComparedPair {
    /// Who is asked, or does it.
    pub asked: String,
    /// The one.
    pub a: Option<ComparedSide>,
    /// The other.
    pub b: Option<ComparedSide>,
    /// Whether both are there and nothing differs.
    pub same: bool,
    /// How they differ.
    pub differences: Vec<Difference>,
}

/// One of two effects or steps.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ComparedSide {
    /// Its place in the timeline of its view, or among the steps of its run.
    pub at: usize,
    /// The path of its run.
    pub path: String,
    /// The id of the effect, or the name of the step.
    pub id: String,
    /// The record that asked it; nothing for a step.
    pub record: Option<u64>,
    /// What it took, in milliseconds, where that is on record.
    pub ms: Option<u64>,
    /// What was read and written.
    #[cfg_attr(feature = "schema", schema(value_type = Option<crate::shapes::Usage>))]
    pub tokens: Option<Usage>,
    /// What that cost.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub cost: Option<Money>,
}

/// What is said of a comparison whose second run is the replay of the first.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ComparedReplay {
    /// How the replay differs from the recording, as `planwright replay` says it: `kind`, `message`, and, for what
    /// differs at one place, its `path` with what was `recorded` there and what is there `now`.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<Object>))]
    pub drift: Vec<Value>,
    /// Why the replay went no further; nothing where it came to its end.
    pub stopped: Option<String>,
    /// The row of `effects` that it stopped at. What the recording has behind it was not reached.
    pub stopped_at: Option<usize>,
    /// Why the recording is not shown to its end: the answer that no longer fits.
    pub misfit: Option<String>,
}

/// Compares two runs.
pub fn compare(a: &RunView, b: &RunView) -> Comparison {
    let mut diffs = Diffs::default();
    let mut differences = Vec::new();
    differences.extend(diffs.of("question", &a.question, &b.question));
    differences.extend(diffs.of("agent", &a.agent, &b.agent));
    for (role, one) in &a.frames {
        let other = b.frames.get(role);
        let instructions =
            other.and_then(|other| diffs.of("instructions", &instructions(one), &instructions(other)));
        differences.extend(instructions.map(|found| Difference { of: Some(role.clone()), ..found }));
    }
    differences.extend(diffs.of("status", a.status, b.status));
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    differences.extend(diffs.of("answer", &text(&a.answer), &text(&b.answer)));
    differences.extend(diffs.of("error", &text(&a.error), &text(&b.error)));
    let effects = compare_effects(a, b, &mut diffs);
    let steps = compare_steps(a, b, &mut diffs);
    let equal = differences.is_empty() && effects.iter().chain(&steps).all(|pair| pair.same);
    let parting = (!equal).then(|| find_parting(a, b, &differences, &effects)).flatten();
    let (a, b) = (ComparedRun::of(a), ComparedRun::of(b));
    Comparison { equal, a, b, parting, differences, effects, steps, replay: None }
}

pub(super) fn find_parting(
    a: &RunView,
    b: &RunView,
    differences: &[Difference],
    effects: &[ComparedPair],
) -> Option<Parting> {
    if let Some(first) = differences.first().filter(|first| first.what == "question") {
        return Some(Parting { a: Some(0), b: Some(0), row: None, what: first.what });
    }
    let Some(row) = effects.iter().position(|pair| !pair.same) else {
        let first = differences.iter().find(|one| ["agent", "instructions"].contains(&one.what))?;
        return Some(Parting { a: Some(0), b: Some(0), row: None, what: first.what });
    };
    let ComparedPair { a: one, b: other, differences, .. } = &effects[row];
    let what = differences.first().map_or("missing", |first| first.what);
    // What was asked the same and answered otherwise parts where it was answered.
    let record = |view: &RunView, side: &ComparedSide| match what {
        "reply" => view.timeline[side.at].answered.unwrap_or(view.timeline[side.at].requested),
        _ => view.timeline[side.at].requested,
    };
    let (one, other) = (one.as_ref().map(|one| record(a, one)), other.as_ref().map(|other| record(b, other)));
    Some(Parting { a: one, b: other, row: Some(row), what })
}

impl ComparedRun {
    fn of(view: &RunView) -> Self {
        let all = &view.summary.all;
        let ended = view.ended.or_else(|| view.timeline.iter().filter_map(|effect| effect.ended).max());
        ComparedRun {
            thread: view.thread.clone(),
            turn: view.turn,
            agent: view.agent.clone(),
            status: view.status,
            records: view.shown_records,
            now: view.now.clone(),
            ms: view.began.zip(ended).map(|(began, ended)| ended.saturating_sub(began)),
            tokens: all.tokens,
            cost: all.cost,
        }
    }
}

fn compare_effects(a: &RunView, b: &RunView, diffs: &mut Diffs) -> Vec<ComparedPair> {
    // Each run is told the time of its own.
    let key = |effect: &TimelineEffect| format!("{}\u{0}{}", effect.asked, effect.timeless);
    let aligned = align(&a.timeline, &b.timeline, key, |effect| effect.asked.clone());
    let (mut asked_a, mut asked_b) = (WhatWasAsked::of(a), WhatWasAsked::of(b));
    let pair = |(one, other): (Option<usize>, Option<usize>)| {
        let side = |view: &RunView, at: usize| ComparedSide::of_effect(at, &view.timeline[at]);
        let mut differences = Vec::new();
        if let Some((one, other)) = one.zip(other) {
            let (first, second) = (&a.timeline[one], &b.timeline[other]);
            let of_role = |view: &RunView| view.frames.get(&first.asked).cloned();
            let differ = first.timeless != second.timeless;
            if differ && first.kind == "model" && of_role(a) != of_role(b) {
                let (what, of) = ("instructions", Some(first.asked.clone()));
                let (a, b, diff) = Default::default();
                differences.push(Difference { what, of, a, b, diff });
            }
            if differ {
                let what = if first.kind == "tool" { "input" } else { "request" };
                let first = asked_a.find(one).without(a.now.as_deref());
                let second = asked_b.find(other).without(b.now.as_deref());
                differences.extend(diffs.of_asked(what, &first, &second));
            }
            differences.extend(diffs.of_values("reply", &reply_of(first), &reply_of(second)));
        }
        let asked = one.map(|at| &a.timeline[at]).or(other.map(|at| &b.timeline[at]));
        ComparedPair {
            asked: asked.map_or_else(String::new, |effect| effect.asked.clone()),
            same: one.is_some() && other.is_some() && differences.is_empty(),
            a: one.map(|at| side(a, at)),
            b: other.map(|at| side(b, at)),
            differences,
        }
    };
    aligned.into_iter().map(pair).collect()
}

/// The answer of an effect without what it cost, who gave it and what the model thought; the text alone, where that is
/// all.
fn reply_of(effect: &TimelineEffect) -> Value {
    let mut reply = effect.reply.clone();
    if let Some(fields) = reply.as_object_mut().filter(|_| effect.kind == "model") {
        for field in ["usage", "model", "server", "thoughts", "reasoning", "cached"] {
            fields.shift_remove(field);
        }
    }
    let only = |value: &Value, field: &str| {
        value.as_object().filter(|fields| fields.len() == 1).and_then(|fields| fields.get(field)).cloned()
    };
    let text = only(&reply, "text").or_else(|| only(&only(&reply, "returned")?, "output"));
    text.unwrap_or(reply)
}

fn compare_steps(a: &RunView, b: &RunView, diffs: &mut Diffs) -> Vec<ComparedPair> {
    // Each with the agent that its run is nested as: what the outermost is called says nothing of a step.
    type Placed<'v> = (&'v RunPart, usize, &'v ShownStep, &'v str);
    fn placed(view: &RunView) -> Vec<Placed<'_>> {
        let outermost = view.runs.first().map_or("", |run| run.agent.as_str());
        let runs = view.runs.iter().flat_map(|run| {
            let nested = run.agent.strip_prefix(outermost).unwrap_or(&run.agent);
            run.steps.iter().enumerate().map(move |(at, step)| (run, at, step, nested))
        });
        runs.collect()
    }
    let (one, other) = (placed(a), placed(b));
    let tool = |step: &Placed<'_>| format!("{}\u{0}{}", step.3, step.2.planned["tool"]);
    let key = |step: &Placed<'_>| {
        let told = ["with", "input", "task", "hitl_question"].map(|field| step.2.planned[field].to_string());
        format!("{}\u{0}{}", tool(step), told.join("\u{0}"))
    };
    let side = |(run, at, step, _): &Placed<'_>| ComparedSide {
        at: *at,
        path: run.path.clone(),
        id: step.id.clone(),
        record: None,
        ms: None,
        tokens: None,
        cost: None,
    };
    let pair = |(at, beside): (Option<usize>, Option<usize>)| {
        let (first, second) = (at.map(|at| &one[at]), beside.map(|at| &other[at]));
        let mut differences = Vec::new();
        if let Some(((_, _, first, _), (_, _, second, _))) = first.zip(second) {
            differences.extend(diffs.of_values("planned", &first.planned, &second.planned));
            differences.extend(diffs.of("status", first.status, second.status));
            differences.extend(diffs.of_values("output", &json!(first.output), &json!(second.output)));
        }
        let any = first.or(second).map_or(&Value::Null, |(_, _, step, _)| &step.planned["tool"]);
        ComparedPair {
            asked: any.as_str().unwrap_or_default().to_owned(),
            same: first.is_some() && second.is_some() && differences.is_empty(),
            a: first.map(side),
            b: second.map(side),
            differences,
        }
    };
    align(&one, &other, key, tool).into_iter().map(pair).collect()
}

impl ComparedSide {
    fn of_effect(at: usize, effect: &TimelineEffect) -> Self {
        ComparedSide {
            at,
            path: effect.path.clone(),
            id: effect.effect.clone(),
            record: Some(effect.requested),
            ms: effect.ms(),
            tokens: effect.tokens,
            cost: effect.cost,
        }
    }
}
