//! The view of a turn: all that a page draws, and nothing that the fold does not say.

use std::path::Path;
use std::sync::Arc;

use planwright::journal::{Fixture, Header, JOURNAL_FORMAT, Outcome, Record};
use planwright::machine::{Effect, Event, Input, ModelReply, ToolOutcome, start, transition};
use planwright::spec::Spec;
use planwright_app::{RunLocation, RunView, ShownRequest, records_of_fixture};
use serde_json::{Value, json};

use crate::cli_support::Home;
use crate::cli_support::store::{is_in_doubt, wants_approval};

fn view(records: Vec<Record>) -> RunView {
    RunView::of(records, None, RunLocation::default(), false).unwrap()
}

/// Every fixture there is, by its path.
pub fn fixtures() -> Vec<(String, Fixture)> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures"));
    let folders = std::fs::read_dir(root).unwrap().map(|folder| folder.unwrap().path());
    let files = folders.filter(|path| path.is_dir()).flat_map(|path| std::fs::read_dir(path).unwrap());
    let files = files.map(|file| file.unwrap().path());
    files.map(|path| (path.display().to_string(), Fixture::load(&path).unwrap())).collect()
}

fn fixture(name: &str) -> RunView {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures"));
    view(records_of_fixture(&Fixture::load(root.join(name)).unwrap()).unwrap())
}

/// The payload of a request, whole.
fn payload(view: &RunView, at: usize) -> String {
    let ShownRequest::Model { after, payload: rest, .. } = &view.timeline[at].request else { panic!("{at}") };
    let shared = after.map_or_else(Vec::new, |after| {
        payload(view, after.of).encode_utf16().take(after.payload).collect::<Vec<u16>>()
    });
    String::from_utf16(&shared).unwrap() + rest
}

#[test]
fn view_of_every_fixture_says_what_the_fixture_says() {
    let (mut nested, mut edges) = (0, 0);
    for (place, fixture) in fixtures() {
        let view = view(records_of_fixture(&fixture).unwrap_or_else(|error| panic!("{place}: {error}")));
        let own = &view.runs[0];
        let lines: Vec<Value> = own.trace.iter().map(|line| line.line["phase"].clone()).collect();
        let recorded: Vec<Value> = fixture.trace.iter().map(|line| json!(line)["phase"].clone()).collect();
        assert_eq!(lines, recorded, "{place}");
        match &fixture.outcome {
            Outcome::Answer(answer) => assert_eq!(view.answer.as_ref(), Some(answer), "{place}"),
            Outcome::Error(error) => assert_eq!(view.error, Some(error.to_string()), "{place}"),
            Outcome::Waiting { question } => {
                assert_eq!(&view.pending.as_ref().unwrap().text(), question, "{place}");
            }
            Outcome::Interrupted(_) => assert_eq!(view.status, "unfinished", "{place}"),
        }
        for (effect, digest) in fixture.exchanges.iter().filter_map(|one| one.key()) {
            let shown = view.timeline.iter().find(|shown| shown.effect == effect.to_string());
            let shown = shown.filter(|shown| shown.answered.is_some());
            assert_eq!(shown.map(|shown| &shown.digest), Some(&digest.to_string()), "{place}: {effect}");
            assert!(!shown.unwrap().redrawn, "{place}: {effect}");
        }
        let linked = view.timeline.iter().filter_map(|effect| match &effect.request {
            ShownRequest::Model { after, .. } => *after,
            _ => None,
        });
        assert!(linked.into_iter().all(|after| after.payload + after.messages > 0), "{place}");
        for run in &view.runs {
            edges += run.taken.len();
            // A run with larger numbers than the walk takes no edge that the walk does not know.
            let unknown = run.taken.iter().find(|taken| !view.graphs[&run.agent].contains(&taken.edge));
            assert!(unknown.is_none(), "{place}: {unknown:?}");
            for step in run.steps.iter().filter(|step| step.status == "completed") {
                let last = step.runs.last().and_then(|path| view.runs.iter().find(|run| run.path == *path));
                nested += usize::from(last.is_some());
                assert!(last.is_none_or(|last| last.answer == step.output), "{place}: {}", step.id);
            }
        }
    }
    assert!(nested > 5 && edges > 400, "{nested} nested runs, {edges} edges");
}

