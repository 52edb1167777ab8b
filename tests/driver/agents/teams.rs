//! `orchestrated`, `research-team` and `supervised`: steps that agents do.

use planwright::agents;
use planwright::driver::Agent;
use planwright::journal::{Exchange, Outcome};
use planwright::machine::HumanAnswer;
use planwright::ports::ScriptedModel;
use serde_json::json;

use crate::agents::{CANCELLED, Done, Error, Waits, bare, fixture, payloads, replays};

const ORCHESTRATED: &str = "orchestrated";

#[test]
fn recorded_runs_of_orchestrated_end_as_they_should_with_their_calls() {
    replays(ORCHESTRATED, "enough_at_once", 6, 1, Done("네, 다만 한도가 있습니다."));
    replays(ORCHESTRATED, "unclear", 2, 0, Done("무엇을 도와드릴까요?"));
    replays(ORCHESTRATED, "no_steps", 3, 0, Done("I can look things up"));
    replays(ORCHESTRATED, "nonsense", 6, 1, Done("Tell your landlord at least two months"));
    replays(ORCHESTRATED, "mended", 8, 1, Done("The landlord bears ordinary wear"));
    let said = "PLAN_ERROR: contract: $: expected a JSON object, found text that begins \"먼저 검색팀이 찾고, 그다음 \
                분석팀이 따져 보면 됩니다.\"";
    replays(ORCHESTRATED, "no_plan", 3, 0, Error(said));
    replays(ORCHESTRATED, "refusing_writer", 6, 1, Error("WRITE_ERROR: refusal: I cannot help with that."));
    replays(ORCHESTRATED, "cancelled", 4, 1, Error(CANCELLED));
}

#[test]
fn too_few_results_are_added_to_with_eight_calls() {
    replays(ORCHESTRATED, "searched_again", 8, 2, Done("강남구의 전용 84㎡는 대체로"));
    let decided = payloads(ORCHESTRATED, "searched_again", "orchestrator");
    let results = |nth: usize, team: usize| &decided[nth]["situation_summary"][team]["results"];
    assert_eq!((results(1, 0), results(2, 0), results(2, 1)), (&json!(2), &json!(2), &json!(5)));
}

#[test]
fn analysis_reads_what_the_search_found_with_eight_calls() {
    replays(ORCHESTRATED, "collaborating", 8, 1, Done("응하실 의무가 없습니다."));
    let asked = &payloads(ORCHESTRATED, "collaborating", "analysis_team/planner")[0];
    let material = asked["material"].as_str().unwrap();
    assert!(material.contains("20분의 1을 넘지 못한다"), "{material}");
    assert_eq!(asked["user_question"], "찾은 조문으로 10% 인상 요구가 정당한지 따진다.");
}

#[test]
fn supporting_team_runs_first_where_it_has_found_nothing_yet() {
    replays(ORCHESTRATED, "collaborating_first", 8, 1, Done("You can lose it to a mortgage"));
    let asked = &payloads(ORCHESTRATED, "collaborating_first", "analysis_team/planner")[0];
    assert!(asked["material"].as_str().unwrap().contains("A registered lease ranks before later mortgages."));
}

#[test]
fn failed_team_is_a_result_like_any_other() {
    replays(ORCHESTRATED, "document", 8, 1, Done("갱신 요구서입니다."));
    let decided = &payloads(ORCHESTRATED, "document", "orchestrator")[1];
    assert_eq!(decided["situation_summary"][0]["status"], "failed");
    assert_eq!(decided["situation_summary"][0]["results"], 0);
    assert_eq!(decided["completed_teams"], json!([]));
}

#[test]
fn orchestrator_sees_what_is_done_what_remains_and_what_it_decided() {
    let decided = payloads(ORCHESTRATED, "enough_at_once", "orchestrator");
    assert_eq!(decided[0]["completed_teams"], json!([]));
    assert_eq!(decided[0]["remaining_steps"].as_array().unwrap().len(), 3);
    assert_eq!(decided[0]["intent_confidence"], "92%");
    assert_eq!(decided[1]["completed_teams"], json!(["search_team"]));
    let remaining: Vec<_> =
        decided[1]["remaining_steps"].as_array().unwrap().iter().map(|step| &step["agent"]).collect();
    assert_eq!(remaining, ["analysis_team", "document_team"]);
    assert_eq!(decided[1]["decisions"][0]["action"], "continue");
}

