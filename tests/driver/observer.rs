//! Observers: what they are told of a run, in which order, and in pairs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use planwright::driver::{Clock, Threads};
use planwright::journal::MemoryStore;
use planwright::machine::{EffectId, Input, ModelReply, Usage};
use planwright::ports::{
    Cause, Model, ModelError, Observer, ScriptedModel, Signal, TokenSink, ToolError, Unanswered,
};
use planwright::prompt::{ModelRequest, RequestBody};
use planwright::spec::{Planner, Policy, RoleName, Spec, StepTries};
use serde_json::json;

use crate::stage::{Calls, accepted, answer, echoing, model, plan, spec};

const PTE: &str = "plan-then-execute";

/// Writes down what it sees.
struct Watcher {
    seen: Mutex<Vec<String>>,
    tokens: bool,
}

impl Observer for Watcher {
    fn notice(&self, signal: Signal<'_>) {
        let line = match signal {
            Signal::Entered(phase) => format!("entered {phase}"),
            Signal::Asked { span, request: RequestBody::Model { role, .. } } => {
                format!("asking {role} {}", span.effect)
            }
            Signal::Asked { span, request: RequestBody::Tool { tool, input, .. } } => {
                format!("calling {tool} {input} {}", span.effect)
            }
            Signal::Answered { span, answer, .. } => {
                format!("answered {} {}", span.asked, answer.failure.unwrap_or("well"))
            }
            Signal::Finished { tool, failed, output, .. } => format!("finished {tool} {failed} {output}"),
            Signal::Traced(line) => {
                format!("traced {}", serde_json::to_value(line).unwrap()["phase"].as_str().unwrap())
            }
            Signal::Token(text) => format!("token {text:?}"),
            Signal::Restarted => "restarted".to_owned(),
            Signal::Retrying { span, error, most, delay } => {
                format!("retrying {} after {} of {most} in {delay:?}: {error}", span.asked, error.tries)
            }
            Signal::Began(_) | Signal::Ended { .. } => return,
            _ => "something new".to_owned(),
        };
        self.seen.lock().unwrap().push(line);
    }
    fn wants_tokens(&self) -> bool {
        self.tokens
    }
}

fn watched(name: &str, replies: &[String], tokens: bool) -> Vec<String> {
    let watcher = Watcher { seen: Mutex::default(), tokens };
    let agent = echoing(spec(name), &model(replies.to_vec()), &Calls::default()).build().unwrap();
    agent.job(Input::question("q")).observer(&watcher).run().unwrap();
    watcher.seen.into_inner().unwrap()
}

#[test]
fn observer_sees_the_run_go_by() {
    let replies = [plan(&[("find", "서울")]), accepted(), "두 낱말".to_owned()];
    let seen = watched("validated", &replies, true);
    let wanted = [
        "entered PLAN",
        "asking planner plan.1.1",
        "answered planner well",
        "traced PLAN",
        "entered EXECUTE",
        "calling find \"서울\" step.1.1.1",
        "answered find well",
        "finished find false find of 서울",
        "traced EXECUTE",
        "entered VALIDATE",
        "asking validator validate.1.1",
        "answered validator well",
        "traced VALIDATE",
        "entered WRITE",
        "asking writer write.1.1",
        "token \"두\"",
        "token \" 낱말\"",
        "answered writer well",
        "traced WRITE",
        "entered DONE",
    ];
    assert_eq!(seen, wanted);
}

#[test]
fn phase_that_is_passed_through_is_entered_before_its_lines() {
    let plan = plan(&[]);
    let seen = watched("validated", &[plan, accepted(), "답".to_owned()], false);
    let marks = seen.iter().filter(|line| line.starts_with("entered") || line.starts_with("traced"));
    let wanted = [
        "entered PLAN",
        "traced PLAN",
        "entered EXECUTE",
        "traced EXECUTE",
        "entered VALIDATE",
        "traced VALIDATE",
        "entered WRITE",
        "traced WRITE",
        "entered DONE",
    ];
    assert_eq!(marks.collect::<Vec<_>>(), wanted);
}

