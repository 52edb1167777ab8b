//! `orchestrated`, `research-team` and `supervised`: steps that agents do.

use planwright::agents;
use planwright::driver::Agent;
use planwright::journal::Outcome;
use planwright::machine::HumanAnswer;
use planwright::ports::ScriptedModel;

use crate::agents::{CANCELLED, Done, Error, Waits, bare, fixture, replays};

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
    replays(ORCHESTRATED, "searched_again", 8, 2, Done("강남구의 전용 84㎡는 대체로"));
    replays(ORCHESTRATED, "collaborating", 8, 1, Done("응하실 의무가 없습니다."));
    replays(ORCHESTRATED, "collaborating_first", 8, 1, Done("You can lose it to a mortgage"));
    replays(ORCHESTRATED, "document", 8, 1, Done("갱신 요구서입니다."));
}

const RESEARCH_TEAM: &str = "research-team";

#[test]
fn recorded_runs_of_research_team_end_as_they_should_with_their_calls() {
    replays(RESEARCH_TEAM, "accepted", 5, 2, Done("같은 집이라면 히트펌프가 덜 듭니다"));
    replays(RESEARCH_TEAM, "mended", 5, 1, Done("한 해에 80만 원가량입니다."));
    replays(RESEARCH_TEAM, "refused", 1, 0, Error("PLAN_ERROR: refusal: 죄송하지만 도와드릴 수 없습니다."));
    replays(
        RESEARCH_TEAM,
        "replans_used_up",
        9,
        3,
        Done("The sources do not say how long a heat pump lasts."),
    );
    let said = "VALIDATE_ERROR: contract: $: expected a JSON object, found text that begins \"As I said: a good \
                answer.\"";
    replays(RESEARCH_TEAM, "broken_verdict", 4, 1, Error(said));
    replays(RESEARCH_TEAM, "cancelled", 1, 1, Error(CANCELLED));
    replays(RESEARCH_TEAM, "rejected_once", 7, 4, Done("After about 15 years"));
    replays(RESEARCH_TEAM, "failing_source", 5, 3, Done("가스보일러는 연 80만 원가량 듭니다."));
}

const SUPERVISED: &str = "supervised";

#[test]
fn recorded_runs_of_supervised_end_as_they_should_with_their_calls() {
    replays(SUPERVISED, "left_waiting", 5, 0, Waits("검색된 데이터가 맞나요?"));
    replays(SUPERVISED, "rejected", 3, 0, Error("REJECTED: step_2: These are the year before last."));
    let said = "PLAN_ERROR: contract: $.steps[0].agent: expected one of search, validation, analysis, comparison, \
                document, hitl, found \"legal\"";
    replays(SUPERVISED, "no_plan", 3, 0, Error(said));
    replays(SUPERVISED, "report", 9, 0, Done("Step 1: 최근 3개월 매출 데이터 검색 - completed\nStep 2: "));
    replays(SUPERVISED, "failing_agent", 6, 0, Done("Step 1: 불만 유형 분석 - failed\nStep 2: "));
    let answer = "Step 1: Write a notice about the office move - completed";
    replays(SUPERVISED, "mended_plan", 4, 0, Done(answer));
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
fn person_may_put_other_steps_in_the_place_of_the_rest() {
    let answer = "Step 1: Collect the sales figures - completed\n\
                  Step 2: Shall I write the report now? - completed\n\
                  Step 3: Compare the quarters - completed\n\
                  Step 4: Write two paragraphs on the comparison - completed";
    replays(SUPERVISED, "edited", 5, 0, Done(answer));
    assert_eq!(fixture(SUPERVISED, "edited").outcome, Outcome::Answer(answer.to_owned()));
}
