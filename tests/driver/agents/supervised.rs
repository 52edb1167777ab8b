//! `supervised`: role agents one by one, a person in between, and a run that may wait for a week.

use planwright::agents;
use planwright::driver::Agent;
use planwright::journal::{Exchange, Outcome};
use planwright::machine::HumanAnswer;
use planwright::ports::ScriptedModel;
use serde_json::json;

use crate::agents::{Done, Error, Waits, bare, fixture, payloads, replays};

const AGENT: &str = "supervised";

#[test]
fn report_with_four_approvals_takes_nine_calls() {
    replays(AGENT, "report", 9, 0, Done("Step 1: 최근 3개월 매출 데이터 검색 - completed\nStep 2: "));
    let run = bare(AGENT).replay(&fixture(AGENT, "report")).unwrap();
    let lines: Vec<&str> = run.answer().unwrap().lines().collect();
    assert_eq!(lines.len(), 11);
    assert_eq!(lines[3], "Step 4: 검색된 데이터가 맞나요? - completed");
    assert_eq!(lines[10], "Step 11: 보고서를 승인하시겠습니까? - completed");
}

#[test]
fn question_that_nobody_answers_leaves_the_run_waiting() {
    replays(AGENT, "left_waiting", 5, 0, Waits("검색된 데이터가 맞나요?"));
}

#[test]
fn waiting_run_goes_on_from_its_records_to_the_same_end() {
    let whole = fixture(AGENT, "report");
    let mut replies = whole.exchanges.iter().filter_map(|exchange| match exchange.event() {
        planwright::machine::Event::ModelReplied { reply, .. } => Some(reply),
        _ => None,
    });
    let later: Vec<_> = replies.by_ref().skip(5).collect();
    let spec = agents::shipped(AGENT).unwrap();
    let agent = Agent::builder(spec).model(ScriptedModel::says(later)).build().unwrap();
    let mut run = bare(AGENT).replay(&fixture(AGENT, "left_waiting")).unwrap();
    for answer in ["네", "좋습니다", "네", "승인"] {
        assert!(run.is_waiting(), "{:?}", run.outcome());
        run = run.respond(&agent, HumanAnswer::respond(answer)).unwrap();
    }
    assert_eq!(run.trace(), whole.trace);
    assert_eq!((run.outcome(), run.counters().model_calls), (whole.outcome, 9));
}

#[test]
fn failing_agent_is_tried_three_times_and_the_run_goes_on() {
    replays(AGENT, "failing_agent", 6, 0, Done("Step 1: 불만 유형 분석 - failed\nStep 2: "));
    let waits = fixture(AGENT, "failing_agent").exchanges.into_iter().filter_map(|exchange| match exchange {
        Exchange::Waited { delay_ms, .. } => Some(delay_ms),
        _ => None,
    });
    assert_eq!(waits.collect::<Vec<_>>(), [1_000, 2_000]);
}

#[test]
fn step_without_a_question_asks_for_approval() {
    let asked = fixture(AGENT, "failing_agent").exchanges.into_iter().find_map(|exchange| match exchange {
        Exchange::Human { question, .. } => Some(question),
        _ => None,
    });
    assert_eq!(asked.as_deref(), Some("승인해주세요"));
}

#[test]
fn persons_no_ends_the_run_and_a_planner_cannot_answer_for_them() {
    replays(AGENT, "rejected", 3, 0, Error("REJECTED: step_2: These are the year before last."));
}

#[test]
fn person_may_put_other_steps_in_the_place_of_the_rest() {
    let answer = "Step 1: Collect the sales figures - completed\n\
                  Step 2: Shall I write the report now? - completed\n\
                  Step 3: Compare the quarters - completed\n\
                  Step 4: Write two paragraphs on the comparison - completed";
    replays(AGENT, "edited", 5, 0, Done(answer));
    assert_eq!(fixture(AGENT, "edited").outcome, Outcome::Answer(answer.to_owned()));
}

#[test]
fn later_agents_are_shown_what_people_said() {
    let asked = &payloads(AGENT, "report", "agent:document")[0];
    let results = asked["tool_results"].as_array().unwrap();
    let said: Vec<_> =
        results.iter().filter(|result| result["tool"] == "hitl").map(|result| &result["output"]).collect();
    assert_eq!(said, ["네", "좋습니다", "네"]);
    assert_eq!((&asked["task"], results.len()), (&json!("최종 보고서 생성"), 9));
}

#[test]
fn planner_is_shown_the_intent_beside_the_question() {
    let asked = &payloads(AGENT, "report", "planner")[0];
    assert_eq!(
        asked["intent"],
        "multi-step analysis with comparison and reporting, requiring approvals at each stage"
    );
}

#[test]
fn agent_is_told_which_of_its_tools_to_take() {
    assert_eq!(payloads(AGENT, "edited", "agent:search")[0]["tool"], "sql_query");
    assert_eq!(payloads(AGENT, "edited", "agent:comparison")[0].get("tool"), None);
}

#[test]
fn plan_that_says_too_little_is_mended_with_one_call_more() {
    let answer = "Step 1: Write a notice about the office move - completed";
    replays(AGENT, "mended_plan", 4, 0, Done(answer));
    let told = &payloads(AGENT, "mended_plan", "planner")[1]["repair"]["error"];
    assert_eq!(told, "$.steps[0].description: needed, and missing");
}

#[test]
fn plan_for_an_agent_that_there_is_not_ends_the_run_after_three_calls() {
    let said = "PLAN_ERROR: contract: $.steps[0].tool: expected one of search, validation, analysis, comparison, \
                document, hitl, found \"legal\"";
    replays(AGENT, "no_plan", 3, 0, Error(said));
}
