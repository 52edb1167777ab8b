//! Plans and calls of every size and mix worth telling apart, and those that break the contract in one way each.

use serde_json::{Value, json};

use super::key::{MOST_LINES, dropped_write, may_be_called_again};
use super::sample::{fresh_input, sample};
use crate::contract::{FINAL_ANSWER, FinalStep, HITL, ToolContract, ToolEffect};
use crate::machine::state::granted_input;
use crate::machine::{ModelReply, State, StepRun};
use crate::spec::{CompiledSpec, Duplicates, Execution, Write};

pub(super) type Replies = Vec<(String, ModelReply)>;

pub(super) fn text(name: impl Into<String>, reply: impl ToString) -> (String, ModelReply) {
    (name.into(), ModelReply::text(reply.to_string()))
}

/// The writes that the question calls for, as they come out by now.
fn granted_calls<'c>(compiled: &'c CompiledSpec, state: &State) -> Vec<(&'c ToolContract, Value)> {
    let Some((contract, view)) = compiled.grants().zip(state.task.granted_by_now(compiled, None)) else {
        return Vec::new();
    };
    let called = |at: usize| {
        let tool = compiled.called_tool(&view.plan.steps[at].tool)?;
        Some((tool, granted_input(contract, &view, at).filter(|_| tool.effect == ToolEffect::Write)?))
    };
    (0..view.steps.len()).filter_map(called).collect()
}

/// One tool or agent of each kind that a branch can tell apart.
fn kinds(compiled: &CompiledSpec) -> Vec<&ToolContract> {
    let required_calls = &compiled.policy().required_calls;
    let refs = compiled.plan().offers_references();
    let kind = |tool: &ToolContract| {
        let required = required_calls.iter().any(|required| required.tool == tool.name);
        let required = required.then(|| tool.name.clone());
        let asks = (compiled.agent(&tool.name).is_some(), compiled.needs_approval(&tool.name));
        let values =
            (!tool.egress.is_empty(), tool.grave, tool.arguments.clone(), refs && tool.output.is_some());
        (tool.effect, tool.is_idempotent(), tool.trust, asks, required, values)
    };
    let mut kinds: Vec<&ToolContract> = Vec::new();
    for tool in compiled.plan().all() {
        if !kinds.iter().any(|known| kind(known) == kind(tool)) {
            kinds.push(tool);
        }
    }
    kinds
}

/// The ways to fill so many places: with each kind alone, and with all of them in turn.
fn fillings<'a>(kinds: &[&'a ToolContract], places: usize) -> Vec<(String, Vec<&'a ToolContract>)> {
    let alone = kinds.iter().filter(|_| places > 0).map(|tool| (tool.name.clone(), vec![*tool; places]));
    let mixed = (kinds.len() > 1 && places > 1)
        .then(|| ("mixed".to_owned(), kinds.iter().copied().cycle().take(places).collect()));
    alone.chain(mixed).collect()
}

