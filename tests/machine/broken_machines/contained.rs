//! Machines that write twice, forget what may not be trusted, or take a failed run for one that is done.

use planwright::contract::Trust;
use planwright::machine::explore::{self, Machine};
use planwright::machine::{
    Effect, EffectKind, Event, ModelReply, PhaseName, State, Step, StepRecord, ToolOutcome, outstanding,
};
use planwright::spec::Spec;
use serde_json::{Value, json};

use super::kinds::{
    all_are_caught, bent, bent_by, kept, kind, mishears, misreads, nested, rewritten, ruled, trying, writing,
};
use crate::promise::{altered, spec, team_with, with_agents};

#[test]
fn a_write_that_is_made_twice_or_beside_another_step_is_caught() {
    let repeats = |spec: &mut Spec| spec.tools.iter_mut().for_each(|tool| tool.idempotent = Some(true));
    let forgets = |_: &State, step: &Step| {
        Some(vec![("/task/written", json!({}))]).filter(|_| step.state.phase() != PhaseName::Done)
    };
    let beside = |_: &State, step: &mut Step| {
        let status =
            |at: usize| step.state.current_steps().nth(at).map(|at| (at.step.tool.clone(), at.status));
        let sends = status(0).is_some_and(|(tool, status)| tool == "send" && status == "running");
        if sends && status(1).is_some_and(|(_, status)| status == "pending") {
            step.state = altered(&step.state, |state| {
                let progress = &mut state["task"]["progress"];
                progress["steps"][1] = json!({"status": "running", "attempt": 1});
                progress["schedule"]["running"] = json!(2);
                progress["schedule"]["ready"] = json!([]);
            });
            let id = EffectKind::Step { draft: 1, step: 1, attempt: 1 }.into();
            step.effects.push(Effect::CallTool { id, step: 1 });
        }
    };
    let again = |compiled: Spec| {
        let compiled = explore::reduced(compiled, &mut Vec::new()).check().unwrap();
        bent(move |before, step| {
            let open = outstanding(&compiled, before);
            let still =
                outstanding(&compiled, &step.state).into_iter().filter(|effect| open.contains(effect));
            step.effects.extend(still);
        })
    };
    let inner = |before: &State, step: &Step| {
        let has = |state: &State| serde_json::to_value(state).unwrap()["task"].get("written").is_some();
        let ends = !has(before) && has(&step.state);
        ends.then(|| vec![("/task/written", json!({}))])
    };
    all_are_caught(vec![
        kind("a write that failed is tried again", "writes", writing(), ruled(repeats)),
        kind("a write runs beside another step", "writes", writing(), bent(beside)),
        kind("a write that was made is forgotten", "writes", writing(), rewritten(forgets)),
        kind("a write of a nested run is forgotten", "writes", nested(), rewritten(inner)),
        kind(
            "what is asked is asked twice",
            "writes",
            writing(),
            bent(|_, step| step.effects.extend(step.effects.clone())),
        ),
        kind("what is open is asked again", "writes", trying(), again(trying())),
    ]);
}

/// What the runs nested in a state have read, as one says.
fn nested_taint(tainted: bool) -> Box<dyn Machine> {
    bent(move |before, step| {
        let runs = |state: &State| serde_json::to_value(state).unwrap()["task"]["nested"] != json!({});
        if !runs(before) && runs(&step.state) {
            step.state = altered(&step.state, |state| {
                let nested = state["task"]["nested"].as_object_mut().expect("runs by step");
                nested.values_mut().for_each(|run| run["task"]["tainted"] = json!(tainted));
            });
        }
    })
}