#[test]
fn request_that_was_sent_under_another_spec_says_so() {
    let mut records = records_of_fixture(&crate::cli_support::replanned()).unwrap();
    let Record::Header(header) = &records[0] else { panic!("{:?}", records[0]) };
    let mut spec = (*header.spec).clone();
    spec.roles.values_mut().for_each(|role| role.prompt.push_str("Be kind."));
    // The answer that ended it is not on record yet: it is gone on with under another spec.
    records.truncate(records.len() - 1);
    records.push(Record::SpecChanged(Arc::new(spec)));
    let view = view(records);
    let redrawn = |kind: &str| {
        let of_kind = view.timeline.iter().filter(|effect| effect.kind == kind);
        of_kind.map(|effect| effect.redrawn).collect::<Vec<_>>()
    };
    assert!(redrawn("model").len() > 3 && redrawn("model").iter().all(|redrawn| *redrawn));
    assert!(redrawn("tool").iter().all(|redrawn| !redrawn), "a call holds nothing of the spec");
}

#[test]
fn replanned_run_shows_its_drafts_and_why_each_was_sent_back() {
    let view = fixture("validated/replanned_twice.json");
    let drafts = &view.runs[0].drafts;
    let sent_back: Vec<bool> = drafts.iter().map(|draft| draft.sent_back.is_some()).collect();
    assert_eq!(sent_back, [true, true, false]);
    assert_eq!(view.summary.sent_back.len(), 2);
    for draft in drafts {
        let steps = view.runs[0].steps.iter().filter(|step| step.draft == draft.draft);
        let planned: Vec<&Value> = steps.map(|step| &step.planned).collect();
        assert_eq!(planned, draft.planned.iter().collect::<Vec<_>>(), "draft {}", draft.draft);
    }
    let current = view.runs[0].steps.iter().filter(|step| step.current);
    assert!(current.clone().count() > 0 && current.clone().all(|step| step.draft == 3));
    let asked = |asked: &str| view.timeline.iter().position(|effect| effect.asked == asked).unwrap();
    let hinted = payload(&view, asked("replanner"));
    assert!(hinted.contains("fix_hint"), "{hinted}");
    assert!(view.frames["replanner"]["system"].as_str().is_some_and(|text| !text.is_empty()));
    // One after the other, everything is waited for.
    assert!(view.timeline.iter().all(|effect| effect.critical));
}

#[test]
fn side_by_side_only_what_was_waited_for_is_critical() {
    let view = fixture("research-team/accepted.json");
    let first: Vec<_> = view.timeline.iter().filter(|effect| effect.step.is_some()).collect();
    let (critical, other): (Vec<_>, Vec<_>) = first.into_iter().partition(|effect| effect.critical);
    assert!(!critical.is_empty() && !other.is_empty());
    let last = |effects: &[&planwright_app::TimelineEffect]| {
        effects.iter().filter(|effect| effect.requested < 6).filter_map(|effect| effect.answered).max()
    };
    assert!(last(&critical) > last(&other), "the one that was answered last was waited for");
}

#[test]
fn what_is_untrusted_is_marked_from_the_call_to_the_step_that_reads_it() {
    let view = fixture("plan-then-execute/notebook.json");
    let untrusted: Vec<&str> =
        view.timeline.iter().filter(|effect| effect.untrusted).map(|effect| &*effect.asked).collect();
    assert!(!untrusted.is_empty() && !untrusted.contains(&"calc"), "{untrusted:?}");
    for step in &view.runs[0].steps {
        let effects = step.effects.iter().any(|at| view.timeline[*at].untrusted);
        assert_eq!(step.gave_untrusted, effects, "{}", step.id);
    }
    assert!(!view.timeline[0].tainted && view.timeline.last().unwrap().tainted);
}

