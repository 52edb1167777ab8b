//! What a world may say to an agent, good and bad, for whichever effect a run asks: the repertoire
//! from which random runs draw.

use planwright::contract::{FinalStep, HITL, IntentForm, ToolContract, Validate};
use planwright::machine::{
    AllowedCall, Effect, EffectKind, Event, FailureClass, HumanAnswer, ModelFailure, ModelReply, State,
    ToolOutcome, local,
};
use planwright::spec::{CompiledSpec, Planner, RoleName, Write};
use serde_json::{Value, json};

/// How an effect is answered.
#[derive(Clone, Debug)]
pub enum Answer {
    Good(u8),
    Bad(String),
    Failed(u8),
}

pub const PLANS: [&str; 6] = [
    r#"{"goal":"g","steps":[{"tool":"final_answer","input":"x"}]}"#,
    r#"{"goal":"g","steps":[{"tool":"calc","input":"1"},{"tool":"final_answer","input":"x"}]}"#,
    r#"{"goal":"g","steps":[{"tool":"wiki","input":"서울"},{"tool":"calc","input":"1"},{"tool":"docs","input":"b"},{"tool":"final_answer","input":"x"}]}"#,
    r#"{"goal":"g","steps":[{"id":"a","tool":"wiki","input":"a"},{"tool":"docs","input_from":"a"},{"tool":"calc","input":"2","depends_on":["a"]},{"tool":"docs","input":"z","depends_on":["step_2",3]},{"tool":"final_answer","input":"x"}]}"#,
    "```json\n{\"goal\":\"g\",\"steps\":[{\"tool\":\"search\",\"input\":\"q\"},{\"tool\":\"final_answer\",\"input\":\"x\"}]}\n```",
    r#"{"goal":"g","steps":[{"tool":"no such tool","input":"x"}]}"#,
];
pub const VERDICTS: [&str; 4] = [
    r#"{"ok":true,"reason":"r","fix_hint":""}"#,
    r#"{"ok":false,"reason":"주제가 다름","fix_hint":"다시 검색"}"#,
    r#"{"ok":false,"reason":"r","fix_hint":""}"#,
    r#"{"ok":"maybe"}"#,
];
const SUFFICIENCY: [&str; 4] = [
    r#"{"sufficient":true,"reason":"r","missing_info":""}"#,
    r#"{"sufficient":false,"reason":"부족","missing_info":"제5조"}"#,
    r#"{"sufficient":false,"reason":"r","missing_info":""}"#,
    r#"{"sufficient":"maybe"}"#,
];
const VALUES: [&str; 3] = [r#"{"value":"값"}"#, r#"{"value":7}"#, "값"];
const ANSWERS: [&str; 3] = [r#"{"final":"답"}"#, "plain", ""];
const SCOPES: [&str; 3] = [r#"{"in_scope":true}"#, r#"{"in_scope":false,"refusal":"범위 밖"}"#, "?"];
const CONTEXTS: [&str; 3] =
    [r#"{"need_previous_context":true}"#, r#"{"need_previous_context":false}"#, "아마도"];

/// What a role says, the `n`th of its repertoire. Some of it breaks its contract.
pub fn says(compiled: &CompiledSpec, state: &State, role: RoleName, plans: &[&str], n: usize) -> ModelReply {
    let one = |texts: &[&str]| ModelReply::text(texts[n % texts.len()]);
    match role {
        RoleName::Planner | RoleName::Replanner if n.is_multiple_of(2) && fits(compiled, plans) => {
            ModelReply::text(plans[n / 2 % plans.len()])
        }
        RoleName::Planner | RoleName::Replanner => drafted(compiled, state, n),
        RoleName::Validator => match compiled.policy().validate {
            Validate::Sufficiency => one(&SUFFICIENCY),
            _ => one(&VERDICTS),
        },
        RoleName::Writer | RoleName::Conversation | RoleName::Agent => one(&ANSWERS),
        RoleName::Executor => one(&VALUES),
        RoleName::Scope => one(&SCOPES),
        RoleName::PreviousContext => one(&CONTEXTS),
        RoleName::Intent => understood(compiled, n),
        RoleName::Grant => one(&[r#"{"steps": []}"#]),
        RoleName::Orchestrator => decided(compiled, n),
    }
}

/// Whether these plans, which name the tools that most agents ship with, are of any use here.
fn fits(compiled: &CompiledSpec, plans: &[&str]) -> bool {
    let policy = compiled.policy();
    !plans.is_empty()
        && policy.planner == Planner::Json
        && policy.plan.final_step == FinalStep::Required
        && compiled.tool("wiki").is_some()
}

fn understood(compiled: &CompiledSpec, n: usize) -> ModelReply {
    let policy = &compiled.policy().intent;
    let kind = if policy.kinds.is_empty() { "묻다" } else { &policy.kinds[n % policy.kinds.len()] };
    ModelReply::text(match policy.form {
        _ if n % 5 == 4 => r#"{"intent": 7}"#.to_owned(),
        IntentForm::Query => json_text(
            json!({"intent": kind, "rewritten_query": "다시 쓴 질문", "needs_tool": !n.is_multiple_of(3)}),
        ),
        IntentForm::Kind => json_text(json!({"intent_type": kind, "confidence": 0.5})),
        IntentForm::Text => "무언가를 알고 싶다".to_owned(),
    })
}

/// A decision about the first of the agents or the last, as in the walk.
fn decided(compiled: &CompiledSpec, n: usize) -> ModelReply {
    let agents = compiled.plan().agents();
    let (first, last) = (&agents[0].name, &agents[agents.len() - 1].name);
    let both = |primary: &str, supporting: &str| {
        let needed = json!({"primary_agent": primary, "supporting_agent": supporting});
        json!({"action": "collaborate", "collaboration_needed": needed})
    };
    ModelReply::text(json_text(match n % 7 {
        0 | 1 => json!({"action": "continue"}),
        2 => json!({"action": "add_agent", "next_agent": first}),
        3 => json!({"action": "skip_remaining"}),
        4 => both(last, first),
        5 => both(first, last),
        _ => json!({"action": "춤"}),
    }))
}

pub fn json_text(value: Value) -> String {
    value.to_string()
}

/// One tool or agent of each kind that the rules tell apart, as the walk takes them.
fn kinds(compiled: &CompiledSpec) -> Vec<&ToolContract> {
    let mut kinds: Vec<(_, &ToolContract)> = Vec::new();
    for tool in compiled.plan().all() {
        let required = compiled.policy().required_calls.iter().any(|required| required.tool == tool.name);
        let required = required.then_some(tool.name.as_str());
        let doer = compiled.agent(&tool.name).is_some();
        let permit = compiled.needs_approval(&tool.name);
        let kind = (tool.effect, tool.is_idempotent(), tool.trust, doer, permit, required);
        if !kinds.iter().any(|(known, _)| *known == kind) {
            kinds.push((kind, tool));
        }
    }
    kinds.into_iter().map(|(_, tool)| tool).collect()
}

/// What a planner says next, of the shapes that the walk tells apart: every size of every kind of
/// tool, mixed, in a chain; an answer, nothing to do, and what is no plan.
fn drafted(compiled: &CompiledSpec, state: &State, n: usize) -> ModelReply {
    let policy = compiled.policy();
    let kinds = kinds(compiled);
    let done = state.current_steps().count();
    let fresh = |at: usize| json!(format!("물음 {}.{}", done, at));
    let ends = policy.plan.final_step == FinalStep::Required;
    let most = policy.plan.max_steps as usize - usize::from(ends);
    let (size, shape) = (n % (most + 1), n / (most + 1));
    if n % 11 == 10 || (kinds.is_empty() && size > 0) {
        return ModelReply::text(r#"{"steps":[{"tool":"no such tool","input":"x"}]}"#);
    }
    let mixed = shape % (kinds.len() + 1) == kinds.len();
    let which = shape % (kinds.len() + 1);
    let tool = |at: usize| if mixed { kinds[at % kinds.len()] } else { kinds[which] };
    match policy.planner {
        _ if size == 0 && policy.planner != Planner::Json => said(compiled, n),
        Planner::ToolCalls => {
            let call = |at: usize| (tool(at).name.clone(), tool(at).arguments(&fresh(at)));
            ModelReply::calls((0..size).map(call))
        }
        Planner::ReactText => {
            ModelReply::text(format!("Thought: 음\nAction: {}\nAction Input: {}", tool(0).name, fresh(0)))
        }
        Planner::Json => {
            let step = |at: usize| json!({"tool": tool(at).name, "input": fresh(at), "task": "할 일", "description": "…"});
            let mut steps: Vec<Value> = (0..size).map(step).collect();
            let first = !mixed && which == 0;
            if size == 3 && first && n.is_multiple_of(2) && !policy.keeps_steps() {
                steps[1]["depends_on"] = json!(["step_1"]);
                steps[2]["depends_on"] = json!(["step_2"]);
            }
            if size > 1 && first && n % 2 == 1 && compiled.policy().approval.steps {
                steps.pop();
                steps.insert(size - 2, json!({"agent": HITL, "hitl_question": "해도 될까요?"}));
            }
            if ends {
                steps.push(json!({"tool": "final_answer", "input": "x"}));
            }
            ModelReply::text(json_text(
                json!({"goal": "g", "reasoning": "r", "strategy": "s", "steps": steps}),
            ))
        }
    }
}

/// Words instead of a plan, with up to two of the lines that need a call each.
fn said(compiled: &CompiledSpec, n: usize) -> ModelReply {
    let policy = compiled.policy();
    let lines = policy.required_calls.iter().filter_map(|required| required.per_line.as_deref());
    let lines: String = lines
        .filter(|_| policy.write == Write::Planner)
        .map(|begins| format!("{begins} …\n").repeat(n % 3))
        .collect();
    let answer = format!("{lines}답");
    ModelReply::text(match policy.planner {
        Planner::ReactText => format!("Thought: 끝\nFinal Answer: {answer}"),
        _ => answer,
    })
}

pub fn event(
    compiled: &CompiledSpec,
    state: &State,
    effect: Effect,
    answer: &Answer,
    plans: &[&str],
) -> Event {
    let id = effect.id();
    match effect {
        Effect::CallTool { .. } => {
            let outcome = match answer {
                Answer::Good(n) if n % 4 != 0 => ToolOutcome::returned(format!("결과 {n}")),
                Answer::Bad(text) => ToolOutcome::returned(text.clone()),
                _ => ToolOutcome::Failed { kind: "timeout".into(), message: "no answer".into() },
            };
            Event::ToolReturned { effect: id, outcome }
        }
        Effect::Wait { .. } => Event::TimePassed { effect: id },
        Effect::AskHuman { .. } => match answer {
            Answer::Failed(n) if n % 2 == 1 => Event::Expired { effect: id },
            answer => {
                let whole = (compiled, state);
                let state = local(compiled, state, id).map_or(state, |here| here.state);
                let calls = planwright::prompt::calls(whole.0, whole.1, id).len() as u32;
                let answer = match person(state, id.kind, answer) {
                    // As a driver takes it.
                    HumanAnswer::Approve | HumanAnswer::Respond { .. } if calls > 1 => {
                        HumanAnswer::ApproveCalls { calls: (1..=calls).map(AllowedCall::AsShown).collect() }
                    }
                    HumanAnswer::EditInput { input } if calls > 1 => {
                        HumanAnswer::ApproveCalls { calls: vec![AllowedCall::Edited { position: 1, input }] }
                    }
                    answer => answer,
                };
                Event::HumanAnswered { effect: id, answer }
            }
        },
        Effect::AskModel { role, .. } => match answer {
            Answer::Good(n) => {
                // A nested run speaks for itself: its own rules say what its roles may say.
                let (compiled, state) =
                    local(compiled, state, id).map_or((compiled, state), |here| (here.compiled, here.state));
                let reply = says(compiled, state, role, plans, usize::from(*n));
                Event::ModelReplied { effect: id, reply }
            }
            Answer::Bad(text) => Event::ModelReplied { effect: id, reply: ModelReply::text(text.clone()) },
            Answer::Failed(n) => {
                let class = FailureClass::ALL[*n as usize % FailureClass::ALL.len()];
                Event::ModelFailed { effect: id, failure: ModelFailure::new(class, "m") }
            }
        },
        other => panic!("nothing answers {other:?}"),
    }
}

/// What a person says, of what may be said to what is asked.
pub fn person(state: &State, asked: EffectKind, answer: &Answer) -> HumanAnswer {
    let planned = || {
        let memory = serde_json::to_value(state).expect("serialises");
        let draft = memory["task"]["drafts"].as_array().and_then(|drafts| drafts.last());
        let first = draft.and_then(|draft| draft["first_step"].as_u64()).unwrap_or(0) as usize;
        HumanAnswer::Edit { steps: state.current_steps().skip(first).map(|step| step.step.clone()).collect() }
    };
    match (asked, answer) {
        (_, Answer::Failed(_)) => HumanAnswer::reject("아니요"),
        (EffectKind::ApprovePlan { .. }, Answer::Bad(text)) => HumanAnswer::reject(text.clone()),
        (_, Answer::Bad(text)) => HumanAnswer::respond(text.clone()),
        (EffectKind::ApprovePlan { .. }, Answer::Good(n)) if n % 3 == 0 => planned(),
        (EffectKind::ApproveCall { .. }, Answer::Good(n)) if n % 3 == 0 => {
            HumanAnswer::EditInput { input: json!(format!("고친 물음 {n}")) }
        }
        (EffectKind::ApproveCall { .. }, Answer::Good(n)) if n % 3 == 1 => {
            HumanAnswer::ApproveCalls { calls: vec![AllowedCall::AsShown(1)] }
        }
        (EffectKind::Human { .. }, Answer::Good(_)) => HumanAnswer::respond("네"),
        _ => HumanAnswer::Approve,
    }
}
