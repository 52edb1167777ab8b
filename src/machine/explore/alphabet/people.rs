//! Every kind of answer of a person, and their silence.

use serde_json::Value;

use super::letter::{Letter, letter, sample};
use crate::contract::{FINAL_ANSWER, FinalStep, HITL, PlanStep, schema};
use crate::machine::{EffectId, EffectKind, Event, HumanAnswer, State};
use crate::spec::CompiledSpec;

pub(super) fn answers(rules: &CompiledSpec, state: &State, effect: EffectId, letters: &mut Vec<Letter>) {
    let said = match effect.kind {
        EffectKind::ApprovePlan { .. } => about_plans(rules, state),
        EffectKind::ApproveCall { step, .. } => about_calls(rules, state, step),
        _ => about_steps(rules),
    };
    for Said { name, answer, fits, needs_room } in said {
        let event = Event::HumanAnswered { effect, answer };
        letters.push(Letter { needs_room, ..letter(name, event, fits) });
    }
    letters.push(letter("nobody answered", Event::Expired { effect }, true));
}

struct Said {
    name: &'static str,
    answer: HumanAnswer,
    fits: bool,
    needs_room: bool,
}

fn said(name: &'static str, answer: HumanAnswer, fits: bool) -> Said {
    Said { name, answer, fits, needs_room: false }
}

fn edit(steps: Vec<PlanStep>) -> HumanAnswer {
    HumanAnswer::Edit { steps }
}

fn step(tool: &str) -> PlanStep {
    PlanStep { tool: tool.into(), ..PlanStep::default() }
}

fn about_steps(rules: &CompiledSpec) -> Vec<Said> {
    let mut answers = vec![
        said("approved", HumanAnswer::Approve, true),
        said("responded", HumanAnswer::respond("yes"), true),
        said("rejected", HumanAnswer::reject("no"), true),
        said("edited to something unknown", edit(vec![step("no such tool")]), false),
        said("edited the input", HumanAnswer::EditInput { input: "x".into() }, false),
    ];
    if rules.policy().plan.final_step == FinalStep::None {
        answers.push(said("edited to nothing", edit(Vec::new()), true));
        // There may be no room for one more.
        answers.push(said("edited to another question", edit(vec![step(HITL); 99]), false));
    }
    answers
}

fn about_plans(rules: &CompiledSpec, state: &State) -> Vec<Said> {
    let progress = state.task.progress.iter();
    let planned: Vec<PlanStep> =
        progress.flat_map(|progress| &progress.plan.steps).skip(state.task.first_step()).cloned().collect();
    let same = Said { needs_room: true, ..said("edited to the same", edit(planned), true) };
    let mut answers = vec![
        said("approved", HumanAnswer::Approve, true),
        same,
        said("rejected", HumanAnswer::reject("no"), true),
        said("rejected without a word", HumanAnswer::reject(""), true),
        said("responded", HumanAnswer::respond("yes"), false),
        said("edited to nothing", edit(Vec::new()), false),
        said("edited to something unknown", edit(vec![step("no such tool")]), false),
        said("edited the input", HumanAnswer::EditInput { input: "x".into() }, false),
    ];
    let policy = rules.policy();
    let ends = policy.plan.final_step == FinalStep::Required && policy.plan.min_steps <= 1;
    if ends && policy.required_calls.is_empty() {
        answers.push(said("edited to only the final step", edit(vec![step(FINAL_ANSWER)]), true));
    }
    answers
}

fn about_calls(rules: &CompiledSpec, state: &State, at: u32) -> Vec<Said> {
    let mut answers = vec![
        said("approved", HumanAnswer::Approve, true),
        said("responded", HumanAnswer::respond("yes"), true),
        said("rejected", HumanAnswer::reject("no"), true),
        said("edited the rest", edit(Vec::new()), false),
    ];
    let progress = state.task.progress.as_ref();
    let planned = progress.and_then(|progress| progress.plan.steps.get(at as usize));
    if let Some(tool) = planned.and_then(|planned| rules.tool(&planned.tool)) {
        let inputs = [("edited the input", sample(&tool.input)), ("edited the input away", Value::Null)];
        for (name, input) in inputs {
            let fits = schema::check(&tool.input, &input).is_ok();
            answers.push(said(name, HumanAnswer::EditInput { input }, fits));
        }
    }
    answers
}