const RESEARCH_TEAM: &str = "research-team";

#[test]
fn recorded_runs_of_research_team_end_as_they_should_with_their_calls() {
    replays(RESEARCH_TEAM, "accepted", 5, 2, Done("같은 집이라면 히트펌프가 덜 듭니다"));
    replays(RESEARCH_TEAM, "mended", 5, 1, Done("한 해에 80만 원가량입니다."));
    replays(RESEARCH_TEAM, "refused", 1, 0, Error("PLAN_ERROR: refusal: 죄송하지만 도와드릴 수 없습니다."));
    let said = "VALIDATION_FAILED_MAX_REPLANS: There is still no number of years.";
    replays(RESEARCH_TEAM, "replans_used_up", 9, 3, Error(said));
    let said = "VALIDATE_ERROR: contract: $: expected a JSON object, found text that begins \"As I said: a good \
                answer.\"";
    replays(RESEARCH_TEAM, "broken_verdict", 4, 1, Error(said));
    replays(RESEARCH_TEAM, "cancelled", 1, 1, Error(CANCELLED));
}

#[test]
fn agents_see_only_what_they_wait_for_where_steps_run_side_by_side() {
    for asked in payloads(RESEARCH_TEAM, "accepted", "agent:research") {
        assert_eq!(asked["tool_results"].as_array().unwrap().len(), 1, "{asked}");
    }
    let asked = &payloads(RESEARCH_TEAM, "accepted", "agent:writer")[0];
    assert_eq!(asked["tool_results"].as_array().unwrap().len(), 4);
}

#[test]
fn answer_that_the_critic_rejects_is_planned_anew_with_seven_calls() {
    replays(RESEARCH_TEAM, "rejected_once", 7, 4, Done("After about 15 years"));
    let judged = payloads(RESEARCH_TEAM, "rejected_once", "validator");
    assert_eq!(judged[0]["answer"], "Yes: it saves about 180 euros a year.\nSource: Heating costs");
    let planned = &payloads(RESEARCH_TEAM, "rejected_once", "planner")[1];
    assert_eq!(planned["rejected_answer"], judged[0]["answer"]);
    assert_eq!(planned["fix_hint"], "Find out what a heat pump costs more, and put the two together.");
}

