//! `research-team`: a plan as a graph, and a critic of the written answer.

use crate::agents::{CANCELLED, Done, Error, payloads, replays};

const AGENT: &str = "research-team";

#[test]
fn branches_run_side_by_side_with_five_calls() {
    replays(AGENT, "accepted", 5, 2, Done("같은 집이라면 히트펌프가 덜 듭니다"));
}

#[test]
fn agents_see_only_what_they_wait_for_where_steps_run_side_by_side() {
    for asked in payloads(AGENT, "accepted", "agent:research") {
        assert_eq!(asked["tool_results"].as_array().unwrap().len(), 1, "{asked}");
    }
    let asked = &payloads(AGENT, "accepted", "agent:writer")[0];
    assert_eq!(asked["tool_results"].as_array().unwrap().len(), 4);
}

#[test]
fn answer_that_the_critic_rejects_is_planned_anew_with_seven_calls() {
    replays(AGENT, "rejected_once", 7, 4, Done("After about 15 years"));
    let judged = payloads(AGENT, "rejected_once", "validator");
    assert_eq!(judged[0]["answer"], "Yes: it saves about 180 euros a year.\nSource: Heating costs");
    let planned = &payloads(AGENT, "rejected_once", "planner")[1];
    assert_eq!(planned["rejected_answer"], judged[0]["answer"]);
    assert_eq!(planned["fix_hint"], "Find out what a heat pump costs more, and put the two together.");
}

#[test]
fn steps_that_wait_for_a_failed_one_are_not_run() {
    replays(AGENT, "failing_source", 5, 3, Done("가스보일러는 연 80만 원가량 듭니다."));
    assert_eq!(payloads(AGENT, "failing_source", "validator").len(), 1, "what failed is not judged");
    let sent_back = &payloads(AGENT, "failing_source", "planner")[1];
    let said: Vec<&str> = sent_back["failed_steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["output"].as_str().unwrap())
        .collect();
    assert_eq!(said[1], "ERROR: dependency: pump failed, so this step was not run");
    assert_eq!(said[2], "ERROR: dependency: pump_facts failed, so this step was not run");
}

#[test]
fn planner_and_critic_may_each_mend_one_reply_with_one_call_more() {
    replays(AGENT, "mended", 5, 1, Done("한 해에 80만 원가량입니다."));
}

#[test]
fn refusal_of_the_planner_ends_the_run_after_one_call() {
    replays(AGENT, "refused", 1, 0, Error("PLAN_ERROR: refusal: 죄송하지만 도와드릴 수 없습니다."));
}

#[test]
fn third_rejection_of_the_critic_ends_the_run_after_nine_calls() {
    let said = "VALIDATION_FAILED_MAX_REPLANS: There is still no number of years.";
    replays(AGENT, "replans_used_up", 9, 3, Error(said));
}

#[test]
fn answer_that_the_critic_does_not_judge_is_not_given() {
    let said = "VALIDATE_ERROR: contract: $: expected a JSON object, found text that begins \"As I said: a good \
                answer.\"";
    replays(AGENT, "broken_verdict", 4, 1, Error(said));
}

#[test]
fn stopped_run_takes_up_what_is_at_work_and_writes_nothing() {
    replays(AGENT, "cancelled", 1, 1, Error(CANCELLED));
}
