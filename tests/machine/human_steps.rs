//! Steps that a person does: the run pauses, nothing else moves, and what they say is carried out.

use crate::promise;

use std::sync::Arc;

use planwright::driver::{Agent, Stopped};
use planwright::journal::{MemoryJournal, Outcome, fold};
use planwright::machine::{HumanAnswer, Input, PhaseName, PlanView, Refusal};
use planwright::ports::FnTool;
use planwright::ports::ScriptedModel;
use planwright::ports::{Human, Question};
use planwright::spec::Spec;
use promise::{
    Say, Told, edit, found, id, plan, reject, respond, role_agent, spec, steps, text, with_agents,
};
use serde_json::{Value, json};

fn supervised(policy: &str) -> Spec {
    with_agents(spec(&format!("approval = 'steps'\n{policy}")), [role_agent("writer"), role_agent("critic")])
}

fn hitl(question: &str) -> Value {
    json!({"tool": "hitl", "hitl_question": question})
}

fn calc(input: &str) -> Value {
    json!({"tool": "calc", "input": input})
}

/// One call, a question, another call.
fn around() -> Say {
    plan(json!([calc("1"), hitl("계속할까요?"), calc("2")]))
}

#[test]
fn the_run_pauses_and_nothing_else_moves_until_the_answer() {
    for policy in ["", "execution = { mode = 'parallel', width = 3 }"] {
        let mut told = Told::run(supervised(policy), [around()]);
        assert_eq!(told.waits(), ["step.1.1.1"], "{policy}");
        told.tell([found("1")]);
        assert_eq!(told.waits(), ["human.1.2"], "the third step does not start beside it");
        let view = PlanView::of(&told.state);
        assert_eq!((view.status, view.is_waiting_human, view.is_executing), ("waiting_human", true, false));
        assert_eq!(view.current_step, 1);
        told.tell([respond("네")]);
        assert_eq!(told.waits(), ["step.1.3.1"]);
        told.tell([found("2"), text("답")]);
        assert_eq!(told.results(), ["step_1: completed: 1", "step_2: completed: 네", "step_3: completed: 2"]);
        assert_eq!(told.state, told.folded());
        assert_eq!(PlanView::of(&told.state).plan[1].hitl_response.as_deref(), Some("네"));
    }
}

#[test]
fn in_parallel_a_person_is_asked_when_nothing_runs() {
    let steps = json!([calc("1"), calc("2"), hitl("?"), calc("3")]);
    let mut told = Told::run(supervised("execution = { mode = 'parallel', width = 4 }"), [plan(steps)]);
    assert_eq!(told.waits(), ["step.1.1.1", "step.1.2.1"]);
    told.answer("step.1.2.1", found("2"));
    assert_eq!(told.waits(), ["step.1.1.1"], "the question waits, and what comes after it too");
    told.answer("step.1.1.1", found("1"));
    assert_eq!(told.waits(), ["human.1.3"]);
}

#[test]
fn a_step_without_a_question_asks_for_approval() {
    for (step, question) in [
        (json!({"tool": "hitl"}), "승인해주세요"),
        (json!({"tool": "hitl", "hitl_question": "  "}), "승인해주세요"),
        (json!({"tool": "hitl", "description": "초안 확인"}), "초안 확인"),
        (json!({"agent": "hitl", "hitl_question": "괜찮아요?", "description": "초안 확인"}), "괜찮아요?"),
    ] {
        let told = Told::run(supervised(""), [plan(json!([step]))]);
        let effect = told.outstanding()[0];
        let asked = planwright::prompt::question(&told.rules, &told.state, effect);
        assert_eq!(asked.as_deref(), Some(question));
    }
}

#[test]
fn what_a_person_said_is_shown_to_later_steps_and_to_the_writer() {
    let steps = json!([hitl("어떤 문체로?"), {"agent": "writer", "task": "써"}]);
    let mut told = Told::run(supervised(""), [plan(steps), respond("정중하게")]);
    let shown = json!({
        "step_index": 0, "tool": "hitl", "question": "어떤 문체로?", "status": "completed", "output": "정중하게",
    });
    assert_eq!(told.payload()["tool_results"], json!([shown]));
    told.tell([text("글")]);
    assert_eq!(told.payload()["tool_results"][0], shown);
}

#[test]
fn an_answer_can_be_the_input_of_a_later_step() {
    let steps = json!([hitl("무엇을 찾을까요?"), {"tool": "find", "input_from": "step_1"}]);
    let told = Told::run(supervised(""), [plan(steps), respond("서울")]);
    assert_eq!(told.input("step.1.2.1"), json!("서울"));
}

