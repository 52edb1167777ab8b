//! Threads: what is remembered of a conversation, and for how long.

use crate::stage;

use planwright::driver::{MAX_HISTORY_BYTES, MAX_MESSAGE_BYTES, MAX_TURNS, Stopped, Thread};
use planwright::machine::HumanAnswer;
use planwright::spec::{Approval, Memory, Spec};
use serde_json::{Value, json};

use stage::{Calls, answer, echoing, model, plan, spec};

const PTE: &str = "plan-then-execute";

fn remembering(mut spec: Spec) -> Spec {
    spec.policy.memory = Memory::Thread;
    spec
}

fn owned((question, answer): (&str, &str)) -> (String, String) {
    (question.to_owned(), answer.to_owned())
}

/// The replies of so many questions, answered one by one.
fn replies(answers: impl IntoIterator<Item = String>) -> Vec<String> {
    answers.into_iter().flat_map(|text| [plan(&[]), answer(&text)]).collect()
}

#[test]
fn thread_remembers_questions_as_asked_with_their_answers() {
    let script = model(replies(["토끼띠입니다".to_owned(), "1999년입니다".to_owned()]));
    let agent = echoing(remembering(spec(PTE)), &script, &Calls::default()).build().unwrap();
    let mut thread = Thread::new(&agent);
    assert_eq!(thread.history().len(), 0);
    assert_eq!(thread.ask("나는 1999년에 태어났어. 무슨 띠?").unwrap().answer(), Some("토끼띠입니다"));
    thread.ask(" 내가 몇 년에 태어났지? ").unwrap();
    let history = thread.history();
    let wanted =
        [("나는 1999년에 태어났어. 무슨 띠?", "토끼띠입니다"), (" 내가 몇 년에 태어났지? ", "1999년입니다")];
    assert_eq!(history, wanted.map(owned));
    assert_eq!(Thread::new(&agent).history(), [], "another thread remembers nothing of this one");
}

#[test]
fn earlier_turns_are_shown_to_models_only_where_the_policy_says_so() {
    for memory in [Memory::Thread, Memory::None] {
        let script = model(replies(["하나".to_owned(), "둘".to_owned()]));
        let mut spec = spec(PTE);
        spec.policy.memory = memory;
        let agent = echoing(spec, &script, &Calls::default()).build().unwrap();
        let mut thread = Thread::new(&agent);
        thread.ask("첫 질문").unwrap();
        thread.ask("둘째 질문").unwrap();
        let payload = |nth: usize| serde_json::from_str::<Value>(&script.seen()[nth].payload).unwrap();
        let wanted = json!([
            {"role": "user", "content": "첫 질문"},
            {"role": "assistant", "content": "하나"},
        ]);
        let shown = if memory == Memory::Thread { Some(&wanted) } else { None };
        assert_eq!(payload(0).get("history"), None);
        assert_eq!(payload(2).get("history"), shown, "the second question's planner, {memory:?}");
        assert_eq!(payload(2)["user_question"], "둘째 질문");
    }
}

#[test]
fn run_without_an_answer_leaves_nothing_behind() {
    let agent = echoing(spec(PTE), &model(["no plan"]), &Calls::default()).build().unwrap();
    let mut thread = Thread::new(&agent);
    assert!(thread.ask("q").unwrap().error().is_some());
    assert!(matches!(thread.ask("q"), Err(Stopped::Interrupted(_))), "the script is at its end");
    assert_eq!(thread.history().len(), 0);
}

#[test]
fn what_is_remembered_is_bounded_in_turns_and_bytes_and_cut_between_characters() {
    let most = MAX_TURNS + 3;
    let script = model(replies((0..most).map(|nth| format!("답 {nth}"))));
    let agent = echoing(spec(PTE), &script, &Calls::default()).build().unwrap();
    let mut thread = Thread::new(&agent);
    for nth in 0..most {
        thread.ask(format!("질문 {nth}")).unwrap();
    }
    assert_eq!(thread.history().len(), MAX_TURNS);
    assert_eq!(thread.history()[0], owned(("질문 3", "답 3")));
    let long = "가".repeat(MAX_MESSAGE_BYTES);
    let count = 2 + MAX_HISTORY_BYTES / MAX_MESSAGE_BYTES;
    let script = model(replies(std::iter::repeat_n(long.clone(), count)));
    let agent = echoing(spec(PTE), &script, &Calls::default()).build().unwrap();
    let mut thread = Thread::new(&agent);
    for _ in 0..count {
        assert_eq!(thread.ask("q").unwrap().answer(), Some(&*long), "the answer itself is whole");
    }
    let bytes: usize = thread.history().iter().map(|(question, answer)| question.len() + answer.len()).sum();
    assert!(bytes <= MAX_HISTORY_BYTES && thread.history().len() > 1, "{bytes}");
    let (_, kept) = &thread.history()[0];
    assert!(kept.len() <= MAX_MESSAGE_BYTES && kept.ends_with("가…"));
}

#[test]
fn thread_that_waits_for_a_person_takes_no_new_message() {
    let mut spec = spec(PTE);
    spec.policy.approval = Approval::STEPS;
    let steps =
        json!([{"tool": "hitl", "hitl_question": "될까요?"}, {"tool": "final_answer", "input": "답"}]);
    let plan = json!({"goal": "a goal", "steps": steps}).to_string();
    let script = model([plan, answer("됩니다")]);
    let agent = echoing(spec, &script, &Calls::default()).build().unwrap();
    let mut thread = Thread::new(&agent);
    assert!(thread.ask("q").unwrap().is_waiting());
    let stopped = thread.ask("another").unwrap_err();
    assert!(matches!(&stopped, Stopped::Waiting { question } if question == "될까요?"), "{stopped:?}");
    assert_eq!((script.asked(), thread.history().len()), (1, 0));

    let run = thread.respond(HumanAnswer::respond("네")).unwrap();
    assert_eq!(run.answer(), Some("됩니다"));
    assert_eq!(thread.history(), [owned(("q", "됩니다"))]);
    assert!(matches!(thread.respond(HumanAnswer::respond("네")), Err(Stopped::NotWaiting)));
}
