//! People: who is asked when, what happens while nobody answers, and which answers are taken.

use crate::stage;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use planwright::contract::PlanStep;
use planwright::driver::{Agent, Run, Stopped};
use planwright::journal::{Journal, MemoryJournal, Record};
use planwright::machine::{HumanAnswer, PhaseName};
use planwright::ports::{Human, Question, ScriptedModel, Secret};
use planwright::spec::{Approval, OnRejection, Spec};
use serde_json::json;

use stage::{Calls, answer, asked, echoing, model, parallel, plan, spec};

const PTE: &str = "plan-then-execute";
pub const SEND_IT: &str = "보낼까요?";

/// An agent that may ask people.
fn asking(mut spec: Spec) -> Spec {
    spec.policy.approval = Approval::STEPS;
    spec
}

/// A plan that looks something up, asks a person and sends what was found.
pub fn plan_with_a_question() -> String {
    let steps = json!([
        {"tool": "find", "input": "서울"},
        {"tool": "hitl", "hitl_question": SEND_IT},
        {"tool": "send", "input": "편지"},
        {"tool": "final_answer", "input": "the answer"},
    ]);
    json!({"goal": "a goal", "steps": steps}).to_string()
}

/// The agent of most stories, its script and what its tools were called with.
fn stage(replies: impl IntoIterator<Item = String>) -> (Agent, Arc<ScriptedModel>, Calls) {
    let (script, calls) = (model(replies), Calls::default());
    (echoing(asking(spec(PTE)), &script, &calls).build().unwrap(), script, calls)
}

/// Answers from a list, and remembers why its answers were refused.
#[derive(Default)]
struct Person {
    answers: Mutex<Vec<HumanAnswer>>,
    asked: AtomicUsize,
    refusals: Mutex<Vec<Option<String>>>,
}

impl Person {
    fn who_says(answers: impl IntoIterator<Item = HumanAnswer>) -> Arc<Self> {
        let mut answers: Vec<HumanAnswer> = answers.into_iter().collect();
        answers.reverse();
        Arc::new(Person { answers: Mutex::new(answers), ..Person::default() })
    }
}

impl Human for Person {
    fn ask(&self, question: &Question<'_>) -> Option<HumanAnswer> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        assert_eq!(question.text, SEND_IT);
        self.refusals.lock().unwrap().push(question.refused.map(str::to_owned));
        self.answers.lock().unwrap().pop()
    }
}

/// An edit that no plan of the stage may make: there is no such tool.
fn impossible() -> HumanAnswer {
    let step = PlanStep { tool: "hammer".to_owned(), input: Some(json!("x")), ..PlanStep::default() };
    HumanAnswer::Edit { steps: vec![step] }
}

#[test]
fn run_that_asks_nobody_in_particular_waits_with_its_question() {
    let (agent, script, calls) = stage([plan_with_a_question()]);
    let run = agent.run("q").unwrap();
    let waiting = run.waiting().expect("the run waits");
    assert_eq!((waiting.question.as_str(), waiting.step), (SEND_IT, 1));
    assert_eq!(waiting.effect.to_string(), "human.1.2");
    assert_eq!((run.answer(), run.error()), (None, None));
    assert_eq!(run.state().phase(), PhaseName::Execute);
    assert_eq!((script.asked(), calls.names()), (1, vec!["find:서울".to_owned()]), "nothing is sent");
}

#[test]
fn answer_goes_on_with_a_waiting_journal_and_asks_nothing_again() {
    let (agent, script, calls) = stage([plan_with_a_question(), answer("보냈습니다")]);
    let mut journal = MemoryJournal::new();
    assert!(agent.job(asked("q")).journal(&mut journal).run().unwrap().is_waiting());
    // A resumed run without an answer waits on.
    assert!(agent.resume(&mut journal).run().unwrap().is_waiting());

    let run = agent.resume(&mut journal).answer(HumanAnswer::respond("네")).run().unwrap();
    assert_eq!(run.answer(), Some("보냈습니다"));
    assert_eq!((script.asked(), calls.names()), (2, vec!["find:서울".to_owned(), "send:편지".to_owned()]));
    let records = journal.records().unwrap();
    let asked = records.iter().filter(
        |record| matches!(record, Record::Requested { effect, .. } if effect.to_string() == "human.1.2"),
    );
    assert_eq!(asked.count(), 1, "the question was put once");
}

