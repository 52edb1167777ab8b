//! Machines that do otherwise than a model said, or tell otherwise: routes, gates, hints, the trace.

use planwright::machine::{Effect, Event, ModelReply, PhaseName, State, Step, TraceLine};
use planwright::spec::{OnExhausted, OnStepFailure, RoleName, Validate};
use serde_json::{Value, json};

use super::kinds::{
    all_are_caught, asking_first, bent, bent_by, chained, judged, kept, kind, mishears, misreads, nested,
    orchestrated, people, rewritten, ruled, writing,
};
use crate::promise::altered;

const NO_VERDICT: &str = r#"{"ok":"yes","sufficient":"yes"}"#;
const HINT: &str = "look elsewhere☣";

/// The line of a phase among those that the step left, changed.
fn retold(
    phase: &'static str,
    tell: impl Fn(&mut Value) + 'static,
) -> Box<dyn planwright::machine::explore::Machine> {
    bent(move |_, step| {
        let is = |line: &Value| line["phase"] == phase;
        if !serde_json::to_value(step.state.trace()).unwrap().as_array().unwrap().iter().any(is) {
            return;
        }
        step.state = altered(&step.state, |state| {
            let lines = state["task"]["trace"].as_array_mut().expect("lines");
            lines.iter_mut().filter(|line| is(line)).for_each(&tell);
        });
    })
}

/// The lines of this kind are left out.
fn untold(phase: &'static str) -> Box<dyn planwright::machine::explore::Machine> {
    bent(move |_, step| {
        let trace = serde_json::to_value(step.state.trace()).unwrap();
        if trace.as_array().unwrap().iter().any(|line| line["phase"] == phase) {
            step.state = altered(&step.state, |state| {
                let lines = state["task"]["trace"].as_array_mut().expect("lines");
                lines.retain(|line| line["phase"] != phase);
            });
        }
    })
}

/// In the place of a planner's reply comes a plan of these steps.
fn plans_instead(steps: Value) -> Box<dyn planwright::machine::explore::Machine> {
    let plan = json!({"goal": "…", "steps": steps}).to_string();
    mishears(move |event| match event {
        Event::ModelReplied { effect, reply } if reply.text.contains("\"steps\"") => {
            Event::ModelReplied { effect, reply: ModelReply { text: plan.clone(), ..reply } }
        }
        other => other,
    })
}

fn ends(step: &mut Step, phase: PhaseName) {
    step.moves.last_mut().expect("a move").to = phase;
    step.effects.clear();
    step.state = altered(&step.state, |state| {
        state["phase"] = json!(phase);
        state["task"]["artifacts"]["final_answer"] = json!("an answer");
    });
}

fn entered(step: &Step, phase: PhaseName) -> bool {
    step.moves.last().is_some_and(|taken| taken.to == phase) && step.state.phase() == phase
}

#[test]
fn what_is_routed_otherwise_is_caught() {
    let skips_write = |_: &State, step: &mut Step| {
        if entered(step, PhaseName::Write) {
            ends(step, PhaseName::Done);
        }
    };
    let no_judge = |spec: &mut planwright::spec::Spec| {
        spec.policy.validate = Validate::Off;
        spec.roles.remove(&RoleName::Validator);
    };
    all_are_caught(vec![
        kind("no validator is asked", "gated", judged(), ruled(no_judge)),
        kind("the writer is passed over", "gated", judged(), bent(skips_write)),
        kind(
            "a failed step counts as a result",
            "executed",
            judged(),
            ruled(|spec| spec.policy.on_step_failure = OnStepFailure::Record),
        ),
        kind(
            "a failed step ends the run",
            "executed",
            judged(),
            ruled(|spec| spec.policy.on_step_failure = OnStepFailure::Abort),
        ),
        kind(
            "what is exhausted is written up",
            "replans",
            judged(),
            ruled(|spec| spec.policy.on_exhausted = OnExhausted::Write),
        ),
        kind(
            "what is out of scope is answered",
            "planned",
            asking_first(),
            misreads("\"in_scope\":false", "\"in_scope\":true"),
        ),
        kind(
            "what is in scope is refused",
            "planned",
            asking_first(),
            misreads("\"in_scope\":true", "\"refusal\":\"no\",\"in_scope\":false"),
        ),
        kind(
            "what needs no tool is planned",
            "planned",
            asking_first(),
            misreads("\"needs_tool\":false", "\"needs_tool\":true"),
        ),
        kind("a plan is cut", "planned", writing(), plans_instead(json!([{"tool": "calc", "input": "1"}]))),
        kind(
            "a plan of an unknown tool is made one of a known tool",
            "planned",
            judged(),
            misreads("no such tool", "calc"),
        ),
    ]);
}

