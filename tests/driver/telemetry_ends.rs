//! The spans of a stored run are those that it sent while it went on, whatever it ended in and however many processes
//! it took.

use std::collections::BTreeMap;
use std::sync::Arc;

use planwright::driver::{CancelToken, Changed, Run, Stopped};
use planwright::journal::{Journal, MemoryJournal};
use planwright::machine::HumanAnswer;
use planwright::ports::{ScriptedModel, ToolError, ToolErrorKind};
use planwright::spec::Spec;
use planwright_otel::{RunSpans, SpanData, spans_of};

use crate::stage::{self, Calls, accepted, answer, asked, echoing, model, parallel, plan, rejected, spec};

const PTE: &str = "plan-then-execute";

/// A run in one process after the other, each with spans of its own.
#[derive(Default)]
struct Told {
    journal: MemoryJournal,
    /// By id: a span that is sent again counts as it was last.
    live: BTreeMap<String, SpanData>,
}

/// What the tool `find` does.
type Find = Arc<dyn Fn(&CancelToken) -> Result<String, ToolError> + Send + Sync>;

fn finds() -> Find {
    Arc::new(|_| Ok("found".to_owned()))
}

impl Told {
    /// Begins the run, or goes on with it.
    fn go(
        &mut self,
        spec: &Spec,
        script: &Arc<ScriptedModel>,
        find: &Find,
        said: Option<HumanAnswer>,
    ) -> Result<Run, Stopped> {
        let (calls, token, spans) = (Calls::default(), CancelToken::new(), RunSpans::in_memory(true));
        let (stop, find) = (token.clone(), Arc::clone(find));
        let find = calls.tool(stage::contracts().remove(1), move |_| find(&stop));
        let agent = echoing(spec.clone(), script, &calls).tool(find).build().unwrap();
        // Another process has a time of its own.
        std::thread::sleep(std::time::Duration::from_millis(3));
        let ended = if self.journal.records().unwrap().is_empty() {
            agent.job(asked("q")).observer(&spans).cancel(token).journal(&mut self.journal).run()
        } else {
            let resume = agent.resume(&mut self.journal).observer(&spans).cancel(token);
            let resume = resume.changed(Changed::Keep);
            match said {
                Some(said) => resume.answer(said).run(),
                None => resume.run(),
            }
        };
        self.live.extend(spans.take().into_iter().map(|span| (id(&span), lasting(span))));
        ended
    }

    /// Compares the spans of the records with those that were sent; gives how the run's span ended.
    #[track_caller]
    fn check(self, what: &str) -> String {
        let records = self.journal.records().unwrap();
        let stored: BTreeMap<String, SpanData> =
            spans_of(&records, true).unwrap().into_iter().map(|span| (id(&span), lasting(span))).collect();
        assert_eq!(stored.keys().collect::<Vec<_>>(), self.live.keys().collect::<Vec<_>>(), "{what}");
        for (id, span) in &stored {
            assert_eq!(span, &self.live[id], "{what}: {}", span.name);
        }
        let run = stored.into_values().find(|span| span.name.starts_with("invoke_agent ")).unwrap();
        let class = run.attributes.iter().find(|pair| pair.key.as_str() == "error.type");
        class.map_or_else(|| "done".to_owned(), |pair| pair.value.to_string())
    }
}

fn id(span: &SpanData) -> String {
    span.span_context.span_id().to_string()
}

/// Without the tries that no record has.
fn lasting(mut span: SpanData) -> SpanData {
    span.events.events.retain(|event| event.name != "planwright.retry");
    span
}

#[test]
fn run_that_ends_by_itself_is_exported_as_it_was_sent() {
    let steps = plan(&[("find", "a"), ("calc", "b")]);
    for (spec, replies, end) in [
        (
            spec("validated"),
            vec![steps.clone(), rejected("no", "b"), steps.clone(), accepted(), "Yes.".into()],
            "done",
        ),
        (parallel(PTE, 2), vec![steps.clone(), answer("Yes.")], "done"),
        (spec(PTE), vec!["no plan".to_owned(); 9], "PLAN_ERROR"),
    ] {
        let mut told = Told::default();
        told.go(&spec, &model(replies), &finds(), None).unwrap();
        assert_eq!(told.check(end), end);
    }
}

#[test]
fn run_that_was_interrupted_is_exported_with_the_cause_and_once_it_went_on_without() {
    let steps = plan(&[("find", "a"), ("calc", "b")]);
    for spec in [spec(PTE), parallel(PTE, 2)] {
        let mut told = Told::default();
        told.go(&spec, &model([steps.clone()]), &finds(), None).unwrap_err();
        let first =
            Told { journal: MemoryJournal::from(told.journal.records().unwrap()), live: told.live.clone() };
        assert_eq!(first.check("at the writer"), "unavailable");
        // Nobody answers once more, and then somebody.
        told.go(&spec, &model([""; 0]), &finds(), None).unwrap_err();
        told.go(&spec, &model([answer("Yes.")]), &finds(), None).unwrap();
        assert_eq!(told.check("went on"), "done");
    }
    let away: Find = Arc::new(|_| Err(ToolError::new(ToolErrorKind::Timeout, "late")));
    let mut told = Told::default();
    let _ = told.go(&spec(PTE), &model([steps.clone(), steps, answer("No.")]), &away, None);
    told.check("a tool that fails");
}

#[test]
fn run_that_a_user_stopped_is_exported_as_it_was_sent() {
    let steps = plan(&[("find", "a"), ("calc", "b")]);
    let interrupts: Find = Arc::new(|token| {
        token.interrupt();
        Ok("found".to_owned())
    });
    let cancels: Find = Arc::new(|token| {
        std::thread::sleep(std::time::Duration::from_millis(3));
        token.cancel();
        Ok("found".to_owned())
    });
    for spec in [spec(PTE), parallel(PTE, 2)] {
        for (find, end) in [(&interrupts, "stopped"), (&cancels, "CANCELLED")] {
            let mut told = Told::default();
            let _ = told.go(&spec, &model([steps.clone(), answer("Yes.")]), find, None);
            let first = Told {
                journal: MemoryJournal::from(told.journal.records().unwrap()),
                live: told.live.clone(),
            };
            assert_eq!(first.check(end), end);
            if end == "stopped" {
                told.go(&spec, &model([answer("Yes.")]), &finds(), None).unwrap();
                assert_eq!(told.check("went on"), "done");
            }
        }
    }
}

#[test]
fn run_that_waited_for_a_person_is_exported_as_it_was_sent() {
    let mut spec = spec(PTE);
    spec.policy.approval.plan = true;
    let mut told = Told::default();
    let script = model([plan(&[("find", "a")])]);
    assert!(told.go(&spec, &script, &finds(), None).unwrap().is_waiting());
    let approve = Some(HumanAnswer::Approve);
    told.go(&spec, &model([answer("Yes.")]), &finds(), approve).unwrap();
    assert_eq!(told.check("a person"), "done");
}