#[test]
fn step_that_was_written_after_untrusted_text_was_read_is_marked_alone() {
    let view = fixture("orchestrated/searched_again.json");
    let marked: Vec<_> = view.runs[0].steps.iter().map(|step| (&*step.id, step.plan_untrusted)).collect();
    assert_eq!(marked, [("step_1", false), ("added_2_1", true)]);
    let edited = fixture("orchestrated/collaborating_first.json");
    assert!(edited.runs[0].steps.iter().all(|step| !step.plan_untrusted), "nothing was read by then");
}

#[test]
fn what_a_tainted_run_said_is_untrusted_outside_of_it_too() {
    let (mut replies, mut nested) = (0, 0);
    for (place, fixture) in fixtures() {
        let view = view(records_of_fixture(&fixture).unwrap());
        for effect in view.timeline.iter().filter(|effect| effect.kind == "model" && effect.tainted) {
            assert!(effect.untrusted || effect.failure.is_some(), "{place}: {}", effect.effect);
            replies += 1;
        }
        let tainted = |path: &String| view.runs.iter().any(|run| run.path == *path && run.tainted);
        for step in view.runs.iter().flat_map(|run| &run.steps) {
            let is_given = step.runs.iter().any(tainted);
            assert!(step.gave_untrusted || !is_given, "{place}: {}", step.id);
            nested += usize::from(is_given);
        }
    }
    assert!(replies > 10 && nested > 2, "{replies} replies, {nested} steps");
}

/// A run of this many steps that are planned at once, or of this many rounds.
pub fn long_run(agent: &str, count: usize) -> Vec<Record> {
    let mut spec: Spec = planwright::agents::shipped(agent).unwrap();
    let by_round = spec.limits.max_iterations.is_some();
    spec.limits.max_iterations = spec.limits.max_iterations.map(|_| count as u32 + 1);
    spec.policy.plan.max_steps = if by_round { 1 } else { count as u32 };
    spec.limits.max_reply_bytes = 10_000_000;
    let compiled = spec.clone().check().unwrap();
    let input = Input::question("What is the sum of many numbers?");
    let header = Header {
        format: JOURNAL_FORMAT,
        run: "r".to_owned(),
        thread: String::new(),
        turn: 0,
        origin: None,
        spec: Arc::new(spec),
        input: input.clone(),
        model: String::new(),
        servers: Vec::new(),
        trace: None,
    };
    let mut steps: Vec<Value> = (1..count).map(|n| json!({"tool": "calc", "input": n.to_string()})).collect();
    steps.push(json!({"tool": "final_answer", "input": "say it"}));
    let plan = json!({"goal": "a sum", "steps": steps}).to_string();
    let mut records = vec![Record::Header(Box::new(header))];
    let step = start(&compiled, input);
    let (mut state, mut effects, mut asked) = (step.state, step.effects.to_vec(), 0);
    while !effects.is_empty() {
        let effect = effects.remove(0);
        let id = effect.id();
        let digest = planwright::spec::Digest::of([]);
        records.push(Record::Requested { effect: id, digest, at: Some(records.len() as u64 * 10) });
        let reply = match effect {
            Effect::AskModel { .. } if by_round && asked < count => {
                ModelReply::calls([("calc", json!({"input": asked.to_string()}))])
            }
            Effect::AskModel { .. } if asked == 0 => ModelReply::text(plan.clone()),
            _ => ModelReply::text("It is done."),
        };
        let event = match effect {
            Effect::AskModel { .. } => Event::ModelReplied { effect: id, reply },
            _ => Event::ToolReturned { effect: id, outcome: ToolOutcome::returned("x".repeat(100)) },
        };
        asked += usize::from(matches!(effect, Effect::AskModel { .. }));
        records.push(Record::of_event(event.clone(), Some(records.len() as u64 * 10)));
        let step = transition(&compiled, state, event).unwrap();
        state = step.state;
        effects.extend(step.effects);
    }
    records
}

