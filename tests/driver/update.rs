//! What a replay says beyond drift: which tools changed, where an unfinished recording ends, and which fixture comes
//! of the same answers under changed rules.

use crate::replay::{bare, drift, drifts, fixture};
use crate::stage::{self, Calls, answer, echoing, model, plan};

use planwright::agents;
use planwright::driver::Stopped;
use planwright::journal::{Drift, Outcome};
use planwright::spec::{RoleName, Spec, Validate};
use serde_json::json;

#[test]
fn change_of_a_tool_is_request_drift_told_as_that() {
    let told = |change: &dyn Fn(&mut Spec)| {
        let Drift::Request { tools, difference, .. } = drift("notebook", change) else {
            panic!("another drift")
        };
        (tools.join(", "), difference.path)
    };
    let count =
        |minimum| json!({"type": "object", "properties": {"count": {"type": "integer", "minimum": minimum}}});
    let (changed, path) = told(&|spec| spec.tools[0].max_output_bytes = 1);
    assert_eq!(changed, "tool docs: max_output_bytes 16000 → 1");
    assert!(path.starts_with("the digest alone"), "{path}");
    let (changed, _) = told(&|spec| {
        spec.tools[1].name = "articles".to_owned();
        spec.tools[3].description = "Finds.".to_owned();
    });
    let description =
        r#"description "Returns one encyclopedia article by its exact title. Input: the title alone.""#;
    let wanted = format!("tool wiki renamed articles, tool lookup: {description} → \"Finds.\"");
    assert_eq!(changed, wanted);
    assert_eq!(told(&|spec| drop(spec.tools.remove(4))).0, "tool calc removed");

    let mut spec = stage::spec("plan-then-execute");
    spec.tools[3].input = count(1);
    let script = model([plan(&[("calc", "1")]), answer("끝")]);
    let run = echoing(spec.clone(), &script, &Calls::default()).build().unwrap().run("?").unwrap();
    spec.tools[3].input = count(5);
    let found = drifts(spec, &run.fixture().unwrap());
    let said = "request drift: plan.1.1 asks planner something that was not recorded; nearest is plan.1.1, tool \
                store: input.count.minimum 1 → 5";
    assert_eq!(found[0].to_string(), said);
}

#[test]
fn recording_of_an_unfinished_run_is_interrupted_where_the_run_was_and_drifts_before() {
    let mut fixture = fixture("validated", "accepted_at_once");
    fixture.exchanges.truncate(3);
    fixture.trace.truncate(3);
    fixture.outcome = Outcome::Interrupted("rate limit: try later".to_owned());
    let said = fixture.replay_as_recorded().unwrap_err().to_string();
    let wanted = "interrupted at write.1.1 (WRITE): unavailable: the recording ends here, unfinished: rate limit: \
                  try later";
    assert_eq!(said, wanted);
    let mut spec = fixture.spec.clone();
    spec.roles.get_mut(&RoleName::Validator).unwrap().prompt.push_str("\nBe brief.");
    assert_eq!(drifts(spec.clone(), &fixture)[0].kind(), "request");
    let updated = bare(spec.clone()).update(&fixture).unwrap();
    assert_eq!((&updated.outcome, updated.exchanges.len()), (&fixture.outcome, 3));
    assert!(matches!(bare(spec).replay(&updated), Err(Stopped::Interrupted(_))));
    fixture.trace.truncate(2);
    assert_eq!(drifts(fixture.spec.clone(), &fixture)[0].kind(), "transition");
}

#[test]
fn update_takes_a_reply_for_a_changed_request_only_on_the_recorded_path() {
    let told = |change: &dyn Fn(&mut Spec), story: &str| {
        let mut spec = agents::shipped("validated").unwrap();
        change(&mut spec);
        let (agent, before) = (bare(spec), fixture("validated", story));
        agent.update(&before).map(|after| {
            assert_eq!(after.notes, before.notes);
            agent.replay(&after).unwrap();
            (after.outcome == before.outcome, after.exchanges.len() == before.exchanges.len())
        })
    };
    let brief =
        |spec: &mut Spec| spec.roles.values_mut().for_each(|role| role.prompt.push_str("\nBe brief."));
    assert_eq!(told(&brief, "replanned_twice").unwrap(), (true, true));
    let fewer = |spec: &mut Spec| spec.limits.max_model_calls = Some(2);
    assert_eq!(told(&fewer, "replanned_twice").unwrap(), (false, false));
    let more = |spec: &mut Spec| spec.limits.max_replans = 3;
    let said = told(&more, "replans_used_up").unwrap_err().to_string();
    assert!(said.ends_with("asks replanner (plan.4.1), and no recorded answer fits"), "{said}");
    // Unjudged, the run leaves the recorded path, and the writer is asked something else than it was.
    let unjudged = |spec: &mut Spec| {
        spec.policy.validate = Validate::Off;
        spec.roles.retain(|role, _| !matches!(role, RoleName::Validator | RoleName::Replanner));
        brief(spec);
    };
    let said = told(&unjudged, "replanned_twice").unwrap_err().to_string();
    assert!(said.ends_with("asks writer (write.1.1), and no recorded answer fits"), "{said}");
}
