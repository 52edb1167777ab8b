//! A stream of events survives a lost connection: every event comes once and in order, from whatever process.

use serde_json::{Value, json};

use super::Service;
use super::reader::{Event, Stream, cutting, ids, whole};
use crate::cli_support::Home;
use crate::support::{Answer, Server, event, finish};
use crate::world::{GOOD, PLAN, SUM};

#[test]
fn every_event_comes_once_and_in_order_though_the_connection_is_cut_at_each() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline"]);
    let proxy = cutting(&service.address, 1);
    let ask = json!({"message": SUM, "thread_id": "합"});
    let path = "/threads/%ED%95%A9/events";
    let (mut seen, mut connections) = (Vec::new(), 1);
    let mut stream = Stream::open(&proxy, "/chat", Some(&ask), None).ok().unwrap();
    let last = loop {
        let mut events: Vec<Event> = stream.collect();
        // The first has an id before there is any data. Who has an id is told only what comes behind it.
        if connections == 1 {
            let first = events.remove(0);
            let is_first = first.name == "thread" && first.data["thread_id"] == "합";
            assert!(is_first && first.id.as_deref() == Some("1-0-0"), "{first:?}");
        }
        let end = events.pop_if(|event| event.name == "end");
        seen.extend(events);
        if let Some(end) = end {
            break end.id.unwrap();
        }
        let last = seen.last().map_or(Some("1-0-0".to_owned()), |event: &Event| event.id.clone()).unwrap();
        connections += 1;
        assert!(connections < 200, "{seen:?}");
        stream = Stream::open(&proxy, path, None, Some(&last)).ok().unwrap();
    };
    assert!(connections > 10, "{connections}");
    let whole = whole(&service, "%ED%95%A9");
    assert_eq!(ids(&seen), ids(&whole));
    assert!(
        ids(&whole).is_sorted_by_key(|id| id
            .split('-')
            .map(|part| part.parse::<u64>().unwrap())
            .collect::<Vec<_>>())
    );
    let end = whole.last().unwrap();
    assert_eq!(
        (&*end.name, &end.data["status"], &end.data["problem"]),
        ("end", &json!("completed"), &Value::Null)
    );
    assert!(end.data["result"].as_str().unwrap().contains("300840"), "{end:?}");
    // Who has seen everything is told not to ask again.
    assert_eq!(Stream::open(&service.address, path, None, Some(&last)).err(), Some((204, String::new())));
    assert_eq!(service.get(path.trim_end_matches("/events"), 200)["turns"].as_array().unwrap().len(), 1);
}

#[test]
fn stream_goes_on_in_another_process_where_that_of_a_killed_one_ended() {
    let home = Home::new();
    let (model, was_asked, _answer) = Server::pausing(Answer::reply(PLAN));
    let mut service = Service::start(&home, &["--base-url", &model.url(), "--model", "m"]);
    let ask = json!({"message": SUM, "thread_id": "t"});
    let mut stream = Stream::open(&service.address, "/chat", Some(&ask), None).ok().unwrap();
    was_asked.recv().unwrap();
    let mut seen = stream.until("thinking");
    assert_eq!(seen.last().unwrap().data["step"], "planning");
    service.signal("-KILL");
    assert!(stream.next().is_none(), "a cut is no end");
    let other = Server::answering([PLAN, GOOD, "It is 300840."].map(Answer::reply));
    let service = Service::start(&home, &["--base-url", &other.url(), "--model", "m"]);
    let last = seen.last().unwrap().id.clone();
    let rest = Stream::open(&service.address, "/threads/t/events", None, last.as_deref()).ok().unwrap();
    seen.extend(rest);
    assert_eq!(
        (&*seen.last().unwrap().name, &seen.last().unwrap().data["status"]),
        ("end", &json!("completed"))
    );
    assert_eq!(ids(&seen), ids(&whole(&service, "t")));
    // A process that has nothing to do with the run tells it alike.
    let third = Service::start(&home, &["--offline"]);
    assert_eq!(ids(&seen), ids(&whole(&third, "t")));
}