#[test]
fn what_is_judged_otherwise_is_caught() {
    all_are_caught(vec![
        kind("a no is a yes", "judged", judged(), misreads("\"ok\":false", "\"ok\":true")),
        kind("a yes is a no", "judged", judged(), misreads("\"ok\":true", "\"ok\":false")),
        kind(
            "what is no verdict is a yes",
            "judged",
            judged(),
            misreads(NO_VERDICT, r#"{"ok":true,"reason":"…","fix_hint":""}"#),
        ),
        kind(
            "the line says otherwise",
            "judged",
            judged(),
            retold("VALIDATE", |line| {
                if let Some(ok) = line["verdict"].get_mut("ok") {
                    *ok = json!(!ok.as_bool().unwrap());
                }
            }),
        ),
    ]);
}

#[test]
fn a_hint_that_is_lost_altered_or_misplaced_is_caught() {
    let asks_planner = |_: &State, step: &mut Step| {
        for effect in &mut step.effects {
            if let Effect::AskModel { role: role @ RoleName::Replanner, .. } = effect {
                *role = RoleName::Planner;
            }
        }
    };
    let hinted = |step: &Step| {
        step.state
            .trace()
            .iter()
            .any(|line| matches!(line, TraceLine::ReplanTrigger { fix_hint, .. } if fix_hint == HINT))
    };
    let puts = move |pointer: &'static str, value: Value| {
        rewritten(move |_, step| hinted(step).then(|| vec![(pointer, value.clone())]))
    };
    all_are_caught(vec![
        kind("the hint is lost", "hints", judged(), misreads(HINT, "")),
        kind("the hint is altered", "hints", judged(), misreads(HINT, "look here")),
        kind(
            "a hint is made up",
            "hints",
            judged(),
            misreads("\"fix_hint\":\" \"", "\"fix_hint\":\"look here\""),
        ),
        kind(
            "the hint is put into the question",
            "hints",
            judged(),
            puts("/task/input/question", json!(format!("… {HINT}"))),
        ),
        kind(
            "the hint is put into the intent",
            "hints",
            judged(),
            puts(
                "/task/understanding/intent",
                json!({
            "intent": "…", "rewritten_query": HINT, "needs_tool": true}),
            ),
        ),
        kind("the hint arrives in no field", "hints", judged(), puts("/task/feedback/fix_hint", json!(""))),
        kind("the planner is asked where there is a hint", "hints", judged(), bent(asks_planner)),
        kind(
            "the line says that the planner drafted",
            "hints",
            judged(),
            retold("PLAN", |line| {
                line["used_replan_planner"] = json!(false);
            }),
        ),
    ]);
}