#[test]
fn steps_that_wait_for_a_failed_one_are_not_run() {
    replays(RESEARCH_TEAM, "failing_source", 5, 3, Done("가스보일러는 연 80만 원가량 듭니다."));
    assert_eq!(payloads(RESEARCH_TEAM, "failing_source", "validator").len(), 1, "what failed is not judged");
    let sent_back = &payloads(RESEARCH_TEAM, "failing_source", "planner")[1];
    let said: Vec<&str> = sent_back["failed_steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["output"].as_str().unwrap())
        .collect();
    assert_eq!(said[1], "ERROR: dependency: pump failed, so this step was not run");
    assert_eq!(said[2], "ERROR: dependency: pump_facts failed, so this step was not run");
}

const SUPERVISED: &str = "supervised";

#[test]
fn report_with_four_approvals_takes_nine_calls() {
    replays(SUPERVISED, "report", 9, 0, Done("Step 1: 최근 3개월 매출 데이터 검색 - completed\nStep 2: "));
    let run = bare(SUPERVISED).replay(&fixture(SUPERVISED, "report")).unwrap();
    let lines: Vec<&str> = run.answer().unwrap().lines().collect();
    assert_eq!(lines.len(), 11);
    assert_eq!(lines[3], "Step 4: 검색된 데이터가 맞나요? - completed");
    assert_eq!(lines[10], "Step 11: 보고서를 승인하시겠습니까? - completed");
}

#[test]
fn recorded_runs_of_supervised_end_as_they_should_with_their_calls() {
    replays(SUPERVISED, "left_waiting", 5, 0, Waits("검색된 데이터가 맞나요?"));
    replays(SUPERVISED, "rejected", 3, 0, Error("REJECTED: step_2: These are the year before last."));
    let said = "PLAN_ERROR: contract: $.steps[0].tool: expected one of search, validation, analysis, comparison, \
                document, hitl, found \"legal\"";
    replays(SUPERVISED, "no_plan", 3, 0, Error(said));
}

#[test]
fn waiting_run_goes_on_from_its_records_to_the_same_end() {
    let whole = fixture(SUPERVISED, "report");
    let mut replies = whole.exchanges.iter().filter_map(|exchange| match exchange.event() {
        planwright::machine::Event::ModelReplied { reply, .. } => Some(reply),
        _ => None,
    });
    let later: Vec<_> = replies.by_ref().skip(5).collect();
    let spec = agents::shipped(SUPERVISED).unwrap();
    let agent = Agent::builder(spec).model(ScriptedModel::says(later)).build().unwrap();
    let mut run = bare(SUPERVISED).replay(&fixture(SUPERVISED, "left_waiting")).unwrap();
    for answer in ["네", "좋습니다", "네", "승인"] {
        assert!(run.is_waiting(), "{:?}", run.outcome());
        run = run.respond(&agent, HumanAnswer::respond(answer)).unwrap();
    }
    assert_eq!(run.trace(), whole.trace);
    assert_eq!((run.outcome(), run.counters().model_calls), (whole.outcome, 9));
}

#[test]
fn failing_agent_is_tried_three_times_and_the_run_goes_on() {
    replays(SUPERVISED, "failing_agent", 6, 0, Done("Step 1: 불만 유형 분석 - failed\nStep 2: "));
    let waits =
        fixture(SUPERVISED, "failing_agent").exchanges.into_iter().filter_map(|exchange| match exchange {
            Exchange::Waited { delay_ms, .. } => Some(delay_ms),
            _ => None,
        });
    assert_eq!(waits.collect::<Vec<_>>(), [1_000, 2_000]);
}

#[test]
fn step_without_a_question_asks_for_approval() {
    let asked =
        fixture(SUPERVISED, "failing_agent").exchanges.into_iter().find_map(|exchange| match exchange {
            Exchange::Human { question, .. } => Some(question),
            _ => None,
        });
    assert_eq!(asked.as_deref(), Some("승인해주세요"));
}

#[test]
fn person_may_put_other_steps_in_the_place_of_the_rest() {
    let answer = "Step 1: Collect the sales figures - completed\n\
                  Step 2: Shall I write the report now? - completed\n\
                  Step 3: Compare the quarters - completed\n\
                  Step 4: Write two paragraphs on the comparison - completed";
    replays(SUPERVISED, "edited", 5, 0, Done(answer));
    assert_eq!(fixture(SUPERVISED, "edited").outcome, Outcome::Answer(answer.to_owned()));
}

#[test]
fn later_agents_are_shown_what_people_said() {
    let asked = &payloads(SUPERVISED, "report", "agent:document")[0];
    let results = asked["tool_results"].as_array().unwrap();
    let said: Vec<_> =
        results.iter().filter(|result| result["tool"] == "hitl").map(|result| &result["output"]).collect();
    assert_eq!(said, ["네", "좋습니다", "네"]);
    assert_eq!((&asked["task"], results.len()), (&json!("최종 보고서 생성"), 9));
}

#[test]
fn planner_is_shown_the_intent_and_an_agent_which_of_its_tools_to_take() {
    let intent = "multi-step analysis with comparison and reporting, requiring approvals at each stage";
    assert_eq!(payloads(SUPERVISED, "report", "planner")[0]["intent"], intent);
    assert_eq!(payloads(SUPERVISED, "edited", "agent:search")[0]["tool"], "sql_query");
    assert_eq!(payloads(SUPERVISED, "edited", "agent:comparison")[0].get("tool"), None);
}

#[test]
fn plan_that_says_too_little_is_mended_with_one_call_more() {
    let answer = "Step 1: Write a notice about the office move - completed";
    replays(SUPERVISED, "mended_plan", 4, 0, Done(answer));
    let told = &payloads(SUPERVISED, "mended_plan", "planner")[1]["repair"]["error"];
    assert_eq!(told, "$.steps[0].description: needed, and missing");
}