#[test]
fn words_come_as_they_are_written_and_to_a_late_reader_from_the_first_on() {
    let home = Home::new();
    let model = Server::start(move |seen, nth| match nth {
        0 => Answer::reply(PLAN),
        1 => Answer::reply(GOOD),
        2 => {
            assert_eq!(seen.json()["stream"], true);
            Answer::broken_chunks([event("It is 300"), event("840, ")])
        }
        // Amid it, a reader comes late.
        _ => {
            Answer::chunks([event("It is 300"), event("840."), finish("stop"), "data: [DONE]\n\n".to_owned()])
                .trickling(std::time::Duration::from_secs(2))
        }
    });
    let service = Service::start(&home, &["--base-url", &model.url(), "--model", "m"]);
    let ask = json!({"message": SUM, "thread_id": "t"});
    let mut stream = Stream::open(&service.address, "/chat", Some(&ask), None).ok().unwrap();
    let (mut words, mut replies) = (String::new(), 0);
    for event in stream.by_ref().filter(|event| event.name == "token") {
        assert_eq!(event.id, None, "words are not on record");
        if event.data["step"] == "restarted" {
            assert_eq!(words, "It is 300840,");
            words.clear();
            replies += 1;
        }
        words.push_str(event.data["content"].as_str().unwrap());
        if replies == 1 && !words.is_empty() {
            break;
        }
    }
    let mut late = Stream::open(&service.address, "/threads/t/events", None, None).ok().unwrap();
    let first = late.find(|event| event.name == "token" && event.data["step"] == "token").unwrap();
    assert_eq!(first.data["content"], "It is 300", "{first:?}");
    // The reply that broke off is taken back.
    for rest in [stream, late] {
        let (mut words, mut end) = (words.clone(), None);
        for event in rest {
            match (&*event.name, event.data["step"].as_str()) {
                ("token", Some("restarted")) => words.clear(),
                ("token", _) => words.push_str(event.data["content"].as_str().unwrap()),
                ("end", _) => end = Some(event.data),
                _ => {}
            }
        }
        assert_eq!((&*words, &end.unwrap()["result"]), ("It is 300840.", &json!("It is 300840.")));
    }
}

#[test]
fn question_ends_a_stream_and_its_answer_begins_one_there() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline"]);
    let message = "Compare both offers, and ask me before you conclude.";
    let ask = json!({"message": message, "thread_id": "t", "agent": "supervised"});
    let asked: Vec<Event> = Stream::open(&service.address, "/chat", Some(&ask), None).ok().unwrap().collect();
    let end = &asked.last().unwrap().data;
    assert_eq!((&end["status"], end["token"].is_string()), (&json!("waiting_human"), true), "{end}");
    assert!(asked.iter().any(|event| event.name == "question"), "{asked:?}");
    // Asked again, it says what it waits for, at the place where it does.
    let again: Vec<Event> = Stream::open(&service.address, "/chat", Some(&ask), None).ok().unwrap().collect();
    assert_eq!((again.len(), &again[1].data["question"]), (2, &end["question"]));
    assert_eq!((&again[1].id, &again[0].id), (&asked.last().unwrap().id, &Some(ids(&asked).pop().unwrap())));
    let answer = json!({"thread_id": "t", "response": "go on"});
    let rest: Vec<Event> =
        Stream::open(&service.address, "/hitl/resume", Some(&answer), None).ok().unwrap().collect();
    let all = [asked, rest].concat();
    assert_eq!(all.last().unwrap().data["status"], "completed", "{all:?}");
    assert_eq!(ids(&all), ids(&whole(&service, "t")));
}