pub(super) fn plans(compiled: &CompiledSpec, state: &State) -> Replies {
    let policy = compiled.policy();
    let ends = policy.plan.final_step == FinalStep::Required;
    let most = policy.plan.max_steps as usize;
    let kinds = kinds(compiled);
    // The steps that stand before a new plan.
    let kept = state.task.progress.as_ref().filter(|_| policy.keeps_steps());
    let base = kept.map_or(0, |progress| progress.steps.len());
    let step = |at: usize, tool: &ToolContract, needs: &[usize]| {
        let needs: Vec<String> = needs.iter().map(|need| format!("step_{}", base + need + 1)).collect();
        let (input, needs) =
            (fresh_input(compiled, tool, 10 * base + at), Some(needs).filter(|needs| !needs.is_empty()));
        json!({"tool": tool.name, "input": input, "task": "…", "description": "…", "depends_on": needs})
    };
    let steps = |tools: &[&ToolContract]| -> Vec<Value> {
        tools.iter().enumerate().map(|(at, tool)| step(at, tool, &[])).collect()
    };
    let mut replies = Vec::new();
    let mut add = |name: &str, mut steps: Vec<Value>| {
        if ends {
            steps.push(json!({"tool": FINAL_ANSWER, "input": "answer"}));
        }
        let plan = json!({"goal": "…", "reasoning": "…", "strategy": "…", "steps": steps});
        replies.push(text(format!("plan of {name}"), plan));
    };
    for size in policy.plan.min_steps as usize..=most {
        let calls = size - usize::from(ends);
        if calls == 0 {
            add("no call", Vec::new());
        }
        for (name, tools) in fillings(&kinds, calls) {
            add(&format!("{calls} × {name}"), steps(&tools));
        }
        let Some(&tool) = kinds.first() else { continue };
        let linked =
            |needs: &[&[usize]]| needs.iter().enumerate().map(|(at, needs)| step(at, tool, needs)).collect();
        match calls {
            4 if policy.execution != Execution::Sequential => {
                add("a diamond", linked(&[&[], &[0], &[0], &[1, 2]]));
            }
            3 => {
                let mut chain: Vec<Value> = linked(&[&[], &[0], &[1]]);
                // The last step works on what the one before it found.
                if tool.takes_text() {
                    chain[2]["input_from"] = chain[2]["depends_on"][0].clone();
                    chain[2]["input"] = Value::Null;
                }
                add("a chain", chain);
            }
            2 if compiled.plan().offers_references() => {
                for from in &kinds {
                    let takers = kinds.iter().filter_map(|to| Some((to, reference(base, from, to)?)));
                    for (to, input) in takers {
                        let mut steps = steps(&[*from, *to]);
                        steps[1]["input"] = input;
                        add(&format!("{} that refers to {}", to.name, from.name), steps.clone());
                        if let Some(input) = selection(base, from, &steps[1]["input"]) {
                            steps[1]["input"] = input;
                            add(&format!("{} that selects of {}", to.name, from.name), steps.clone());
                        }
                        if compiled.plan().offers_holes() {
                            steps[1]["input"] = filling(base, &to.input);
                            add(&format!("{} that is filled in from {}", to.name, from.name), steps);
                        }
                    }
                }
            }
            2 if policy.duplicates == Duplicates::Skip => {
                add("the same call twice", vec![step(0, tool, &[]), step(0, tool, &[])]);
            }
            _ => {}
        }
        if policy.approval.steps && calls > 1 {
            let mut steps = steps(&vec![tool; calls - 1]);
            steps.insert(calls - 2, json!({"agent": HITL}));
            add(&format!("{calls} steps with a question"), steps);
        }
    }
    if policy.approval.steps && most > 1 {
        add("only a question", vec![json!({"agent": HITL, "hitl_question": "may I?"})]);
    }
    let first = |is: fn(&StepRun) -> bool| kept.and_then(|progress| progress.steps.iter().position(is));
    let done = first(|run| matches!(run, StepRun::Completed { .. }));
    for (name, from) in [("done", done), ("failed", first(StepRun::has_failed))] {
        if let (Some(tool), Some(from)) = (kinds.first(), from) {
            let mut next = step(0, tool, &[]);
            next["depends_on"] = json!([format!("step_{}", from + 1)]);
            add(&format!("what goes on from what was {name}"), vec![next]);
        }
    }
    if let Some(dropped) = dropped_write(compiled, &state.task)
        && let Some(tool) = compiled.tool(&dropped.tool)
    {
        let mut again = step(0, tool, &[]);
        again["input"] = dropped.input.clone().unwrap_or_default();
        add("the write that was dropped", vec![again]);
    }
    for (tool, input) in granted_calls(compiled, state) {
        let mut granted = step(0, tool, &[]);
        granted["input"] = input;
        add("a granted call", vec![granted]);
    }
    let last = json!({"tool": FINAL_ANSWER, "input": "x"});
    let unknown = json!({"tool": "no such tool", "input": "x"});
    let own = json!({"id": "a", "tool": FINAL_ANSWER, "input": "x", "depends_on": ["a"]});
    replies.extend([
        text("plan with an unknown tool", json!({"goal": "…", "steps": [unknown]})),
        text("plan without steps or a goal", json!({"steps": []})),
        text("plan with too many steps", json!({"goal": "…", "steps": vec![last; most + 1]})),
        text("plan that is prose", "First I would search."),
        text("plan with a cycle", json!({"goal": "…", "steps": [own]})),
    ]);
    replies
}