#[test]
fn stream_carries_the_time_of_the_agents_clock_and_its_name() {
    struct Still;
    impl Clock for Still {
        fn now_ms(&self) -> u64 {
            1_763_800_000_123
        }
    }
    let replies = [plan(&[]), accepted(), "답".to_owned()];
    let agent = echoing(spec("validated"), &model(replies), &Calls::default()).clock(Still).build().unwrap();
    let events: Vec<_> = agent.stream("q").collect();
    assert!(events.len() > 5);
    for event in events {
        assert_eq!((&*event.time, &*event.agent), ("2025-11-22T08:26:40.123Z", "validated"));
    }
}

#[test]
fn answer_streams_only_to_who_wants_it() {
    let token = |line: &String| line.starts_with("token");
    let replies = [plan(&[]), accepted(), "두 낱말".to_owned()];
    assert!(!watched("validated", &replies, false).iter().any(token));
}

/// What an observer is shown of a model's replies: its words, `|` where those before are void.
#[track_caller]
fn check_words(spec: Spec, replies: Vec<ModelReply>, shown: &str) {
    let watcher = Watcher { seen: Mutex::default(), tokens: true };
    let agent = echoing(spec, &Arc::new(ScriptedModel::says(replies)), &Calls::default()).build().unwrap();
    let run = agent.job(Input::question("q")).observer(&watcher).run().unwrap();
    let seen = watcher.seen.into_inner().unwrap();
    let piece = |line: &String| match line.strip_prefix("token ") {
        Some(piece) => serde_json::from_str(piece).unwrap(),
        None if line == "restarted" => "|".to_owned(),
        None => String::new(),
    };
    let words: String = seen.iter().map(piece).collect();
    assert_eq!(words, shown);
    assert_eq!(run.answer(), words.rsplit('|').next(), "{:?}", run.error());
}

#[test]
fn answer_streams_in_every_agent_that_has_words_at_the_end() {
    let text = |text: String| ModelReply::text(text);
    let find = || ModelReply::calls([("find", json!({"query": "a"}))]);
    let words = || text("<think>음</think>두 낱말 <3\n".to_owned());
    let grants_nothing = || text(r#"{"steps": []}"#.to_owned());
    for name in ["react", "conversational"] {
        check_words(spec(name), vec![grants_nothing(), find(), words()], "두 낱말 <3");
    }
    let long = "낱말 ".repeat(150);
    let beside = ModelReply { text: long.clone(), ..find() };
    check_words(
        spec("react"),
        vec![grants_nothing(), beside, words()],
        &format!("{}|두 낱말 <3", long.trim()),
    );
    check_words(spec("validated"), vec![text(plan(&[])), text(accepted()), words()], "두 낱말 <3");
    check_words(spec(PTE), vec![text(plan(&[])), text(answer("두 낱말"))], "두 낱말");
    let steps = r#"{"goal": "g", "steps": [{"tool": "research", "task": "a"}, {"tool": "writer", "task": "b", "depends_on": ["step_1"]}]}"#;
    let replies = [steps.to_owned(), "읽었다".to_owned(), "두 낱말".to_owned(), accepted()];
    check_words(spec("research-team"), replies.map(text).to_vec(), "두 낱말");
    let react = Policy { planner: Planner::ReactText, ..spec("react").policy };
    let said = "Thought: 안다\nFinal Answer: 두 낱말".to_owned();
    check_words(Spec { policy: react, ..spec("react") }, vec![grants_nothing(), text(said)], "두 낱말");
}

/// A model that is tried again once, amid its words.
struct Broken;

impl Model for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    fn ask(&self, request: &ModelRequest, tokens: Option<TokenSink<'_>>) -> Result<ModelReply, ModelError> {
        self.ask_until(request, tokens, &|_, _, _| {}, &|| false)
    }

    fn ask_until(
        &self,
        _: &ModelRequest,
        tokens: Option<TokenSink<'_>>,
        retrying: &dyn Fn(&Unanswered, u32, Duration),
        _: &dyn Fn() -> bool,
    ) -> Result<ModelReply, ModelError> {
        let whole = answer("두 낱말");
        let mut ignored = |_: &str| {};
        let tokens = tokens.unwrap_or(&mut ignored);
        tokens(&whole[..whole.len() - 5]);
        retrying(&Unanswered::new(Cause::Connection, "열쇠-1234567890"), 6, Duration::from_secs(7));
        tokens(&whole);
        Ok(ModelReply::text(whole))
    }
}