#[test]
fn a_line_that_is_missing_moved_or_wrong_is_caught() {
    let swaps = |_: &State, step: &mut Step| {
        let lines = step.state.trace().len();
        if lines > 2 && entered(step, PhaseName::Plan) {
            step.state = altered(&step.state, |state| {
                state["task"]["trace"].as_array_mut().expect("lines").swap(lines - 2, lines - 1);
            });
        }
    };
    let forgets = |_: &State, step: &mut Step| {
        if entered(step, PhaseName::Validate) {
            step.state = altered(&step.state, |state| {
                state["task"]["trace"].as_array_mut().expect("lines").remove(0);
            });
        }
    };
    let count = |line: &mut Value| line["num_failed"] = json!(0);
    all_are_caught(vec![
        kind("PLAN leaves no line", "trace", judged(), untold("PLAN")),
        kind("EXECUTE leaves no line", "trace", judged(), untold("EXECUTE")),
        kind("VALIDATE leaves no line", "trace", judged(), untold("VALIDATE")),
        kind("WRITE leaves no line", "trace", judged(), untold("WRITE")),
        kind("a replan leaves no line", "trace", judged(), untold("REPLAN_TRIGGER")),
        kind("a repair leaves no line", "trace", judged(), untold("REPAIR")),
        kind("a person's answer leaves no line", "trace", people("on_rejection = 'replan'"), untold("HUMAN")),
        kind("silence leaves no line", "trace", people("on_rejection = 'replan'"), untold("EXPIRED")),
        kind("a decision leaves no line", "trace", orchestrated(), untold("DECISION")),
        kind("two lines are swapped", "trace", judged(), bent(swaps)),
        kind("earlier lines are dropped", "trace", judged(), bent(forgets)),
        kind(
            "a phase that failed is told as ended well",
            "trace",
            judged(),
            retold("EXECUTE", |line| line["ok"] = json!(true)),
        ),
        kind("failed steps are not told", "trace", judged(), retold("EXECUTE", count)),
        kind(
            "replans are told with another number",
            "trace",
            judged(),
            retold("REPLAN_TRIGGER", |line| line["replan_count"] = json!(7)),
        ),
        kind("moves are not told", "trace", judged(), bent(|_, step| step.moves.clear())),
        kind(
            "nested runs are not told",
            "trace",
            nested(),
            retold("EXECUTE", |line| {
                line.as_object_mut().unwrap().remove("nested");
            }),
        ),
    ]);
}

#[test]
fn a_reference_to_what_failed_is_caught() {
    let forgets_needs = |before: &State, step: &mut Step| {
        if before.phase() == PhaseName::Plan && entered(step, PhaseName::Execute) {
            step.state = altered(&step.state, |state| {
                let schedule = &mut state["task"]["progress"]["schedule"];
                let open = schedule["missing"].as_array().map_or(0, Vec::len);
                schedule["links"]["needs"] = json!(vec![json!([]); open]);
            });
        }
    };
    let takes_another = |before: &State, step: &mut Step| {
        if before.phase() == PhaseName::Plan && entered(step, PhaseName::Execute) {
            step.state = altered(&step.state, |state| {
                let inputs = &mut state["task"]["progress"]["schedule"]["links"]["inputs"];
                if inputs[2] == 1 {
                    inputs[2] = json!(0);
                }
            });
        }
    };
    let refers = |_: &State, step: &mut Step| {
        let failed = |at: &planwright::machine::StepRecord<'_>| at.step_index == 0 && at.status == "failed";
        if step.state.phase() == PhaseName::Execute
            && step.state.current_steps().any(|at| failed(&at))
            && step.state.current_steps().count() == 2
        {
            step.state = altered(&step.state, |state| {
                state["task"]["progress"]["plan"]["steps"][1]["depends_on"] = json!(["step_1"]);
            });
        }
    };
    // What a tool returned says which step it was.
    let answers = |_: &State, event: &Event, step: &mut Step| {
        if let (Event::ToolReturned { effect, .. }, PhaseName::Execute) = (event, step.state.phase()) {
            let at = effect.step().unwrap_or_default() as usize;
            step.state = altered(&step.state, |state| {
                let run = &mut state["task"]["progress"]["steps"][at];
                if run["status"] == "failed" {
                    *run = json!({"status": "completed", "output": {"text": "ERROR"}, "sources": [], "attempts": 1, "cached": false, "nested": null});
                }
            });
        }
    };
    all_are_caught(vec![
        kind("a step starts whose need has failed", "references", chained(), bent(forgets_needs)),
        kind("a step is given another output", "references", chained(), bent(takes_another)),
        kind("a plan refers to a step that failed", "references", kept(), bent(refers)),
        kind("what a failed step said is its output", "counted", chained(), bent_by(answers)),
    ]);
}