/// An input with a value that a step, the first of its plan, returns.
pub(super) fn reference(base: usize, from: &ToolContract, to: &ToolContract) -> Option<Value> {
    let mut input = sample(&to.input);
    let given = from.output.as_ref().map_or_else(|| "…".into(), sample);
    let mut places = leaves(&input).into_iter();
    let fits = |place: &str, taken: &str| match (input.pointer(place), given.pointer(taken)) {
        (Some(wanted), Some(found)) => std::mem::discriminant(wanted) == std::mem::discriminant(found),
        _ => false,
    };
    let (place, take) = places.find_map(|place| {
        let taken = leaves(&given).into_iter().find(|taken| fits(&place, taken))?;
        Some((place, taken))
    })?;
    *input.pointer_mut(&place)? = json!({"$from": format!("step_{}", base + 1), "take": take});
    Some(input)
}

/// The input with a reference whose record is named by the last text in it, instead of by its position.
fn selection(base: usize, from: &ToolContract, input: &Value) -> Option<Value> {
    let records = sample(from.output.as_ref()?);
    let by = leaves(records.get(0)?)
        .into_iter()
        .rfind(|leaf| records[0].pointer(leaf).is_some_and(Value::is_string))?;
    let named = [json!([by, "equals", records[0].pointer(&by)?])];
    let mut selecting = input.clone();
    let from = format!("step_{}", base + 1);
    let place = leaves(input).into_iter().find_map(|leaf| {
        let place = leaf.strip_suffix("/take")?;
        (input.pointer(place)?["$from"] == from.as_str()).then(|| place.to_owned())
    })?;
    let take = input.pointer(&place)?["take"].as_str()?.strip_prefix("/0")?.to_owned();
    *selecting.pointer_mut(&place)? = json!({"$from": from, "where": named, "take": take});
    Some(selecting)
}

/// An input with a value that a model writes after reading a step, the first of its plan.
fn filling(base: usize, input: &Value) -> Value {
    let mut input = sample(input);
    let place = leaves(&input).into_iter().next().unwrap_or_default();
    if let Some(leaf) = input.pointer_mut(&place) {
        let kind = if leaf.is_number() { "number" } else { "string" };
        *leaf = json!({"$fill": "…", "type": {"type": kind}, "from": [format!("step_{}", base + 1)]});
    }
    input
}

/// The pointers to what a value holds that holds nothing itself.
fn leaves(value: &Value) -> Vec<String> {
    let inside = |name: String, inner| leaves(inner).into_iter().map(move |leaf| format!("/{name}{leaf}"));
    match value {
        Value::Object(fields) => {
            fields.iter().flat_map(|(name, field)| inside(name.clone(), field)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(at, item)| inside(at.to_string(), item)).collect()
        }
        _ => vec![String::new()],
    }
}

