//! People: an answer that comes twice, and one that does not come.

use planwright::machine::HumanAnswer;
use serde_json::json;

use crate::cast::Times;
use crate::killed::asking;
use crate::server::{Restate, post, report};
use crate::stage::Stage;

#[test]
fn an_answer_sent_twice_is_taken_once() {
    let (restate, stage) = (Restate::start(), Stage::new(Times::default()));
    let worker = stage.enter(None);
    restate.register(worker.address);
    let waiting = restate.ask("twice", &asking());
    let token = waiting.token.unwrap();
    // The same request sent again, as a client does that lost its connection, gets the same report.
    let body = json!({"token": token, "answer": HumanAnswer::respond("yes")}).to_string();
    let send =
        || post(restate.ingress(), "/planwright/twice/answer", "Idempotency-Key: one\r\n", &body).unwrap();
    let (done, again) = (report(send()), report(send()));
    assert_eq!((done.status.name(), &done.status), ("done", &again.status));
    // Another request with the same answer is refused.
    let (status, refusal) =
        restate.call("twice", "answer", &json!({"token": token, "answer": HumanAnswer::respond("yes")}));
    assert_eq!(status, 409, "{refusal}");
    assert!(refusal.contains("answered before"), "{refusal}");
    assert_eq!(stage.calls(&waiting.run).len(), 2, "one look, one letter");
    stage.check_as_undisturbed(&restate, "twice", &asking());
}

#[test]
fn a_question_that_nobody_answers_in_time_is_over() {
    let (restate, stage) = (Restate::start(), Stage::new(Times { answer: 1, ..Times::default() }));
    let worker = stage.enter(None);
    restate.register(worker.address);
    let waiting = restate.ask("late", &asking());
    assert_eq!(waiting.status.name(), "waiting");
    let (run, _) = stage.await_status("late", "failed");
    assert_eq!(run, waiting.run);
    let answer = json!({"token": waiting.token.unwrap(), "answer": HumanAnswer::respond("yes")});
    let (status, refusal) = restate.call("late", "answer", &answer);
    assert_eq!(status, 409, "{refusal}");
    // Nothing was sent, and the run is told as it is replayed.
    assert_eq!(stage.calls(&run).len(), 1);
    assert!(!stage.trace("late").is_empty());
    // One that is answered in time goes on, and its time-out changes nothing.
    let waiting = restate.ask("early", &asking());
    let done = restate.answer("early", &waiting.token.unwrap(), &HumanAnswer::respond("yes"));
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    assert_eq!(stage.await_status("early", "done").1, done.status);
}