#[test]
fn view_grows_with_the_run_and_not_with_its_square() {
    let small = json!(view(long_run("plan-then-execute", 100))).to_string().len();
    let large = view(long_run("plan-then-execute", 1_000));
    assert_eq!((large.runs[0].steps.len(), large.timeline.len()), (1_000, 1_001));
    assert_eq!(large.summary.by.iter().find(|by| by.asked == "calc").unwrap().calls, 999);
    assert_eq!((large.began, large.ended), (Some(10), Some(20_020)));
    assert!(json!(large).to_string().len() < 11 * small);
    // Each round is told of all before it: what two requests share is there once.
    let [small, large] = [50, 200].map(|rounds| view(long_run("react", rounds)));
    let said: Vec<usize> = large
        .timeline
        .iter()
        .filter_map(|effect| match &effect.request {
            ShownRequest::Model { messages, .. } => Some(messages.len()),
            _ => None,
        })
        .collect();
    assert!(said.len() >= 200 && said.iter().all(|said| *said <= 3), "{said:?}");
    assert!(json!(large).to_string().len() < 5 * json!(small).to_string().len());
}

#[test]
fn turn_is_viewed_as_it_was_after_any_of_its_records() {
    let records = records_of_fixture(&crate::cli_support::replanned()).unwrap();
    let whole = view(records.clone());
    for most in 1..=records.len() {
        let then = RunView::of(records.clone(), Some(most), RunLocation::default(), false).unwrap();
        assert_eq!((then.shown_records, then.all_records), (most, records.len()));
        let passed = |record: &u64| (*record as usize) < most;
        let taken = whole.runs[0].taken.iter().filter(|taken| passed(&taken.record)).count();
        assert_eq!(then.runs[0].taken.len(), taken, "after {most} records");
        let asked = whole.timeline.iter().filter(|effect| passed(&effect.requested)).count();
        assert_eq!(then.timeline.len(), asked, "after {most} records");
    }
}

#[cfg(unix)]
#[test]
fn service_gives_the_view_with_what_a_person_is_asked() {
    let home = Home::new();
    wants_approval(&home, "송금");
    is_in_doubt(&home, "t");
    let service = crate::serve::Service::start(&home, &["--offline", "--no-resume"]);
    let waiting = service.get("/waiting", 200);
    for thread in ["송금", "t"] {
        let path =
            format!("/threads/{}/turns/1/view", if thread == "t" { "t" } else { "%EC%86%A1%EA%B8%88" });
        let view = service.get(&path, 200);
        let asked = waiting["waiting"].as_array().unwrap().iter().find(|run| run["thread"] == thread);
        let asked = asked.unwrap();
        for field in ["effect", "token", "question", "in_doubt", "commands"] {
            assert_eq!(view["pending"][field], asked[field], "{thread} {field}");
        }
        assert_eq!((&view["status"], &view["thread"]), (&asked["status"], &json!(thread)));
        let first = service.get(&format!("{path}?records=1"), 200);
        assert_eq!((&first["shown_records"], &first["pending"]), (&json!(1), &Value::Null));
        assert_eq!(first["all_records"], view["all_records"]);
        service.refuses(("GET", &format!("{path}?records=0"), &Value::Null), 422, "wrong-input", "nonzero");
    }
    service.refuses(("GET", "/threads/t/turns/2/view", &Value::Null), 404, "no-such-turn", "");
    service.refuses(("GET", "/threads/x/turns/1/view", &Value::Null), 404, "no-such-thread", "");
}

