//! What is remembered of a thread, and for how long.

use crate::stage;

use std::sync::Arc;

use planwright::driver::{
    Agent, MAX_HISTORY_BYTES, MAX_MESSAGE_BYTES, MAX_TURNS, Run, Stopped, Threads, history,
};
use planwright::journal::{MemoryStore, ThreadId};
use planwright::machine::{Input, Turn};
use planwright::spec::Memory;
use serde_json::{Value, json};

use stage::{Calls, answer, echoing, model, plan, spec};

const PTE: &str = "plan-then-execute";

/// A thread in memory, under one agent.
struct Talk(Threads, ThreadId, Agent);

impl Talk {
    fn new(agent: Agent) -> Self {
        Talk(Threads::new(Arc::new(MemoryStore::new())), "대화".parse().unwrap(), agent)
    }

    fn ask(&self, question: &str) -> Result<Run, Stopped> {
        self.0.at(&self.1).ask(&self.2, question)
    }

    fn history(&self) -> Vec<(String, String)> {
        history(self.0.store(), &self.1).unwrap()
    }
}

/// The replies of so many questions, answered one by one.
fn replies(answers: impl IntoIterator<Item = String>) -> Vec<String> {
    answers.into_iter().flat_map(|text| [plan(&[]), answer(&text)]).collect()
}

#[test]
fn earlier_turns_are_shown_to_models_only_where_the_policy_says_so() {
    for memory in [Memory::Thread, Memory::None] {
        let script = model(replies(["하나".to_owned(), "둘".to_owned()]));
        let mut spec = spec(PTE);
        spec.policy.memory = memory;
        let talk = Talk::new(echoing(spec, &script, &Calls::default()).build().unwrap());
        assert_eq!(talk.history(), []);
        talk.ask(" 첫 질문 ").unwrap();
        talk.ask("둘째 질문").unwrap();
        let payload = |nth: usize| serde_json::from_str::<Value>(&script.seen()[nth].payload).unwrap();
        let wanted = json!([
            {"role": "user", "content": " 첫 질문 "},
            {"role": "assistant", "content": "하나"},
        ]);
        let shown = if memory == Memory::Thread { Some(&wanted) } else { None };
        assert_eq!(payload(0).get("history"), None);
        assert_eq!(payload(2).get("history"), shown, "the second question's planner, {memory:?}");
        assert_eq!(payload(2)["user_question"], "둘째 질문");
        let said = [(" 첫 질문 ", "하나"), ("둘째 질문", "둘")];
        assert_eq!(talk.history(), said.map(|(question, answer)| (question.to_owned(), answer.to_owned())));
    }
}

#[test]
fn run_without_an_answer_leaves_nothing_behind() {
    let talk = Talk::new(echoing(spec(PTE), &model(["no plan"]), &Calls::default()).build().unwrap());
    assert!(talk.ask("q").unwrap().error().is_some());
    assert!(matches!(talk.ask("q"), Err(Stopped::Interrupted(_))), "the script is at its end");
    assert!(matches!(talk.ask("q"), Err(Stopped::Unfinished)), "it can go on by itself");
    assert_eq!(talk.history(), []);
}

#[test]
fn what_was_said_before_a_thread_began_is_remembered_with_its_turns_as_far_as_there_is_room() {
    let most = MAX_TURNS + 1;
    let script = model(replies((0..most).map(|nth| format!("답 {nth}"))));
    let mut spec = spec(PTE);
    spec.policy.memory = Memory::Thread;
    let talk = Talk::new(echoing(spec, &script, &Calls::default()).build().unwrap());
    let mut input = Input::question("질문 0");
    input.history = (0..2 * MAX_TURNS).map(|nth| Turn::user(format!("zuvor {nth}"))).collect();
    talk.0.at(&talk.1).ask_with(&talk.2, input).unwrap();
    let mut firsts = Vec::new();
    for nth in 1..most {
        talk.ask(&format!("질문 {nth}")).unwrap();
        let payload: Value = serde_json::from_str(&script.seen()[2 * nth].payload).unwrap();
        let shown = payload["history"].as_array().unwrap();
        assert!(shown.len() <= 2 * MAX_TURNS, "{}", shown.len());
        assert_eq!(shown.last().unwrap()["content"], format!("답 {}", nth - 1));
        firsts.push(shown[0]["content"].as_str().unwrap().to_owned());
    }
    // It begins alike for five turns.
    for (turns, first) in [(0..5, "zuvor 10"), (5..10, "zuvor 20"), (10..15, "zuvor 30"), (15..20, "질문 0")]
    {
        assert!(firsts[turns].iter().all(|found| found == first), "{firsts:?}");
    }
}

#[test]
fn what_is_remembered_is_bounded_in_turns_and_bytes_and_cut_between_characters() {
    let most = MAX_TURNS + 3;
    let script = model(replies((0..most).map(|nth| format!("답 {nth}"))));
    let talk = Talk::new(echoing(spec(PTE), &script, &Calls::default()).build().unwrap());
    for nth in 0..most {
        talk.ask(&format!("질문 {nth}")).unwrap();
    }
    // The oldest are forgotten five at a time.
    assert_eq!(talk.history().len(), MAX_TURNS - 2);
    assert_eq!(talk.history()[0], ("질문 5".to_owned(), "답 5".to_owned()));
    let long = "가".repeat(MAX_MESSAGE_BYTES);
    let count = 2 + MAX_HISTORY_BYTES / MAX_MESSAGE_BYTES;
    let script = model(replies(std::iter::repeat_n(long.clone(), count)));
    let talk = Talk::new(echoing(spec(PTE), &script, &Calls::default()).build().unwrap());
    for _ in 0..count {
        assert_eq!(talk.ask("q").unwrap().answer(), Some(&*long), "the answer itself is whole");
    }
    let bytes: usize = talk.history().iter().map(|(question, answer)| question.len() + answer.len()).sum();
    assert!(bytes <= MAX_HISTORY_BYTES && talk.history().len() > 1, "{bytes}");
    let (_, kept) = &talk.history()[0];
    assert!(kept.len() <= MAX_MESSAGE_BYTES && kept.ends_with("가…"));
}
