//! Two runs side by side: what belongs together stands together, and the first point where they part is named.

use planwright::journal::{Fixture, Record};
use planwright::machine::{Event, ToolOutcome};
use planwright_app::{Comparison, RunLocation, RunView, compare, records_of_fixture};
use serde_json::Value;

use crate::cli_support::{Home, approving_journal, ended_journal, replanned};
use crate::replayed::changed;
use crate::view::{fixtures, long_run};

fn view(records: Vec<Record>) -> RunView {
    RunView::of(records, None, RunLocation::default(), false).unwrap()
}

fn compared(one: &Fixture, other: &Fixture) -> Comparison {
    compare(&view(records_of_fixture(one).unwrap()), &view(records_of_fixture(other).unwrap()))
}

fn fixture(name: &str) -> Fixture {
    Fixture::load(format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn every_run_is_equal_to_itself_and_to_no_other() {
    let mut last: Option<Fixture> = None;
    for (place, fixture) in fixtures() {
        let same = compared(&fixture, &fixture);
        assert!(same.equal && same.parting.is_none(), "{place}");
        assert!(same.effects.iter().chain(&same.steps).all(|pair| pair.same), "{place}");
        if let Some(last) = last.filter(|last| *last != fixture) {
            let other = compared(&last, &fixture);
            assert!(!other.equal && other.parting.is_some(), "{place}");
        }
        last = Some(fixture);
    }
}

/// A fixture whose agent has another name, and is the same otherwise.
fn renamed(one: &Fixture) -> Fixture {
    let mut text: Value = serde_json::from_str(&one.to_json()).unwrap();
    text["spec"]["name"] = "renamed".into();
    Fixture::parse(&text.to_string()).unwrap()
}

#[test]
fn renamed_agent_differs_by_its_name_alone() {
    for name in ["validated/accepted_at_once.json", "supervised/report.json"] {
        let one = fixture(name);
        let comparison = compared(&one, &renamed(&one));
        assert!(!comparison.steps.is_empty() && comparison.steps.iter().all(|pair| pair.same), "{name}");
        assert!(comparison.effects.iter().all(|pair| pair.same), "{name}");
        let parting = comparison.parting.unwrap();
        assert_eq!((parting.a, parting.b, parting.row, parting.what), (Some(0), Some(0), None, "agent"));
    }
}

#[test]
fn replay_that_stops_behind_the_steps_shows_those_of_the_recording() {
    let home = Home::new();
    let one = changed(&home, "one.json", |_| {});
    let compared: Value = home.check(&["compare", &one, "--agent", "validated", "--json"], 1).json();
    let steps = compared["steps"].as_array().unwrap();
    assert!(compared["replay"]["stopped"].is_string() && !steps.is_empty(), "{compared:#}");
    let is_paired = |pair: &Value| pair["a"].is_object() && pair["b"].is_object();
    assert!(steps.iter().all(is_paired), "{steps:#?}");
    home.check(&["compare", &one, "--agent", "validated"], 1).prints(&["they part at record"]);
}

#[test]
fn inserted_step_does_not_shift_the_rest() {
    let one = fixture("plan-then-execute/notebook.json");
    let mut text = one.to_json();
    // The same plan with one step more at its beginning, and its call.
    let planned = r#"\"steps\":["#;
    assert!(text.contains(planned), "{text}");
    text = text.replacen(planned, r#"\"steps\":[{\"tool\":\"calc\",\"input\":\"1+1\"},"#, 1);
    let edited = Fixture::parse(&text).unwrap();
    let (mut records, mut inserted) = (Vec::new(), false);
    // Every later step is one further: its answers are asked for under another id.
    let further = |event: Event| match event.effect() {
        Some(id) if id.step().is_some() => {
            let text = id.to_string();
            let [kind, draft, step, attempt] = text.split('.').collect::<Vec<_>>()[..] else {
                panic!("{text}")
            };
            let step = step.parse::<u32>().unwrap() + 1;
            event.addressed(format!("{kind}.{draft}.{step}.{attempt}").parse().unwrap())
        }
        _ => event,
    };
    for record in records_of_fixture(&one).unwrap() {
        match record {
            Record::Header(_) => records.push(record),
            Record::Answered { event, .. } => {
                let is_plan = event.effect().is_some_and(|id| id.to_string() == "plan.1.1");
                let event = if is_plan { edited.exchanges[0].event() } else { further(event) };
                records.push(Record::Answered { event, at: None });
                if is_plan && !std::mem::replace(&mut inserted, true) {
                    let effect = "step.1.1.1".parse().unwrap();
                    let outcome = ToolOutcome::returned("2");
                    records
                        .push(Record::Answered { event: Event::ToolReturned { effect, outcome }, at: None });
                }
            }
            _ => {}
        }
    }
    let longer = Fixture::of_records(&with_requests(records), None).unwrap();
    let comparison = compared(&one, &longer);
    let alone: Vec<&str> =
        comparison.steps.iter().filter(|pair| pair.a.is_none()).map(|pair| &*pair.asked).collect();
    assert_eq!(alone, ["calc"]);
    let differing: Vec<&str> =
        comparison.steps.iter().filter(|pair| !pair.same).map(|pair| &*pair.asked).collect();
    assert_eq!(differing, ["calc"], "the others are the same steps");
    let tools = comparison
        .effects
        .iter()
        .filter(|pair| pair.a.as_ref().or(pair.b.as_ref()).is_some_and(|side| side.id.starts_with("step.")));
    let differing: Vec<bool> = tools.map(|pair| pair.same).collect();
    assert_eq!(differing.iter().filter(|same| !**same).count(), 1, "{differing:?}");
    let parting = comparison.parting.unwrap();
    assert_eq!((parting.row, parting.what), (Some(0), "reply"), "the planner says another plan");
}

/// Records with what each answer was asked for.
fn with_requests(answers: Vec<Record>) -> Vec<Record> {
    let digest = planwright::spec::Digest::of([]);
    let asked = |record: Record| {
        let effect = match &record {
            Record::Answered { event, .. } => event.effect(),
            _ => None,
        };
        let requested = effect.map(|effect| Record::Requested { effect, digest, at: None });
        requested.into_iter().chain([record])
    };
    answers.into_iter().flat_map(asked).collect()
}

#[test]
fn changed_answer_is_shown_where_it_came_and_where_it_was_read() {
    let one = records_of_fixture(&replanned()).unwrap();
    let mut other = one.clone();
    let changed = other.iter_mut().enumerate().find_map(|(number, record)| match record {
        Record::Answered {
            event: Event::ToolReturned { outcome: ToolOutcome::Returned { output, .. }, .. },
            ..
        } => {
            output.push_str("\nand one line more");
            Some(number as u64)
        }
        _ => None,
    });
    let other = Fixture::of_records(&other, None).unwrap();
    let comparison = compare(&view(one), &view(records_of_fixture(&other).unwrap()));
    let parting = comparison.parting.unwrap();
    assert_eq!((parting.a, parting.b, parting.what), (changed, changed, "reply"));
    let row = &comparison.effects[parting.row.unwrap()];
    assert!(row.differences[0].diff.contains("and one line more"), "{}", row.differences[0].diff);
    // The validator was shown it.
    let request = comparison
        .effects
        .iter()
        .filter(|pair| pair.asked == "validator")
        .find_map(|pair| pair.differences.iter().find(|difference| difference.what == "request"));
    assert!(request.unwrap().diff.contains("and one line more"));
}

#[test]
fn another_server_and_another_signature_are_no_difference() {
    let one = long_run("react", 3);
    let mut other = one.clone();
    for record in &mut other {
        if let Record::Answered { event: Event::ModelReplied { reply, .. }, .. } = record {
            reply.server = "fallback".to_owned();
            reply.reasoning = vec![serde_json::json!({"signature": "another"})];
        }
    }
    let (one, other) = (view(one), view(other));
    let digests = |view: &RunView| view.timeline.iter().map(|one| one.digest.clone()).collect::<Vec<_>>();
    assert_ne!(digests(&one), digests(&other), "the signatures are sent back");
    let comparison = compare(&one, &other);
    assert!(comparison.equal, "{:?}", comparison.effects);
}

#[test]
fn first_two_hundred_differences_are_written_out_and_the_others_marked() {
    let one = long_run("react", 150);
    let mut other = one.clone();
    for record in &mut other {
        if let Record::Answered { event: Event::ToolReturned { outcome, .. }, .. } = record {
            *outcome = ToolOutcome::returned("another");
        }
    }
    let comparison = compare(&view(one), &view(other));
    let differences: Vec<_> = comparison.effects.iter().flat_map(|pair| &pair.differences).collect();
    assert_eq!(differences.len(), 150 + 150, "each result, and each request that has one in it");
    let is_written: Vec<bool> =
        differences.iter().map(|one| !one.diff.is_empty() && !one.a.is_empty()).collect();
    assert!(is_written[..200].iter().all(|written| *written));
    assert!(differences[200..].iter().all(|one| one.diff.is_empty() && one.a.is_empty() && one.b.is_empty()));
    let request = differences[..200].iter().rfind(|one| one.what == "request").unwrap();
    assert!(request.diff.contains("another"), "{}", request.diff);
}

#[test]
fn runs_are_compared_on_the_command_line() {
    let home = Home::new();
    for (thread, question, minute) in [("하나", "7*6?", 30), ("하나", "7*6?", 31), ("둘", "7*8?", 30)] {
        let now = format!("2026-11-20T09:{minute}:00+09:00[Asia/Seoul]");
        home.check(&["run", "--quiet", "--thread", thread, "--now", &now, question], 0);
    }
    // The second was told another time, which is said and does not count.
    let same = home.check(&["compare", "하나:1", "하나:2"], 0);
    same.prints(&["A  하나:1: validated, done", "does not count: 2026-11-20T09:30", "equal: "]);
    let differ = home.check(&["compare", "하나", "둘"], 1);
    differ.prints(&["they part at record 0 of A, 0 of B: question", "-7*6?", "+7*8?", "~ calc step.1.1.1"]);
    let json: Value = home.check(&["compare", "하나", "둘", "--json"], 1).json();
    assert_eq!((&json["equal"], &json["parting"]["what"]), (&Value::Bool(false), &Value::from("question")));
    home.refuses(&["compare", "하나", "셋"], &["셋"]);
    home.refuses(&["compare", "하나:9", "둘"], &["9"]);
    home.refuses(&["compare", "하나:0", "둘"], &["turns are counted from 1"]);
    home.check(&["compare", "하나"], 0).prints(&["B  하나, replayed: validated, done", "equal: "]);
    home.refuses(&["compare", "없다.json", "둘"], &["없다.json: cannot be read"]);
    // A thread may be called like a path.
    home.check(&["threads", "fork", "하나", "--turn", "1", "--to", "가/나"], 0);
    home.check(&["compare", "가/나", "하나:1"], 0);
    home.check(&["view", "가/나:1", "--output", &home.path("run.html").display().to_string()], 0);
    let journal = home.path("run.jsonl");
    ended_journal(&journal);
    let (journal, fixture) =
        (journal.display().to_string(), home.fixture("replanned.json").display().to_string());
    home.check(&["compare", &journal, &journal], 0);
    home.check(&["compare", &journal, &fixture], 1).prints(&["+ validator validate.2.1 (only in B)"]);
    let other = home.path("waits.jsonl");
    approving_journal(&other, planwright::spec::Approval { plan: true, ..Default::default() });
    home.check(&["compare", &other.display().to_string(), &journal], 1)
        .prints(&["status", "-waiting", "+done"]);
}

#[test]
fn fixture_is_compared_with_its_own_replay() {
    let home = Home::new();
    let shipped = format!("{}/../../fixtures/validated/accepted_at_once.json", env!("CARGO_MANIFEST_DIR"));
    home.check(&["compare", &shipped], 0).prints(&["replayed: validated, done", "equal: "]);
    let spec = planwright::agents::source("validated").unwrap();
    let (before, writer) = spec.split_once("[roles.writer]").unwrap();
    let writer = writer.replacen("\"\"\"\n", "\"\"\"\nAlways be kind.\n", 1);
    let file = home.write("mine.toml", &format!("{before}[roles.writer]{writer}"));
    let said = home.check(&["compare", &shipped, "--agent", &file.display().to_string()], 1);
    said.prints(&["instructions of writer", "+Always be kind.", "~ writer write.1.1"]);
    let journal = home.path("run.jsonl");
    ended_journal(&journal);
    home.check(&["compare", &journal.display().to_string()], 0).prints(&["equal: "]);
}

#[cfg(unix)]
#[test]
fn service_compares_two_turns_and_shows_nobody_another_key_s() {
    let home = Home::new();
    let service = crate::serve::Service::start(&home, &["--offline"]);
    for (thread, question) in [("one", "7*6?"), ("one", "7*8?"), ("two", "7*6?")] {
        service.post("/chat", &serde_json::json!({"message": question, "thread_id": thread}), 200);
    }
    let compared = service.get("/compare?a=one:1&b=one:2", 200);
    assert_eq!((&compared["equal"], &compared["b"]["turn"]), (&Value::Bool(false), &Value::from(2)));
    assert_eq!(compared, service.get("/compare?a=one:1&b=one", 200), "the last turn where none is named");
    service.refuses(("GET", "/compare?a=one:1&b=three", &Value::Null), 404, "no-such-thread", "three");
    service.refuses(("GET", "/compare?a=one:0&b=two", &Value::Null), 404, "no-such-turn", "");
    service.refuses(("GET", "/compare?a=one", &Value::Null), 422, "wrong-input", "b");
}

#[test]
fn pair_that_differs_says_what_both_took() {
    let home = Home::new();
    let one = changed(&home, "one.json", |_| {});
    let other = changed(&home, "other.json", |exchanges| {
        let reply = &mut exchanges[4]["model"]["answer"]["reply"];
        reply["text"] = "another answer".into();
        reply["usage"] = serde_json::json!({"input_tokens": 100, "output_tokens": 20});
    });
    home.check(&["compare", &one, &other], 1).prints(&["~ writer write.1.1, none → 120 tokens"]);
}