/// What a page that was written to a file shows.
fn document(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"document\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn run_is_written_as_one_page_that_needs_no_server() {
    let home = Home::new();
    home.check(&["run", "--quiet", "--thread", "보고서", "7*6?"], 0);
    let page = home.path("run.html");
    let written = || document(&std::fs::read_to_string(&page).unwrap());
    let output = page.display().to_string();
    let turn = home.check(&["view", "보고서", "--output", &output], 0);
    turn.prints_nothing().complains(&["written to"]);
    let shown = written();
    assert_eq!((&shown["kind"], &shown["view"]["thread"]), (&json!("run"), &json!("보고서")));
    assert_eq!(shown["view"]["answer"], "7*6 = 42");
    // A key that stands in the page's own script takes nothing out of it.
    let plain = std::fs::read_to_string(&page).unwrap();
    let mut program = home.program();
    program.args(["view", "보고서", "--force", "--output", &output]).env("OPENAI_API_KEY", "createElement");
    crate::cli_support::check(&mut program, "", 0);
    assert!(plain.contains("createElement") && plain == std::fs::read_to_string(&page).unwrap());
    home.refuses(&["view", "보고서", "--output", &output], &["there is a file already", "--force"]);
    let fixture = home.fixture("replanned.json").display().to_string();
    home.check(&["view", &fixture, "--force", "--output", &output], 0);
    assert_eq!(written()["view"]["runs"][0]["drafts"].as_array().unwrap().len(), 2);
    home.check(&["compare", &fixture, "보고서", "--force", "--output", &output], 1);
    let shown = written();
    assert_eq!((&shown["kind"], &shown["comparison"]["equal"]), (&json!("compare"), &json!(false)));
    assert_eq!(shown["b"]["thread"], "보고서");
    home.refuses(&["view", "none.json"], &["none.json: cannot be read"]);
    home.refuses(&["view", "없다"], &["없다"]);
}

#[cfg(unix)]
#[test]
fn run_is_opened_in_the_browser_of_the_user() {
    use std::io::{BufRead, BufReader};
    use std::os::unix::fs::PermissionsExt;

    let home = Home::new();
    home.check(&["run", "--quiet", "--thread", "보고서", "7*6?"], 0);
    let (seen, browser) =
        (home.path("seen"), home.write("browser", "#!/bin/sh\necho \"$1\" > seen.new; mv seen.new seen\n"));
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let opened = || loop {
        match std::fs::read_to_string(&seen) {
            Ok(page) => break page.trim().to_owned(),
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    };
    let mut program = home.program();
    program.args(["view", "보고서"]).env("BROWSER", &browser).stdout(std::process::Stdio::piped());
    let mut process = program.stderr(std::process::Stdio::null()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let (origin, route) = address.trim().split_once("/#").unwrap();
    assert!(origin.starts_with("http://127.0.0.1:"), "{address}");
    assert_eq!(route, "/t/%EB%B3%B4%EA%B3%A0%EC%84%9C/1");
    assert_eq!(opened(), address.trim());
    let view = ureq::get(format!("{origin}/threads{}/turns/1/view", &route[2..route.len() - 2])).call();
    let view: Value = serde_json::from_reader(view.unwrap().body_mut().as_reader()).unwrap();
    assert_eq!(view["answer"], "7*6 = 42");
    // It only shows.
    let asked = ureq::post(format!("{origin}/chat")).send(r#"{"message": "7*8?"}"#);
    assert!(matches!(asked, Err(ureq::Error::StatusCode(403))), "{asked:?}");
    process.kill().unwrap();
    process.wait().unwrap();
    // A file is shown as a file.
    std::fs::remove_file(&seen).unwrap();
    let fixture = home.fixture("replanned.json").display().to_string();
    let mut program = home.program();
    program.args(["view", &fixture]).env("BROWSER", &browser).env("TMPDIR", home.path(""));
    let said = crate::cli_support::check(&mut program, "", 0);
    assert_eq!(opened(), said.stdout.trim());
    assert_eq!(document(&std::fs::read_to_string(opened()).unwrap())["kind"], "run");
    home.check(&["view", &fixture, "--no-open"], 0).prints(&["run.html"]);
}