#[test]
fn run_that_holds_its_records_is_answered_without_a_journal() {
    let (agent, _, calls) = stage([plan_with_a_question(), answer("보냈습니다")]);
    let waiting = agent.run("q").unwrap();
    let run = waiting.respond(&agent, HumanAnswer::respond("네")).unwrap();
    assert_eq!((run.answer(), calls.count()), (Some("보냈습니다"), 2));
    assert_eq!(run.fixture().unwrap().replay_as_recorded().unwrap().state(), run.state());
    assert!(waiting.is_waiting(), "the run before is left as it was");
}

#[test]
fn person_who_is_there_is_asked_within_the_run() {
    let (script, calls) = (model([plan_with_a_question(), answer("끝")]), Calls::default());
    let person = Person::who_says([HumanAnswer::respond("네, 보내세요")]);
    let agent = echoing(asking(spec(PTE)), &script, &calls).human(person.clone()).build().unwrap();
    let run = agent.run("q").unwrap();
    assert_eq!((run.answer(), person.asked.load(Ordering::SeqCst)), (Some("끝"), 1));
    let shown = script.seen().last().unwrap().payload.clone();
    assert!(shown.contains("네, 보내세요"), "the writer sees what the person said: {shown}");
}

#[test]
fn what_a_person_says_passes_without_keys() {
    let (script, calls) = (model([plan_with_a_question(), answer("끝")]), Calls::default());
    let agent = echoing(asking(spec(PTE)), &script, &calls).secret(Secret::new("열쇠-1234567890"));
    let agent = agent.build().unwrap();
    let answer = HumanAnswer::respond("열쇠는 열쇠-1234567890 입니다");
    let run = agent.run("q").unwrap().respond(&agent, answer).unwrap();
    let records = serde_json::to_string(run.records()).unwrap();
    assert!(records.contains("열쇠는 [redacted] 입니다") && !records.contains("1234567890"));
}

#[test]
fn refused_answer_is_asked_again_with_the_reason_and_then_the_run_waits() {
    let (script, calls) = (model([plan_with_a_question()]), Calls::default());
    let person = Person::who_says([impossible(), impossible(), impossible(), impossible()]);
    let agent = echoing(asking(spec(PTE)), &script, &calls).human(person.clone()).build().unwrap();
    let run = agent.run("q").unwrap();
    assert_eq!(person.asked.load(Ordering::SeqCst), 3, "as often as this, and no more");
    let refusals = person.refusals.lock().unwrap();
    assert_eq!(refusals[0], None);
    assert!(refusals[1].as_ref().is_some_and(|why| why.contains("hammer")), "{refusals:?}");
    let waiting = run.waiting().expect("the run waits");
    assert!(waiting.refused.as_ref().is_some_and(|why| why.contains("hammer")), "{waiting:?}");
    assert!(!serde_json::to_string(run.records()).unwrap().contains("hammer"), "no record holds it");
}

#[test]
fn refused_answer_leaves_the_journal_as_it_was() {
    let (agent, _, _) = stage([plan_with_a_question(), answer("끝")]);
    let mut journal = MemoryJournal::new();
    agent.job(asked("q")).journal(&mut journal).run().unwrap();
    let before = journal.records().unwrap();
    let stopped = agent.resume(&mut journal).answer(impossible()).run().unwrap_err();
    let Stopped::Refused { question, refusal } = stopped else { panic!("{stopped:?}") };
    assert_eq!(question, SEND_IT);
    assert!(refusal.contains("hammer"), "{refusal}");
    assert_eq!(journal.records().unwrap(), before);
    let run = agent.resume(&mut journal).answer(HumanAnswer::respond("네")).run().unwrap();
    assert_eq!(run.answer(), Some("끝"));
}