#[test]
fn try_that_follows_is_told_and_what_was_streamed_begins_anew() {
    let watcher = Watcher { seen: Mutex::default(), tokens: true };
    let agent = echoing(spec(PTE), &model([plan(&[])]), &Calls::default());
    let agent = agent.model_for(RoleName::Writer, Broken);
    let agent = agent.secret(planwright::ports::Secret::new("열쇠-1234567890")).build().unwrap();
    agent.job(Input::question("q")).observer(&watcher).run().unwrap();
    let seen = watcher.seen.into_inner().unwrap();
    let from = seen.iter().position(|line| line.starts_with("token")).unwrap();
    let wanted = [
        "token \"두 낱\"",
        "restarted",
        "retrying writer after 1 of 6 in 7s: connection: [redacted]",
        "token \"두 낱말\"",
        "answered writer well",
    ];
    assert_eq!(seen[from..from + 5], wanted);
}

#[test]
fn key_that_streams_in_pieces_is_shown_in_none() {
    let watcher = Watcher { seen: Mutex::default(), tokens: true };
    // The scripted model streams word by word, so a key of words comes in pieces.
    let key = "열쇠 하나 둘 셋";
    let replies = [plan(&[]), accepted(), format!("답은 열쇠 하나 {key} 입니다 열쇠 하나")];
    let agent = echoing(spec("validated"), &model(replies), &Calls::default());
    let agent = agent.secret(planwright::ports::Secret::new(key)).build().unwrap();
    agent.job(Input::question("q")).observer(&watcher).run().unwrap();
    let seen = watcher.seen.into_inner().unwrap();
    let tokens: Vec<&str> = seen.iter().filter_map(|line| line.strip_prefix("token ")).collect();
    let shown: String = tokens.iter().map(|token| serde_json::from_str::<String>(token).unwrap()).collect();
    assert_eq!(shown, "답은 열쇠 하나 [redacted] 입니다 열쇠 하나", "what only began like a key is shown");
}

/// Checks that answers follow what was asked, each once, and writes them down.
#[derive(Default)]
struct Pairs {
    open: Mutex<Vec<(EffectId, String)>>,
    closed: Mutex<Vec<String>>,
}

impl Observer for Pairs {
    fn notice(&self, signal: Signal<'_>) {
        let mut open = self.open.lock().unwrap();
        match signal {
            Signal::Asked { span, .. } => {
                assert!(!span.run.is_empty());
                open.push((span.effect, span.asked.to_owned()));
            }
            Signal::Answered { span, answer, .. } => {
                let known = (span.effect, span.asked.to_owned());
                let at = open.iter().position(|asked| *asked == known).expect("it was asked");
                open.remove(at);
                let (asked, thread, attempt) = (span.asked, span.thread, span.attempt());
                let tokens = answer.usage.map(|usage| usage.output_tokens);
                let failure = answer.failure.unwrap_or("-");
                self.closed.lock().unwrap().push(format!("{thread}/{asked}#{attempt} {tokens:?} {failure}"));
            }
            _ => {}
        }
    }
}

#[test]
fn every_effect_is_heard_of_as_asked_and_as_answered() {
    let mut spec = spec(PTE);
    spec.policy.step_tries = StepTries { tries: 2, wait_ms: 1 };
    let calls = Calls::default();
    let calc = calls.tool(crate::runs::calc(), |_| Err(ToolError::new("http", "503")));
    let usage = Usage { output_tokens: 7, ..Usage::default() };
    let script = ScriptedModel::says([ModelReply { usage, ..ModelReply::text(plan(&[("calc", "x")])) }]);
    let script = Arc::new(script.answer(Err(ModelError::unanswered(Cause::RateLimit, "429"))));
    let agent = echoing(spec, &script, &calls).tool(calc).clock(NoWait).build().unwrap();
    let (threads, pairs) = (Threads::new(Arc::new(MemoryStore::new())), Pairs::default());
    threads.at(&"대화".parse().unwrap()).observer(&pairs).ask(&agent, "q").unwrap_err();
    let wanted = [
        "대화/planner#1 Some(7) -",
        "대화/calc#1 None http",
        "대화/wait#2 None -",
        "대화/calc#2 None http",
        "대화/writer#1 None rate limit",
    ];
    assert_eq!(*pairs.closed.lock().unwrap(), wanted);
    assert!(pairs.open.lock().unwrap().is_empty(), "what is not answered is closed too");
}

/// Lets no time pass.
struct NoWait;

impl Clock for NoWait {
    fn sleep(&self, _: Duration, _: &dyn Fn() -> bool) {}
}