#[test]
fn taint_that_is_lost_is_caught() {
    let sets = |tainted: bool, when: fn(&State, &Step) -> bool| {
        rewritten(move |before, step| {
            let value: Value = json!(tainted);
            when(before, step).then(|| vec![("/task/tainted", value)])
        })
    };
    let reading = || kept();
    let deciding = || {
        let policy = "orchestrate = 'each_step'\nplan = { max_steps = 1 }\n[limits]\nmax_added_steps = 1";
        with_agents(spec(policy).with_tools(|_| false), [team_with("team", |tool| tool.name == "find")])
    };
    let leaves = |before: &State, step: &Step| {
        let runs = |state: &State| serde_json::to_value(state).unwrap()["task"]["nested"] != json!({});
        runs(before) && !runs(&step.state) && !before.is_tainted()
    };
    all_are_caught(vec![
        kind(
            "what is untrusted is trusted",
            "taint",
            reading(),
            ruled(|spec| {
                spec.tools.iter_mut().for_each(|tool| tool.trust = Trust::Trusted);
            }),
        ),
        kind(
            "untrusted output taints nothing",
            "taint",
            reading(),
            sets(false, |_, step| step.state.is_tainted()),
        ),
        kind(
            "a failure taints nothing",
            "taint",
            reading(),
            bent_by(|before, event, step| {
                let failed = matches!(event, Event::ToolReturned { outcome: ToolOutcome::Failed { .. }, .. });
                if failed && !before.is_tainted() && step.state.is_tainted() {
                    step.state = altered(&step.state, |state| state["task"]["tainted"] = json!(false));
                }
            }),
        ),
        kind(
            "a new plan is clean again",
            "taint",
            reading(),
            sets(false, |before, step| before.is_tainted() && step.state.phase() == PhaseName::Plan),
        ),
        kind(
            "everything is tainted",
            "taint",
            reading(),
            sets(true, |_, step| step.state.phase() == PhaseName::Execute),
        ),
        kind(
            "an agent that is added after something was read counts as planned before",
            "taint",
            deciding(),
            bent_by(|before, event, step| {
                let decided = event.effect().is_some_and(|id| id.to_string().starts_with("orchestrate"));
                if decided && before.is_tainted() {
                    step.state = altered(&step.state, |state| {
                        let drafts = state["task"]["drafts"].as_array_mut().into_iter().flatten();
                        drafts.for_each(|draft| draft["tainted"] = json!(false));
                    });
                }
            }),
        ),
        kind("a nested run begins clean", "taint", nested(), nested_taint(false)),
        kind("what a nested run has read is forgotten", "taint", nested(), sets(false, leaves)),
    ]);
}

#[test]
fn a_nested_run_that_failed_and_counts_as_done_is_caught() {
    let done = |_: &State, step: &mut Step| {
        let failed = |at: &StepRecord<'_>| at.status == "failed" && at.step.tool == "team";
        let line = step.state.trace().len() > 1;
        if line && step.state.steps().any(|at| failed(&at)) {
            step.state = altered(&step.state, |state| {
                let plans = state["task"]["artifacts"]["past"].as_array_mut().expect("plans");
                for run in plans.iter_mut().flat_map(|plan| plan["steps"].as_array_mut().expect("steps")) {
                    if run["status"] == "failed" {
                        let nested = run["nested"].clone();
                        *run = json!({"status": "completed", "output": {"text": "x"}, "sources": [], "attempts": 1, "cached": false, "nested": nested});
                    }
                }
            });
        }
    };
    all_are_caught(vec![kind("a nested run that failed is done", "trace", nested(), bent(done))]);
}

/// What a model writes for a value is heard as another, or is taken although it does not fit its type.
#[test]
fn a_value_that_no_model_wrote_or_that_does_not_fit_is_caught() {
    let filling = || {
        let fields = "plan = { fields = ['id', 'refs', 'holes'], max_steps = 2 }";
        spec(fields).with_tools(|tool| ["find", "send"].contains(&&*tool.name))
    };
    let lax = mishears(|event| match event {
        Event::ModelReplied { effect, reply } if reply.text.starts_with("{\"value\":{") => {
            let text = r#"{"value":"x"}"#.to_owned();
            Event::ModelReplied { effect, reply: ModelReply { text, ..reply } }
        }
        other => other,
    });
    let forgets = |before: &State, step: &Step| {
        let fills = is_filling(before) && step.state.phase() == PhaseName::Execute;
        fills.then(|| vec![("/task/progress/schedule/filled", json!({}))])
    };
    all_are_caught(vec![
        kind("a value of another type is taken", "references", filling(), lax),
        kind("another value is taken", "references", filling(), misreads("\"value\":\"x", "\"value\":\"y")),
        kind("a value is forgotten", "references", filling(), rewritten(forgets)),
    ]);
}

/// Whether a value is being written.
fn is_filling(state: &State) -> bool {
    serde_json::to_value(state).unwrap()["phase"]["EXECUTE"].get("filling").is_some()
}