#[test]
fn a_rejection_stops_the_run() {
    let told = Told::run(supervised(""), [around(), found("1"), reject("하지 마세요")]);
    assert_eq!(told.error(), "REJECTED: step_2: 하지 마세요");
    assert_eq!(told.results()[1..], ["step_2: failed: ERROR: rejected: 하지 마세요", "step_3: pending: -"]);
    assert_eq!(
        told.line("HUMAN"),
        json!({"phase": "HUMAN", "step": "step_2", "answer": {"reject": {"reason": "하지 마세요"}}})
    );
    assert_eq!(told.phases(), ["PLAN", "HUMAN", "EXECUTE"]);
    assert_eq!(told.line("EXECUTE")["ok"], json!(false));
}

#[test]
fn a_rejection_goes_back_to_plan_with_the_reason_where_the_policy_says_so() {
    let policy =
        "on_rejection = 'replan'\n[limits]\nmax_replans = 1\n[roles.replanner]\nprompt = 'Plan anew.'";
    let mut told = Told::run(supervised(policy), [around(), found("1"), reject("더 짧게")]);
    assert_eq!(told.waits(), ["plan.2.1"]);
    let payload = told.payload();
    assert_eq!(payload["fix_hint"], json!("더 짧게"));
    assert_eq!(payload["rejected_because"], json!("a person rejected step_2: 더 짧게"));
    assert_eq!(told.phases(), ["PLAN", "HUMAN", "EXECUTE", "REPLAN_TRIGGER"]);
    told.tell([around(), found("1"), reject("그래도 안 돼요")]);
    assert_eq!(told.error(), "REJECTED: a person rejected step_2: 그래도 안 돼요");
    assert_eq!(told.asked, ["planner", "calc", "human", "replanner", "calc", "human"]);
}

#[test]
fn a_persons_no_is_never_written_around() {
    let policy = "on_rejection = 'replan'\non_exhausted = 'write'\n[limits]\nmax_replans = 0";
    let told = Told::run(supervised(policy), [around(), found("1"), reject("안 돼요")]);
    assert_eq!(told.error(), "REJECTED: a person rejected step_2: 안 돼요");
    assert_eq!(told.said(), "");
}

#[test]
fn an_edit_puts_other_steps_in_the_place_of_those_that_remain() {
    let edited = json!([{"tool": "find", "input_from": "step_1"}, {"agent": "critic", "task": "봐", "input_from": "step_3"}, hitl("끝?")]);
    let mut told = Told::run(supervised(""), [around(), found("1"), edit(edited)]);
    assert_eq!(told.waits(), ["step.1.3.1"]);
    assert_eq!(told.input("step.1.3.1"), json!("1"));
    told.tell([found("F")]);
    assert_eq!(told.payload()["input"], json!("F"));
    told.tell([text("좋음"), respond("네"), text("답")]);
    assert_eq!(
        told.results(),
        [
            "step_1: completed: 1",
            "step_2: completed: (the remaining steps were edited)",
            "step_3: completed: F",
            "step_4: completed: 좋음",
            "step_5: completed: 네",
        ]
    );
    assert_eq!(
        told.line("HUMAN")["answer"]["edit"]["steps"].as_array().map(Vec::len),
        Some(3),
        "it is traced"
    );
    assert_eq!(told.state, told.folded());
}

#[test]
fn an_edit_may_leave_nothing_to_do() {
    let told = Told::run(supervised(""), [around(), found("1"), edit(json!([])), text("답")]);
    assert_eq!(told.said(), "답");
    assert_eq!(told.state.task.counters.tool_calls, 1);
}

/// An edit that is refused by `admit`, with these words, and changes nothing.
#[track_caller]
fn bad_edit(policy: &str, edited: Value, said: &str) {
    let mut told = Told::run(supervised(policy), [around(), found("1")]);
    let before = told.state.clone();
    let refusal = told.refusal("human.1.2", edit(edited.clone()));
    assert!(matches!(refusal, Refusal::BadEdit(_)), "{refusal:?}");
    assert_eq!(refusal.to_string(), format!("the edited steps do not fit: {said}"));
    let event = edit(edited).event(id("human.1.2"));
    let refused =
        planwright::machine::transition(&told.rules, told.state.clone(), event).expect_err("refused");
    assert_eq!(refused.state, before);
    told.tell([respond("그럼 그대로"), found("2"), text("답")]);
    assert_eq!(told.said(), "답", "the question stood");
}