#[test]
fn what_cannot_begin_is_a_problem_and_what_stops_has_no_end_but_a_reason() {
    let home = Home::new();
    let service = Service::start(
        &home,
        &[
            "--base-url",
            &format!("http://127.0.0.1:{}/v1", crate::support::DeadPort::new().number()),
            "--model",
            "m",
        ],
    );
    let problem = |path: &str, body: Option<Value>, seen: Option<&str>| {
        let (status, text) = Stream::open(&service.address, path, body.as_ref(), seen).err().unwrap();
        let problem: Value = serde_json::from_str(&text).unwrap();
        (
            status,
            problem["type"].as_str().unwrap().replace("urn:planwright:", ""),
            problem["detail"].to_string(),
        )
    };
    let (status, kind, _) = problem("/chat", Some(json!({"message": "x", "agent": "none"})), None);
    assert_eq!((status, &*kind), (404, "no-such-agent"));
    assert_eq!(problem("/threads/none/events", None, None).0, 404);
    let ask = json!({"message": SUM, "thread_id": "t"});
    let stopped: Vec<Event> =
        Stream::open(&service.address, "/chat", Some(&ask), None).ok().unwrap().collect();
    let end = stopped.last().unwrap();
    assert_eq!((&*end.name, &end.data["type"]), ("cut", &json!("urn:planwright:interrupted")), "{end:?}");
    assert!(end.data["hint"].as_str().unwrap().contains("/threads/t/resume"), "{end:?}");
    for (id, says) in [("x", "1-4-2"), ("0-0-0", "1-4-2"), ("01-0-0", "1-4-2"), ("1-0", "1-4-2")] {
        let (status, kind, detail) = problem("/threads/t/events", None, Some(id));
        assert_eq!((status, &*kind, detail.contains(says)), (422, "wrong-input", true), "{id}: {detail}");
    }
    let (status, kind, detail) = problem("/threads/t/events", None, Some("9-0-0"));
    assert_eq!((status, &*kind, detail.contains("of the 1 turns")), (404, "no-such-turn", true), "{detail}");
}

#[test]
fn reader_of_a_thread_that_is_deleted_is_told() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline"]);
    let ask = json!({"message": SUM, "thread_id": "t"});
    service.post("/chat", &ask, 200);
    let path = "/threads/t/events?follow=true&from=1-0-0";
    let mut stream = Stream::open(&service.address, path, None, None).ok().unwrap();
    assert_eq!(stream.next().unwrap().name, "thread");
    let told = stream.until("trace");
    assert!(told.len() > 1, "{told:?}");
    assert_eq!(service.send("DELETE", "/threads/t", "", &[]).0, 204);
    // Another of the same name is not what was followed.
    service.post("/chat", &ask, 200);
    let cut = stream.last().unwrap();
    assert_eq!((&*cut.name, &cut.data["type"]), ("cut", &json!("urn:planwright:no-such-thread")), "{cut:?}");
}

#[test]
fn client_that_wants_no_stream_gets_none() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline"]);
    for accept in ["text/event-stream;q=0, application/json", "application/json", "*/*"] {
        let body = json!({"message": SUM}).to_string();
        let (status, reply) = service.send("POST", "/chat", &body, &[("accept", accept)]);
        assert_eq!((status, &reply["status"]), (200, &json!("completed")), "{accept}: {reply}");
    }
}

#[test]
fn stop_of_the_service_is_told_to_who_reads() {
    let home = Home::new();
    let (model, was_asked, _answer) = Server::pausing(Answer::reply(PLAN));
    let mut service =
        Service::start(&home, &["--grace-seconds", "0", "--base-url", &model.url(), "--model", "m"]);
    let ask = json!({"message": SUM, "thread_id": "t"});
    let mut stream = Stream::open(&service.address, "/chat", Some(&ask), None).ok().unwrap();
    was_asked.recv().unwrap();
    stream.until("thinking");
    let idle = Stream::open(&service.address, "/threads/t/events?follow=true", None, None).ok().unwrap();
    assert_eq!(service.signal("-TERM"), Some(0));
    for rest in [stream, idle] {
        let last = rest.last().unwrap();
        assert_eq!((&*last.name, &last.data["type"]), ("cut", &json!("urn:planwright:stopping")), "{last:?}");
    }
}