#[test]
fn rejection_ends_the_run_or_sends_it_back_as_the_policy_says() {
    let (agent, _, calls) = stage([plan_with_a_question()]);
    let run = agent.run("q").unwrap().respond(&agent, HumanAnswer::reject("너무 이릅니다")).unwrap();
    assert!(run.error().is_some_and(|error| error.message.contains("너무 이릅니다")), "{:?}", run.error());
    assert_eq!(calls.names(), ["find:서울"]);

    let mut spec = asking(spec(PTE));
    (spec.policy.on_rejection, spec.limits.max_replans) = (OnRejection::Replan, 1);
    let (script, calls) =
        (model([plan_with_a_question(), plan(&[("find", "부산")]), answer("끝")]), Calls::default());
    let agent = echoing(spec, &script, &calls).build().unwrap();
    let run = agent.run("q").unwrap().respond(&agent, HumanAnswer::reject("너무 이릅니다")).unwrap();
    assert_eq!((run.answer(), calls.names()), (Some("끝"), vec!["find:서울".into(), "find:부산".into()]));
    assert!(script.seen()[1].payload.contains("너무 이릅니다"), "the planner is told why");
}

#[test]
fn edit_replaces_the_steps_that_remain() {
    let (agent, _, calls) = stage([plan_with_a_question(), answer("끝")]);
    let step = |tool: &str, input: &str| PlanStep {
        tool: tool.to_owned(),
        input: Some(json!(input)),
        ..PlanStep::default()
    };
    let steps = vec![step("store", "사본"), step("final_answer", "답")];
    let run = agent.run("q").unwrap().respond(&agent, HumanAnswer::Edit { steps }).unwrap();
    assert_eq!((run.answer(), calls.names()), (Some("끝"), vec!["find:서울".into(), "store:사본".into()]));
}

#[test]
fn run_that_does_not_wait_cannot_be_answered() {
    let (agent, _, _) = stage([plan(&[]), answer("끝")]);
    let run = agent.run("q").unwrap();
    assert!(matches!(run.respond(&agent, HumanAnswer::respond("네")), Err(Stopped::NotWaiting)));
    let mut journal = MemoryJournal::from(run.records().to_vec());
    let again = agent.resume(&mut journal).answer(HumanAnswer::respond("네")).run();
    assert!(matches!(again, Err(Stopped::NotWaiting)));
    assert_eq!(journal.records().unwrap(), run.records());
}

#[test]
fn waiting_run_is_recorded_and_replays_to_the_same_question() {
    let (agent, script, _) = stage([plan_with_a_question()]);
    let run = agent.run("q").unwrap();
    let again = agent.replay(&run.fixture().unwrap()).unwrap();
    assert_eq!(again.state(), run.state());
    let asked = |run: &Run| run.waiting().map(|open| (open.effect, open.question.clone()));
    assert_eq!(asked(&again), asked(&run));
    let token = |run: &Run| run.waiting().map(|open| open.token.clone());
    assert_ne!(token(&again), token(&run), "an answer to the one is none to the other");
    assert_eq!(script.asked(), 1);
}

#[test]
fn nothing_else_moves_until_the_person_has_answered() {
    let steps = json!([
        {"tool": "hitl", "hitl_question": SEND_IT},
        {"tool": "find", "input": "a"},
        {"tool": "find", "input": "b"},
        {"tool": "final_answer", "input": "the answer", "depends_on": ["step_1"]},
    ]);
    let plan = json!({"goal": "a goal", "steps": steps}).to_string();
    let (script, calls) = (model([plan, answer("끝")]), Calls::default());
    let agent = echoing(asking(parallel(PTE, 3)), &script, &calls).build().unwrap();
    let run = agent.run("q").unwrap();
    assert_eq!((run.is_waiting(), calls.count()), (true, 0));
    assert_eq!(run.respond(&agent, HumanAnswer::respond("네")).unwrap().answer(), Some("끝"));
    assert_eq!(calls.count(), 2);
}