#[test]
fn an_edit_that_breaks_the_contract_is_refused_and_changes_nothing() {
    let tools = "expected one of calc, find, send, store, book, writer, critic, hitl, found \"rm\"";
    bad_edit("", json!([{"tool": "rm", "input": "x"}]), &format!("$.steps[0].tool: {tools}"));
    bad_edit("", json!([calc("1"), {"tool": "calc"}]), "$.steps[1].input: expected an input, found none");
    bad_edit(
        "",
        json!([{"tool": "calc", "input_from": "step_9"}]),
        "$.steps[0].input_from: no step has the id \"step_9\"",
    );
    bad_edit(
        "",
        json!([{"tool": "book", "input": {"day": "월"}}]),
        "$.steps[0].input: expected a field \"people\", found none",
    );
    bad_edit(
        "",
        json!([{"tool": "calc", "input": "1", "id": "step_1"}]),
        "$.steps[0].id: the id \"step_1\" is taken by step 1",
    );
}

#[test]
fn an_edit_of_too_many_steps_is_refused() {
    let most = "plan = { max_steps = 4 }";
    let many = |count: usize| Value::Array(vec![calc("1"); count]);
    bad_edit(most, many(3), "$.steps: expected at most 4 steps in all, found 5");
    assert_eq!(Told::run(supervised(most), [around(), found("1"), edit(many(2))]).waits(), ["step.1.3.1"]);
}

#[test]
fn a_reply_cannot_write_its_own_approval() {
    let steps = json!([
        {"tool": "calc", "input": "1", "status": "completed", "result": "42"},
        {"tool": "hitl", "hitl_response": "네", "status": "completed"}, {"tool": "calc", "input": "2", "error": null},
    ]);
    let mut told = Told::run(supervised(""), [plan(steps)]);
    assert_eq!(told.waits(), ["step.1.1.1"]);
    let ignored = ["$.steps[0].status", "$.steps[0].result", "$.steps[1].status", "$.steps[1].hitl_response"];
    assert_eq!(told.line("PLAN")["ignored"], json!(ignored));
    told.tell([found("1")]);
    assert_eq!(told.waits(), ["human.1.2"], "it is asked all the same");
    let view = PlanView::of(&told.state);
    assert_eq!((view.plan[1].status, view.plan[1].hitl_response.as_deref()), ("waiting_human", None));
}

#[test]
fn a_plan_may_not_ask_a_person_where_the_policy_does_not() {
    let told = Told::run(spec("on_bad_reply = 'fail'"), [plan(json!([hitl("?")]))]);
    assert!(
        told.error().starts_with("PLAN_ERROR: contract: $.steps[0].tool: expected one of"),
        "{}",
        told.error()
    );
}

#[test]
fn an_answer_is_taken_once_and_only_a_persons_will_do() {
    let mut told = Told::run(supervised(""), [around()]);
    assert_eq!(told.refusal("human.1.2", respond("일찍")), Refusal::NeverAsked(id("human.1.2")));
    told.tell([found("1")]);
    assert_eq!(told.refusal("human.1.2", text("네")), Refusal::WrongKind(id("human.1.2")));
    assert_eq!(told.refusal("human.1.2", found("네")), Refusal::WrongKind(id("human.1.2")));
    assert_eq!(told.refusal("step.1.2.1", found("네")), Refusal::NeverAsked(id("step.1.2.1")));
    told.tell([respond("네")]);
    assert_eq!(told.refusal("human.1.2", reject("아니요")), Refusal::AlreadyAnswered(id("human.1.2")));
}

fn agent(replies: &[Say]) -> (Agent, Arc<ScriptedModel>) {
    let replies = replies.iter().map(|say| match say {
        Say::Reply(reply) => reply.clone(),
        other => panic!("a reply: {other:?}"),
    });
    let model = Arc::new(ScriptedModel::says(replies));
    (builder(&model).build().expect("builds"), model)
}

fn builder(model: &Arc<ScriptedModel>) -> planwright::driver::AgentBuilder {
    let mut spec = supervised("");
    spec.tools.retain(|tool| tool.name == "calc");
    let contract = spec.tools[0].clone();
    Agent::builder(spec)
        .shared_model(model.clone())
        .tool(FnTool::new(contract, |call| Ok(format!("of {}", call.text()?))))
}

#[test]
fn a_run_without_a_person_ends_waiting_and_another_process_goes_on_with_the_answer() {
    let (first, _) = agent(&[around()]);
    let mut journal = MemoryJournal::new();
    let run = first.job(Input::question("q")).journal(&mut journal).run().expect("pauses");
    assert_eq!(run.outcome(), Outcome::Waiting { question: "계속할까요?".into() });
    assert!(run.is_waiting() && run.answer().is_none() && run.error().is_none());
    assert_eq!(run.state().phase.name(), PhaseName::Execute);

    let (second, model) = agent(&[text("답")]);
    let still = second.resume(&mut journal, None).expect("pauses still");
    assert_eq!(still.outcome(), run.outcome());
    assert_eq!(model.asked(), 0);
    let done = second.answer(&mut journal, HumanAnswer::respond("네"), None).expect("ends");
    assert_eq!(done.answer(), Some("답"));
    assert!(matches!(
        second.answer(&mut journal, HumanAnswer::respond("또"), None),
        Err(Stopped::NotWaiting)
    ));
    assert_eq!(&fold(journal.into_records()).expect("folds").state, done.state());
}