pub(super) fn calls(compiled: &CompiledSpec, state: &State) -> Replies {
    let policy = compiled.policy();
    let most = policy.plan.max_steps as usize;
    let kinds = kinds(compiled);
    let base =
        state.task.first_step() + state.task.progress.as_ref().map_or(0, |progress| progress.steps.len());
    let call = |tool: &ToolContract, nth: usize| {
        (tool.name.clone(), tool.arguments(&fresh_input(compiled, tool, 10 * base + nth)))
    };
    let all = |tools: &[&ToolContract]| {
        ModelReply::calls(tools.iter().enumerate().map(|(nth, tool)| call(tool, nth)))
    };
    let mut replies = words(compiled);
    for size in 1..=most {
        let fillings = fillings(&kinds, size).into_iter();
        replies.extend(fillings.map(|(name, tools)| (format!("{size} calls: {name}"), all(&tools))));
    }
    let granted = granted_calls(compiled, state).into_iter();
    let granted =
        granted.map(|(tool, input)| ModelReply::calls([(tool.name.clone(), tool.arguments(&input))]));
    replies.extend(granted.map(|reply| ("a granted call".to_owned(), reply)));
    let required: Vec<&ToolContract> =
        policy.required_calls.iter().filter_map(|required| compiled.tool(&required.tool)).collect();
    if required.len() > 1 && required.len() <= most {
        replies.push(("every required call".into(), all(&required)));
    }
    replies.push(("call of an unknown tool".into(), ModelReply::calls([("no such tool", json!({}))])));
    let Some(tool) = kinds.first() else { return replies };
    if most > 1 {
        let both = [("no such tool".to_owned(), json!({})), call(tool, 0)];
        replies.push(("call of an unknown tool among others".into(), ModelReply::calls(both)));
    }
    let empty = ModelReply::calls([(tool.name.clone(), json!({}))]);
    replies.push(("call without arguments".into(), empty));
    replies.push(("too many calls".into(), ModelReply::calls(vec![call(tool, 0); most + 1])));
    if policy.duplicates == Duplicates::Skip {
        if most > 1 {
            replies.push(("the same call twice".into(), ModelReply::calls([call(tool, 0), call(tool, 0)])));
        }
        replies.extend(repeated_call(state));
    }
    replies
}

/// The first call that succeeded in an earlier round, again.
fn repeated_call(state: &State) -> Option<(String, ModelReply)> {
    let progress = state.task.progress.as_ref()?;
    let steps = progress.plan.steps.iter().zip(&progress.steps);
    let done = steps.filter(|(planned, run)| may_be_called_again(planned, run));
    let (planned, _) = done.min_by_key(|(planned, _)| &planned.tool)?;
    let call = (planned.tool.clone(), json!({"input": planned.input}));
    Some(("an earlier call again".into(), ModelReply::calls([call])))
}

/// Words instead of calls: an answer, if the planner gives it.
fn words(compiled: &CompiledSpec) -> Replies {
    let mut replies = vec![text("words", "an answer")];
    let policy = compiled.policy();
    for required in policy.required_calls.iter().filter(|_| policy.write == Write::Planner) {
        let Some(begins) = &required.per_line else { continue };
        for lines in 1..=MOST_LINES {
            let words = format!("{begins} …\n").repeat(lines as usize);
            replies.push(text(format!("words with {lines} lines of {begins:?}"), words));
        }
    }
    replies
}

/// Thoughts and actions as text.
pub(super) fn actions(compiled: &CompiledSpec, state: &State) -> Replies {
    let answer = |(name, reply): (String, ModelReply)| {
        text(name, format!("Thought: done\nFinal Answer: {}", reply.text))
    };
    let mut replies: Replies = words(compiled).into_iter().map(answer).collect();
    for tool in kinds(compiled) {
        let input = fresh_input(compiled, tool, state.task.first_step());
        let input = input.as_str().map_or_else(|| input.to_string(), str::to_owned);
        let action = format!("Thought: more\nAction: {}\nAction Input: {input}", tool.name);
        replies.push(text(format!("action {}", tool.name), action));
    }
    replies.push(text("unknown action", "Action: no such tool\nAction Input: x"));
    replies.push(text("neither action nor answer", "Thought: hm"));
    replies
}