#[test]
fn reader_that_takes_nothing_is_cut_off_and_told_why() {
    let home = Home::new();
    let plan = PLAN.replace("345*872", "6*7");
    let long = "가나다 ".repeat(20_000);
    let model = Server::start(move |seen, _| {
        let asked = seen.json()["messages"][0]["content"].as_str().unwrap().to_owned();
        let of = |role: &str, reply: &str| asked.contains(role).then(|| Answer::reply(reply));
        of("plan how an agent answers", &plan).or(of("\"ok\"", GOOD)).unwrap_or_else(|| Answer::reply(&long))
    });
    let service =
        Service::start(&home, &["--reader-seconds", "1", "--base-url", &model.url(), "--model", "m"]);
    for turn in 1..=24 {
        let done = service.post("/chat", &json!({"message": "What is 6*7?", "thread_id": "t"}), 200);
        assert_eq!((&done["turn"], &done["status"]), (&json!(turn), &json!("completed")), "{done}");
    }
    let mut stream = Stream::open(&service.address, "/threads/t/events?from=1-0-0", None, None).ok().unwrap();
    stream.next().unwrap();
    let never = Stream::open(&service.address, "/threads/t/events?from=1-0-0", None, None).ok().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(3));
    let rest: Vec<Event> = stream.collect();
    let last = rest.last().unwrap();
    assert_eq!(
        (&*last.name, &last.data["type"]),
        ("cut", &json!("urn:planwright:reader-too-slow")),
        "{}",
        rest.len()
    );
    // It goes on from there.
    let seen = ids(&rest).pop().unwrap();
    let more: Vec<Event> =
        Stream::open(&service.address, "/threads/t/events", None, Some(&seen)).ok().unwrap().collect();
    assert_eq!([ids(&rest), ids(&more)].concat().len(), ids(&whole(&service, "t")).len());
    assert_eq!(more.last().unwrap().name, "end");
    // The connection of a reader who does not come back is ended by the system.
    if cfg!(target_os = "linux") {
        std::thread::sleep(std::time::Duration::from_secs(5));
        let rest: Vec<Event> = never.collect();
        assert!(rest.iter().all(|event| event.name != "cut" && event.name != "end"), "{}", rest.len());
    }
}

#[test]
fn words_that_are_on_record_by_now_do_not_come_behind_them() {
    let home = Home::new();
    let service = Service::start(&home, &["--offline", "--tools", "calc"]);
    for nth in 0..30 {
        let ask = json!({"message": "2+1?", "thread_id": format!("t{nth}")});
        let events = Stream::open(&service.address, "/chat", Some(&ask), None).ok().unwrap();
        let names: Vec<String> = events.map(|event| event.name).collect();
        let behind = names.iter().skip_while(|name| *name != "answer");
        assert_eq!(behind.collect::<Vec<_>>(), ["answer", "end"], "{names:?}");
    }
}

/// Its turn is all that a stream of a run tells, whoever asks in the thread meanwhile.
#[test]
fn stream_of_a_run_ends_with_it_though_others_ask_in_the_thread() {
    let home = Home::new();
    let model = Server::start(|seen, _| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        let asked = seen.json()["messages"].to_string();
        let writes = !asked.contains("plan how an agent answers") && !asked.contains("fix_hint\\\": string");
        let of = if asked.contains("6*7") { "two" } else { "one" };
        let of = format!("the answer {of}");
        Answer::reply(match asked.contains("plan how an agent answers") {
            true => PLAN,
            false if writes => &of,
            false => GOOD,
        })
    });
    let service = Service::start(&home, &["--max-runs", "1", "--base-url", &model.url(), "--model", "m"]);
    for nth in 0..3 {
        let thread = format!("t{nth}");
        let ask = json!({"message": SUM, "thread_id": thread});
        let mut stream = Stream::open(&service.address, "/chat", Some(&ask), None).ok().unwrap();
        let begun = stream.next().unwrap();
        let other = json!({"message": "What is 6*7?", "thread_id": thread});
        let events: Vec<Event> = std::thread::scope(|scope| {
            let second = scope.spawn(|| service.post("/chat", &other, 200));
            let events = stream.collect();
            assert_eq!(second.join().unwrap()["turn"], 2);
            events
        });
        let end = events.last().unwrap();
        assert_eq!((&begun.data["turn"], &end.data["turn"]), (&json!(1), &json!(1)), "{end:?}");
        assert_eq!((&*end.name, &end.data["result"]), ("end", &json!("the answer one")), "{end:?}");
        assert!(ids(&events).iter().all(|id| id.starts_with("1-")), "{events:?}");
    }
}