#[test]
fn a_refused_edit_leaves_the_journal_as_it_was() {
    let (agent, _) = agent(&[around(), text("답")]);
    let run = agent.job(Input::question("q")).run().expect("pauses");
    let bad = HumanAnswer::Edit { steps: steps(json!([{"tool": "rm", "input": "x"}])) };
    let Err(Stopped::Refused { question, refusal }) = run.respond(&agent, bad) else { panic!("refused") };
    assert_eq!(question, "계속할까요?");
    assert!(refusal.starts_with("the edited steps do not fit: $.steps[0].tool"), "{refusal}");
    let done = run.respond(&agent, HumanAnswer::respond("네")).expect("ends");
    assert_eq!(done.answer(), Some("답"));
    assert!(done.records().len() > run.records().len());
}

#[test]
fn whoever_is_there_is_asked_with_the_run_so_far() {
    struct Boss;
    impl Human for Boss {
        fn ask(&self, question: &Question<'_>) -> Option<HumanAnswer> {
            let progress = question.state.task.progress.as_ref()?;
            let seen = progress.output(0)?;
            Some(match question.refused {
                None => HumanAnswer::Edit { steps: steps(json!([{"tool": "rm", "input": "x"}])) },
                Some(_) => HumanAnswer::respond(format!("{}: {seen}", question.text)),
            })
        }
    }
    let (_, model) = agent(&[around(), text("답")]);
    let run =
        builder(&model).human(Boss).build().expect("builds").job(Input::question("q")).run().expect("ends");
    let progress = run.state().task.progress.as_ref().expect("a plan");
    assert_eq!(
        progress.steps[1].output(),
        Some("계속할까요?: of 1"),
        "a bad edit is refused and asked again"
    );
}

#[test]
fn a_summary_has_a_line_for_each_step_with_its_status() {
    let steps = json!([
        {"id": "1", "agent": "writer", "description": "초안"}, {"id": "2", "tool": "hitl"}, {"agent": "critic", "task": "검토"},
    ]);
    let policy = "write = 'summary'";
    let told = Told::run(
        supervised(policy),
        [plan(steps), text("글"), respond("네"), Say::Class(planwright::machine::FailureClass::Refusal)],
    );
    assert_eq!(
        told.said(),
        "Step 1: 초안 - completed\nStep 2: 승인해주세요 - completed\nStep 3: 검토 - failed"
    );
}

/// Step 4 waits for nothing, and still does not begin before the person has answered.
fn ahead(policy: &str) -> Told {
    let policy = format!("execution = {{ mode = 'parallel', width = 2 }}\n{policy}");
    let steps = json!([
        calc("1"), {"tool": "hitl", "hitl_question": "?", "depends_on": [1]},
        {"tool": "calc", "input": "3", "depends_on": [2]}, {"tool": "find", "input": "4"},
    ]);
    let mut told = Told::run(supervised(&policy), [plan(steps)]);
    assert_eq!(told.waits(), ["step.1.1.1"]);
    told.answer("step.1.1.1", found("하나"));
    assert_eq!(told.waits(), ["human.1.2"]);
    told
}

#[test]
fn an_edit_keeps_what_is_finished_and_drops_what_has_not_begun() {
    let mut told = ahead("");
    told.tell([edit(
        json!([{"id": "x", "tool": "calc", "input": "5"}, {"id": "y", "tool": "calc", "input_from": "x"}]),
    )]);
    while told.state.phase.name() == PhaseName::Execute {
        let first = told.waits()[0].clone();
        told.answer(&first, found("새것"));
    }
    let outputs: Vec<String> = told.results();
    assert!(outputs.iter().any(|line| line.ends_with(": completed: 하나")), "{outputs:?}");
    assert_eq!(outputs.iter().filter(|line| line.ends_with(": completed: 새것")).count(), 2, "{outputs:?}");
    assert!(!outputs.iter().any(|line| line.contains("pending")), "{outputs:?}");
}

#[test]
fn a_rejection_under_keep_keeps_what_is_finished() {
    let mut told = ahead("on_rejection = 'replan'\non_replan = 'keep'");
    told.tell([reject("다르게")]);
    assert_eq!(told.waits(), ["plan.2.1"]);
    let past: Vec<String> =
        planwright::machine::past_steps(&told.state.task).iter().map(|step| step.output.to_owned()).collect();
    assert!(past.contains(&"하나".to_owned()), "{past:?}");
}
